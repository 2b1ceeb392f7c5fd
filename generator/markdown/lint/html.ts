import type { Element, ElementContent, Root } from 'hast';
import type { Html } from 'mdast';
import type { Position } from '../../common/finding.ts';
import { walk } from '../plugins/walk.ts';
import { safeHtml } from '../plugins/html.ts';
import { isOwnMedia } from '../plugins/links.ts';
import { startOf } from './linted.ts';
import type { Linted } from './linted.ts';
import { faultOf } from './links.ts';

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
const needNoEnd = new Set(['embed', 'math', 'svg']);

/** Elements that hide the text after them if they are not closed. */
const hiding = new Set(['audio', 'details', 'summary', 'video']);

/** Elements that change how the text after them looks. The others end with their paragraph, or readers see no difference. */
const visible = new Set(
  'a b blockquote code del em figcaption figure i ins ol pre s strike strong sub sup table tt ul'.split(' '),
);

const startTag = /<([a-z][^\s/>]*)(?:"[^"]*"|'[^']*'|[^'">])*>?/iy;
/** Curly quotes become a part of the value, or the tag stays text. */
export const curlyQuotes = 'curly quotes make no attributes';
const h1 = 'the title is the only heading of level 1';

/**
 * Checks the elements of an article, of Markdown and of its raw HTML: headings of level 1 and skipped levels, pictures without
 * a description, addresses, elements that are not closed, and what the sanitiser removes although readers would see it. `raw`
 * is the raw HTML at its offsets, with spaces between.
 */
export function checkElements(elements: Root, raw: string, { source, sourceOf, sitePath, warn }: Linted): void {
  let level: number | undefined;
  /** The elements that must be closed, by their offset: the parser opens some of them again in the next paragraph. */
  const open = new Map<number, Element>();

  const checkHeading = (node: Element, depth: number, isRaw: boolean): void => {
    const at = node.position!.start;
    const next = (level ?? 1) + 1;
    if (depth === 1) {
      const hint = isRaw ? 'write <h2>' : sourceOf(node).startsWith('#') ? 'begin with ##' : 'underline it with ---';
      const isFirst = !isRaw && source.slice(0, at.offset).trim() === '';
      warn(at, h1, isFirst ? `delete it if it repeats the title, else ${hint}` : hint);
    } else if (depth > next && !isRaw) {
      const message = level
        ? `the level of this heading is ${depth}, after a heading of level ${level}`
        : `the level of the first heading is ${depth}`;
      warn(at, message, `write ${'#'.repeat(next)}${sourceOf(node).replace(/^#+/, '')}`);
    }
    level = depth;
  };
  const checkPicture = (node: Element, isRaw: boolean): void => {
    const { alt } = node.properties;
    // In HTML an empty description means that the picture shows nothing.
    if (isRaw ? alt !== undefined : String(alt).trim() !== '') return;
    const hint = isRaw
      ? 'add alt="what it shows", or alt="" if it shows nothing'
      : `write what it shows: ${sourceOf(node).replace(/^!\[\s*\]/, '![text]')}`;
    warn(node.position!.start, 'the picture has no description', hint);
  };
  const checkPlayer = (player: Element): void => {
    const files: { readonly url: string; readonly at: Position; readonly isPlayed: boolean }[] = [];
    walk(player, (node) => {
      if (node.type !== 'element' || (node !== player && node.tagName !== 'source')) return;
      const at = node.position?.start ?? player.position!.start;
      const { src, poster } = node.properties;
      if (typeof src === 'string') files.push({ url: src, at, isPlayed: true });
      if (typeof poster === 'string') files.push({ url: poster, at, isPlayed: false });
    });
    const foreign = files.filter(({ url }) => !isOwnMedia(url, sitePath));
    if (files.some((file) => file.isPlayed && !foreign.includes(file))) {
      for (const { url, at } of foreign) warn(at, `"${url}" is removed`, 'save the file in content/media/');
      return;
    }
    const url = foreign.find(({ isPlayed }) => isPlayed)?.url;
    const message = `<${player.tagName}> is removed with all that is in it: it plays no file of content/media/`;
    const hint = `save the file there${url ? `, or write a link: ${toLink(url)}` : ''}`;
    warn(player.position!.start, message, hint);
  };
  const checkRemoved = ({ tagName: name, properties: { src }, position }: Element, isClosed: boolean): void => {
    if (!isClosed && !needNoEnd.has(name)) {
      const message = `<${name}> is never closed: it is removed with the text after it`;
      warn(position!.start, message, `write \`<${name}>\` in backticks to show it, else delete it`);
      return;
    }
    const hint = ['svg', 'math', 'canvas'].includes(name)
      ? 'save it in content/media/ and write ![what it shows](/media/...)'
      : src && name !== 'script'
        ? `write a link: ${toLink(src)}`
        : 'delete it: articles are text and pictures';
    warn(position!.start, `<${name}> is removed with all that is in it`, hint);
  };

  walk(elements, (node) => {
    if (node.type !== 'element') return undefined;
    const { tagName: name, properties } = node;
    // The parser leaves out what it does not know, such as the end of an element that Markdown ends.
    const { start, end }: Partial<NonNullable<Element['position']>> = node.position ?? {};
    if (!start) return undefined;
    const offset = (startTag.lastIndex = start.offset ?? 0);
    const [tag = '', written] = startTag.exec(raw) ?? [];
    const isRaw = written?.toLowerCase() === name;
    const [, depth] = /^h([1-6])$/.exec(name) ?? [];
    if (depth) checkHeading(node, Number(depth), isRaw);
    if (name === 'img') checkPicture(node, isRaw);
    if (!isRaw) return undefined;
    const url = name === 'img' ? properties.src : name === 'a' ? properties.href : undefined;
    const fault = url === undefined ? undefined : faultOf(url, name === 'img');
    if (fault) warn(start, ...fault);
    const [, last] = /<\/([^\s>]+)\s*>$/.exec(raw.slice(0, end?.offset ?? 0).slice(-80)) ?? [];
    // An element without an end tag ends with its last child.
    const hasEnd = last?.toLowerCase() === name && endOf(node.children.at(-1)) !== end?.offset;
    const isClosed = hasEnd || tag.endsWith('/>');
    if (hiding.has(name) || visible.has(name)) {
      if (isClosed) open.delete(offset);
      else open.set(offset, node);
    }
    if (/=\s*[“”„‘’]/.test(tag)) {
      warn(start, curlyQuotes, 'write " around their values');
    }
    if (name === 'input') warn(start, '<input> becomes a task box', 'write "- [ ] text" for one, else delete it');
    if (name === 'video' || name === 'audio') checkPlayer(node);
    else if (removed.has(name)) {
      checkRemoved(node, isClosed);
      return false;
    } else if (!kept.has(name) && !harmless.has(name) && !source.endsWith('{{', offset)) {
      // Hugo's `{{<note>}}` is reported as a template.
      const short = tag.replace(/\s[^]*/, ' ...>');
      const hint = `write \`${short}\` in backticks to show it, else delete it`;
      warn(start, `${short} is taken for HTML and removed`, hint);
    }
    return undefined;
  });
  for (const { tagName: name, position } of open.values()) {
    const effect = hiding.has(name) ? 'all text after it is hidden' : 'it also applies to the text after it';
    warn(position!.start, `<${name}> is never closed: ${effect}`, `write </${name}> where it ends`);
  }
}

