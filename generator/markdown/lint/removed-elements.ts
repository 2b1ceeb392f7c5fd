import { safeHtml } from '../plugins/safe-html.ts';
import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';
import { attributeOf, tagsIn } from './tags.ts';
import type { Tag } from './tags.ts';

const kept = new Set(safeHtml.tagNames);
const removed = new Set(safeHtml.strip);

/** Elements whose text stays: readers miss nothing. */
const harmless = new Set(
  (
    'abbr acronym address article aside base basefont bdi bdo body big blink caption center cite col colgroup data datalist ' +
    'dfn dir fieldset figcaption figure font footer form header hgroup html label legend link main map mark marquee menu ' +
    'meta meter nav nobr optgroup output param progress rb rtc search section slot small span time track u wbr'
  ).split(' '),
);

/** Elements that hold nothing, or which the HTML parser ends by itself. */
const needNoEnd = new Set(['embed', 'frame', 'frameset', 'head', 'math', 'svg']);

/** Finds raw HTML that the sanitiser removes together with what readers would see. */
export const removedElements: Rule = ({ source, sourceOf, warn }) => {
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
      warn(at, `<${name}> is removed with all that is in it`, hintFor(tag, source.slice(at, tags[end]?.at)));
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
        if (tag.kind === 'end' || kept.has(tag.name) || harmless.has(tag.name)) continue;
        const isClosed = (lastEnds.get(`end ${tag.name}`) ?? -1) > index;
        const end = isClosed
          ? tags.findIndex(({ name, kind }, at) => at > index && name === tag.name && kind === 'end')
          : -1;
        check(tag, end);
        // What is in a removed element needs no report.
        if (removed.has(tag.name) && tag.kind === 'start' && end > 0) index = end;
      }
    },
  };
};

function hintFor({ name, ...tag }: Tag, html: string): string {
  if (['svg', 'math', 'canvas'].includes(name)) {
    return 'save it in content/media/ and write ![what it shows](/media/...)';
  }
  const url = attributeOf(tag, 'src')?.value ?? /<source[^>]*\ssrc="([^"]*)"/i.exec(html)?.[1];
  if (url && name !== 'script') return `write a link: [text](${url.replace(/^\/\//, 'https://')})`;
  return 'delete it: articles are text and pictures';
}
