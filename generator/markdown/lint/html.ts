import { safeHtml } from '../plugins/html.ts';
import { isOwnMedia } from '../plugins/links.ts';
import { startOf } from './rule.ts';
import type { Rule, Tag } from './rule.ts';

const kept = new Set(safeHtml.tagNames);
const removed = new Set(safeHtml.strip);

/** Elements whose text stays: readers miss nothing. */
const harmless = new Set(
  (
    'acronym address article aside base basefont bdi bdo body big blink caption center cite col colgroup data datalist ' +
    'dfn dir fieldset font footer form header hgroup html label legend link main map marquee menu ' +
    'meta meter nav nobr optgroup output param progress rb rtc search section slot small span time track u wbr'
  ).split(' '),
);

/** Elements that hold nothing, or which the HTML parser ends by itself. */
const needNoEnd = new Set(['embed', 'frame', 'frameset', 'head', 'math', 'svg']);

/** Finds raw HTML that the sanitiser removes together with what readers would see. */
export const removedElements: Rule = ({ source, sourceOf, sitePath, warn }) => {
  const tags: Tag[] = [];
  const check = ({ name, kind, text, offset, attribute }: Tag, isClosed: boolean): void => {
    if (!removed.has(name)) {
      // Hugo's `{{<note>}}` is reported as a template.
      if (source.endsWith('{{', offset)) return;
      const short = text.replace(/\s[^]*/, ' ...>');
      warn(
        offset,
        `${short} is taken for HTML and removed`,
        `write \`${short}\` in backticks to show it, else delete it`,
      );
    } else if (!isClosed && kind === 'start' && !needNoEnd.has(name)) {
      const message = `<${name}> is never closed: it is removed with the text after it`;
      warn(offset, message, `write \`<${name}>\` in backticks to show it, else delete it`);
    } else {
      const url = name !== 'script' && attribute('src')?.value;
      const hint = ['svg', 'math', 'canvas'].includes(name)
        ? 'save it in content/media/ and write ![what it shows](/media/...)'
        : url
          ? `write a link: ${toLink(url)}`
          : 'delete it: articles are text and pictures';
      warn(offset, `<${name}> is removed with all that is in it`, hint);
    }
  };
  const checkPlayer = (player: Tag, inside: readonly Tag[]): void => {
    const sources = [player, ...inside.filter(({ name }) => name === 'source')];
    const attributes = (...names: string[]) =>
      sources.flatMap((tag) => names.flatMap((name) => tag.attribute(name) ?? []));
    const played = attributes('src');
    if (!played.some(({ value }) => isOwnMedia(value, sitePath))) {
      const link = played[0]?.value && `, or write a link: ${toLink(played[0].value)}`;
      const message = `<${player.name}> is removed with all that is in it: it plays no file of content/media/`;
      warn(player.offset, message, `save the file there${link ?? ''}`);
      return;
    }
    for (const { value, offset } of attributes('src', 'poster')) {
      if (!isOwnMedia(value, sitePath)) warn(offset, `"${value}" is removed`, 'save the file in content/media/');
    }
  };
  return {
    html(node) {
      const [begin] = /^<[?!](?!--)/.exec(sourceOf(node)) ?? [];
      if (begin) warn(startOf(node), `"${begin}" is taken for HTML and removed up to ">"`, 'write it in backticks');
    },
    tag: (tag) => void tags.push(tag),
    end() {
      const lastEnds = new Map(tags.map(({ name, kind }, at) => [`${kind} ${name}`, at]));
      for (let index = 0; index < tags.length; index += 1) {
        const tag = tags[index]!;
        const { name } = tag;
        const isPlayer = name === 'video' || name === 'audio';
        if (tag.kind === 'end' || (kept.has(name) && !isPlayer) || harmless.has(name)) continue;
        const isClosed = (lastEnds.get(`end ${name}`) ?? -1) > index;
        const end = isClosed
          ? tags.findIndex((other, at) => at > index && other.name === name && other.kind === 'end')
          : -1;
        if (isPlayer) checkPlayer(tag, tags.slice(index + 1, isClosed ? end : undefined));
        else check(tag, isClosed);
        // What is in a removed element needs no report.
        if (removed.has(name) && tag.kind === 'start' && isClosed) index = end;
      }
    },
  };
};

const toLink = (url: string): string =>
  `[text](${url
    .replace(/^\/\//, 'https://')
    // The address that a player embeds shows an error as a page.
    .replace(
      /^https?:\/\/(?:www\.)?youtube(?:-nocookie)?\.com\/embed\/([\w-]+).*/,
      'https://www.youtube.com/watch?v=$1',
    )})`;

/** Elements that hide the text after them if they are not closed. */
const hiding = new Set(['audio', 'details', 'summary', 'video']);

/** Elements that change how the text after them looks. The others end with their paragraph, or readers see no difference. */
const visible = new Set(
  'a b blockquote code del em figcaption figure i ins ol pre s strike strong sub sup table tt ul'.split(' '),
);

/** Finds elements and comments that are not closed. As the last thing in an article they break nothing, so they are warnings. */
export const unclosedElements: Rule = ({ source, sourceOf, warn }) => {
  const open: Tag[] = [];
  return {
    html(node) {
      const start = startOf(node);
      const comment = start + sourceOf(node).lastIndexOf('<!--');
      if (comment >= start && !source.includes('-->', comment)) {
        warn(comment, 'the comment is never closed: all text after it is hidden', 'write --> where it ends');
      }
    },
    tag(tag) {
      if (!hiding.has(tag.name) && !visible.has(tag.name)) return;
      if (tag.kind === 'start') open.push(tag);
      const last = tag.kind === 'end' ? open.findLastIndex(({ name }) => name === tag.name) : -1;
      if (last >= 0) open.splice(last, 1);
    },
    end() {
      for (const { name, offset } of open) {
        const effect = hiding.has(name) ? 'all text after it is hidden' : 'it also applies to the text after it';
        warn(offset, `<${name}> is never closed: ${effect}`, `write </${name}> where it ends`);
      }
    },
  };
};