/** Finds in raw HTML what its parser drops: comments without an end, processing instructions, and parts of a page. */
export function checkRawHtml(node: Html, { source, sourceOf, warn }: Linted): void {
  const start = startOf(node);
  const comment = start + sourceOf(node).lastIndexOf('<!--');
  if (comment >= start && !source.includes('-->', comment)) {
    warn(comment, 'the comment is never closed: all text after it is hidden', 'write --> where it ends');
  }
  // Up to an empty line all is HTML, as in other blocks; but here most authors mean Markdown.
  const [, html = '', text = ''] =
    /^(<details\b[^>]*>\s*(?:<summary\b[^]*?<\/summary>)?\s*)([^<\s][^]*)/i.exec(node.value) ?? [];
  if (/(?:^|\n)[ \t]*(?:[-*+#>|]|\d+[.)]|```)|\*\*|`|\]\(/.test(text)) {
    const message = 'this text is shown as it is, since no empty line is between it and <details>';
    warn(start + html.length, message, 'add an empty line above it');
  }
  const [begin, part] = /^<(?:[?!](?!--)|(head|frame(?:set)?)\b)/i.exec(node.value) ?? [];
  if (part) warn(start, `<${part}> is taken for HTML and removed`, `write \`<${part}>\` in backticks to show it`);
  else if (begin) warn(start, `"${begin}" is taken for HTML and removed up to ">"`, 'write it in backticks');
}

const endOf = (node: ElementContent | undefined): number | undefined =>
  (node?.position?.end as { readonly offset?: number } | undefined)?.offset;

const toLink = (url: string): string =>
  `[text](${url
    .replace(/^\/\//, 'https://')
    // The address that a player embeds shows an error as a page.
    .replace(
      /^https?:\/\/(?:www\.)?youtube(?:-nocookie)?\.com\/embed\/([\w-]+).*/,
      'https://www.youtube.com/watch?v=$1',
    )})`;
