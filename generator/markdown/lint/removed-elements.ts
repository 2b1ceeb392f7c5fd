import { isOwnMedia } from '../plugins/rehype-links.ts';
import { safeHtml } from '../plugins/safe-html.ts';
import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';
import { attributeOf, tagsIn } from './tags.ts';
import type { Attribute, Tag } from './tags.ts';

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
  const tags: (Tag & { readonly at: number })[] = [];
  const check = (tag: (typeof tags)[number], end: number): void => {
    const { name, at } = tag;
    if (!removed.has(name)) {
      // Hugo's `{{<note>}}` is reported as a template.
      if (source.endsWith('{{', at)) return;
      const text = tag.text.replace(/\s[^]*/, ' ...>');
      warn(at, `${text} is taken for HTML and removed`, `write \`${text}\` in backticks to show it, else delete it`);
    } else if (end < 0 && tag.kind === 'start' && !needNoEnd.has(name)) {
      const message = `<${name}> is never closed: it is removed with the text after it`;
      warn(at, message, `write \`<${name}>\` in backticks to show it, else delete it`);
    } else {
      warn(at, `<${name}> is removed with all that is in it`, hintFor(tag));
    }
  };
  const isForeign = ({ value }: Attribute): boolean => !isOwnMedia(value, sitePath);
  const checkPlayer = (player: (typeof tags)[number], inside: typeof tags): void => {
    const sources = inside.filter(({ name }) => name === 'source');
    const played = [player, ...sources].flatMap((tag) => attributeOf(tag, 'src') ?? []);
    if (played.every(isForeign)) {
      const [{ value: url } = { value: '' }] = played;
      const link = url && `, or write a link: [text](${toAddress(url)})`;
      const message = `<${player.name}> is removed with all that is in it: it plays no file of content/media/`;
      warn(player.at, message, `save the file there${link}`);
      return;
    }
    for (const tag of [player, ...sources]) {
      for (const name of ['src', 'poster']) {
        const attribute = attributeOf(tag, name);
        if (!attribute || !isForeign(attribute)) continue;
        warn(tag.at + attribute.offset, `"${attribute.value}" is removed`, 'save the file in content/media/');
      }
    }
  };
  return {
    html(node) {
      const html = sourceOf(node);
      const start = startOf(node);
      if (/^<[?!](?!--)/.test(html)) {
        warn(start, `"${html.slice(0, 2)}" is taken for HTML and removed up to ">"`, 'write it in backticks');
      } else {
        tags.push(...tagsIn(html).map((tag) => ({ ...tag, at: start + tag.offset })));
      }
    },
    end() {
      const lastEnds = new Map(tags.map(({ name, kind }, at) => [`${kind} ${name}`, at]));
      for (let index = 0; index < tags.length; index += 1) {
        const tag = tags[index]!;
        const isPlayer = tag.name === 'video' || tag.name === 'audio';
        if (tag.kind === 'end' || (kept.has(tag.name) && !isPlayer) || harmless.has(tag.name)) continue;
        const isClosed = (lastEnds.get(`end ${tag.name}`) ?? -1) > index;
        const end = isClosed
          ? tags.findIndex(({ name, kind }, at) => at > index && name === tag.name && kind === 'end')
          : -1;
        if (isPlayer) checkPlayer(tag, tags.slice(index + 1, end < 0 ? undefined : end));
        else check(tag, end);
        // What is in a removed element needs no report.
        if (removed.has(tag.name) && tag.kind === 'start' && end > 0) index = end;
      }
    },
  };
};

function hintFor({ name, ...tag }: Tag): string {
  if (['svg', 'math', 'canvas'].includes(name)) {
    return 'save it in content/media/ and write ![what it shows](/media/...)';
  }
  const url = attributeOf(tag, 'src')?.value;
  if (url && name !== 'script') return `write a link: [text](${toAddress(url)})`;
  return 'delete it: articles are text and pictures';
}

function toAddress(url: string): string {
  return url.replace(/^\/\//, 'https://');
}
