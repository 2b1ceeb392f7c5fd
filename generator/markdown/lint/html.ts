import { distance } from 'fastest-levenshtein';
import type { Element, ElementContent, Nodes as HtmlNodes, Root } from 'hast';
import type { Definition, Html, Image, Link, Nodes } from 'mdast';
import { isNote } from '../plugins/comments.ts';
import { safeHtml, schemeOf } from '../plugins/html.ts';
import { copyIt, unsafeSource, isOwnMedia } from '../plugins/trusted.ts';
import { walk } from '../plugins/walk.ts';

/** The article under check; offsets refer to the source. */
export interface Linted {
  readonly source: string;
  readonly sitePath: string;
  /** Returns the source of a node. */
  readonly sourceOf: (node: Nodes | HtmlNodes) => string;
  /** Reports a probable mistake at an offset or a node. */
  readonly warn: (place: number | Nodes | HtmlNodes, message: string, hint: string) => void;
  /** Reports an error, which a lenient build makes a warning. */
  readonly refuse: Linted['warn'];
}

/** Returns the start offset of a node. */
export const startOf = ({ position }: Nodes | HtmlNodes): number => position?.start.offset ?? 0;

const kept = new Set(safeHtml.tagNames);
const removed = new Set(safeHtml.strip);

/** Removed elements whose text stays, so readers miss nothing. */
const harmless = new Set(
  (
    'acronym address article aside base basefont bdi bdo body big blink caption center cite col colgroup data datalist ' +
    'dfn dir fieldset font footer form header hgroup html label legend link main map marquee menu ' +
    'meta nav nobr optgroup output param rb rtc search section slot small span time u wbr'
  ).split(' '),
);

/** Elements that are empty, or that the HTML parser closes by itself. */
const needNoEnd = new Set(['embed', 'math', 'svg']);

/** Elements that hide the following text if unclosed. */
const hiding = new Set(['audio', 'details', 'summary', 'video']);

/** Elements that change the look of the following text if unclosed. */
const visible = new Set(
  'a b blockquote code del em figcaption figure i ins ol pre s strike strong sub sup table tt ul'.split(' '),
);

/** Attributes that hide an element. The sanitiser removes them, and readers see its text. */
const hidingAttributes: Readonly<Record<string, RegExp>> = {
  hidden: /^/,
  popover: /^/,
  style: /(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?:opacity|font-size)\s*:\s*0)(?![\d.]*[1-9])/i,
  className: /^(?:d-none|display-none|hidden|hide|invisible|is-hidden|screen-reader-text|sr-only|visually-?hidden)$/,
};

const startTag = /<([a-z][^\s/>]*)(?:"[^"]*"|'[^']*'|[^'">])*>?/iy;
/** Curly quotes become part of the value, or turn the tag into text. */
export const curlyQuotes = 'curly quotes do not delimit attributes';
const h1 = 'only the title may be a heading of level 1';

/** Checks the elements of Markdown and raw HTML; `raw` is the raw HTML at its source offsets, padded with spaces. */
export function checkElements(elements: Root, raw: string, { source, sourceOf, sitePath, warn, refuse }: Linted): void {
  let level: number | undefined;
  /** Unclosed elements by offset: the parser reopens some of them in the next paragraph. */
  const open = new Map<number, Element>();

  const checkHeading = (node: Element, depth: number, isRaw: boolean): void => {
    const next = (level ?? 1) + 1;
    if (depth === 1) {
      const hint = isRaw ? 'write <h2>' : sourceOf(node).startsWith('#') ? 'start with ##' : 'underline it with ---';
      const isFirst = !isRaw && source.slice(0, startOf(node)).trim() === '';
      warn(node, h1, isFirst ? `delete the heading if it repeats the title, else ${hint}` : hint);
    } else if (depth > next && !isRaw) {
      const message = level
        ? `heading of level ${depth} after a heading of level ${level}`
        : `the first heading has level ${depth}`;
      warn(node, message, `write ${'#'.repeat(next)}${sourceOf(node).replace(/^#+/, '')}`);
    }
    level = depth;
  };
  const checkPicture = (node: Element, isRaw: boolean): void => {
    const { alt } = node.properties;
    // In HTML, an empty description marks a decorative picture.
    if (isRaw ? alt !== undefined : String(alt).trim() !== '') return;
    const hint = isRaw
      ? 'add alt="description", or alt="" for a decorative picture'
      : `describe the picture: ${sourceOf(node).replace(/^!\[\s*\]/, '![text]')}`;
    warn(node, 'the picture has no description', hint);
  };
  const checkPlayer = (player: Element): void => {
    const files: { readonly url: string; readonly at: HtmlNodes; readonly isPlayed: boolean }[] = [];
    walk(player, (node) => {
      if (node.type !== 'element' || (node !== player && node.tagName !== 'source')) return;
      const at = node.position ? node : player;
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
    const message = `<${player.tagName}> is removed with its content: it plays no file in content/media/`;
    const hint = `save the file there${url ? `, or write a link: ${toLink(url)}` : ''}`;
    warn(player, message, hint);
  };
  const checkRemoved = (node: Element, isClosed: boolean): void => {
    const { tagName: name, properties } = node;
    const { src } = properties;
    if (!isClosed && !needNoEnd.has(name)) {
      const message = `<${name}> is not closed: the following text is removed, too`;
      warn(node, message, `write \`<${name}>\` in backticks to show the tag, else delete it`);
      return;
    }
    const hint = ['svg', 'math', 'canvas'].includes(name)
      ? 'save the picture in content/media/ and write ![description](/media/...)'
      : src && name !== 'script'
        ? `write a link: ${toLink(src)}`
        : 'delete the element: articles contain only text and pictures';
    warn(node, `<${name}> is removed with its content`, hint);
  };

  const checkAttributes = (node: Element): void => {
    const { tagName, properties, children } = node;
    for (const [name, value] of Object.entries(properties)) {
      const hider = [value].flat().find((text) => hidingAttributes[name]?.test(String(text)));
      if (/^on/i.test(name)) warn(node, `${name.toLowerCase()} is removed`, 'delete it: articles have no scripts');
      if (hider === undefined || (children.length === 0 && tagName !== 'img')) continue;
      const written = name === 'className' ? `class="${hider}"` : name === 'style' ? `style="${hider}"` : name;
      refuse(node, `this is shown to readers: ${written} is removed`, 'delete the text, or the attribute to show it');
    }
    if (unsafeSource.test(String(properties.srcSet)))
      warn(node, 'srcset is removed', 'write addresses in content/media/');
  };

  walk(elements, (node) => {
    if (node.type !== 'element' || !node.position) return undefined;
    const { tagName: name, properties } = node;
    const offset = (startTag.lastIndex = startOf(node));
    const [tag = '', written] = startTag.exec(raw) ?? [];
    const isRaw = written?.toLowerCase() === name;
    const [, depth] = /^h([1-6])$/.exec(name) ?? [];
    if (depth) checkHeading(node, Number(depth), isRaw);
    if (name === 'img') checkPicture(node, isRaw);
    if (!isRaw) return undefined;
    checkAttributes(node);
    const url = name === 'img' ? properties.src : name === 'a' ? properties.href : undefined;
    const fault = url === undefined ? undefined : faultOf(url, name === 'img');
    if (fault) warn(node, ...fault);
    const [, last] = /<\/([^\s>]+)\s*>$/.exec(raw.slice(0, endOf(node) ?? 0).slice(-80)) ?? [];
    // An element without an end tag ends with the last child.
    const hasEnd = last?.toLowerCase() === name && endOf(node.children.at(-1)) !== endOf(node);
    const isClosed = hasEnd || tag.endsWith('/>');
    if (isClosed) open.delete(offset);
    else if (hiding.has(name) || visible.has(name)) open.set(offset, node);
    if (/=\s*[“”„‘’]/.test(tag)) warn(node, curlyQuotes, 'write " around the value');
    if (name === 'input') warn(node, '<input> becomes a checkbox', 'write "- [ ] text", or delete the tag');
    if (name === 'video' || name === 'audio') checkPlayer(node);
    else if (removed.has(name)) {
      checkRemoved(node, isClosed);
      return false;
    } else if (!kept.has(name) && !harmless.has(name) && !source.endsWith('{{', offset)) {
      // Hugo's `{{<note>}}` is reported as a template.
      const short = tag.replace(/\s[^]*/, ' ...>');
      const hint = `write \`${short}\` in backticks to show the tag, else delete it`;
      warn(node, `${short} is parsed as HTML and removed`, hint);
    }
    return undefined;
  });
  for (const node of open.values()) {
    const effect = hiding.has(node.tagName) ? 'all following text is hidden' : 'it also applies to the following text';
    warn(node, `<${node.tagName}> is not closed: ${effect}`, `write </${node.tagName}> at the end`);
  }
}

/** Markdown that a block of HTML shows as text. */
const markdownInHtml =
  /^([ \t>]*)(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]+[^\s\0]|`{3}|~{3}|\|.*\|)|\*\*(?=\S)[^*\n]+\*\*|`[^`\n]+`|\[[^[\]\n]+\]\([^)\n]+\)/m;
/** Comments, code and tags of HTML. */
const notMarkdown =
  /<!--[^]*?(?:-->|$)|<(pre|code|script|style|svg|textarea)\b[^]*?(?:<\/\1\s*>|$)|<[a-z/](?:"[^"]*"|'[^']*'|[^'"<>])*>/gi;

/** Finds raw HTML that the parser drops, and Markdown that HTML shows as text. */
export function checkRawHtml(node: Html, { source, sourceOf, warn }: Linted): void {
  const start = startOf(node);
  const html = sourceOf(node);
  const comment = html.lastIndexOf('<!--');
  if (comment >= 0 && !html.includes('-->', comment)) {
    const [effect, hint] = source.includes('-->', start + comment)
      ? ['it ends at the empty line, and the rest is shown', 'delete the empty line']
      : ['all following text is hidden', 'write --> at the end'];
    warn(start + comment, `the comment is not closed: ${effect}`, hint);
  }
  // Everything up to an empty line is HTML, but most authors mean Markdown.
  const [, name] = /^<\/?([a-z][\w-]*)/i.exec(html) ?? [];
  const text = html.replace(notMarkdown, (part) => part.replace(/[^\n]/g, '\0'));
  const markdown = markdownInHtml.exec(text);
  if (name && markdown) {
    const message = `this Markdown is shown as plain text: no empty line separates it from <${name}>`;
    warn(start + markdown.index + (markdown[1] ?? '').length, message, 'add an empty line above');
  }
  const [begin, part] = /^<(?:[?!](?!--)|(head|frame(?:set)?)\b)/i.exec(node.value) ?? [];
  if (part) warn(start, `<${part}> is parsed as HTML and removed`, `write \`<${part}>\` in backticks to show the tag`);
  else if (begin) warn(start, `"${begin}" is parsed as HTML and removed up to ">"`, 'write the text in backticks');
}

/** Returns the end offset of a node; undefined if the parser has none, as for elements that Markdown closes. */
const endOf = (node: ElementContent | undefined): number | undefined =>
  (node?.position?.end as { readonly offset?: number } | undefined)?.offset;

const toLink = (url: string): string =>
  `[text](${url
    .replace(/^\/\//, 'https://')
    // The address of an embedded player does not work as a page.
    .replace(
      /^https?:\/\/(?:www\.)?youtube(?:-nocookie)?\.com\/embed\/([\w-]+).*/,
      'https://www.youtube.com/watch?v=$1',
    )})`;

/** Quotes and punctuation that a bare address takes in. */
const foreignMark = /[“”„‘’«»‹›…\u3001-\u303F\uFF01-\uFF0F\uFF1A-\uFF20\uFF3B-\uFF3D\uFF5B-\uFF65]/u;

/** Finds addresses that are empty, mistyped, or removed by the sanitiser. */
export function checkAddress(node: Link | Image | Definition, { sourceOf, warn }: Linted): void {
  if (!node.position || (node.type === 'definition' && isNote(node))) return;
  const source = sourceOf(node);
  const { index: end, 0: mark } = (/^(?:https?:\/\/|www\.)/i.test(source) && foreignMark.exec(source)) || {};
  if (mark) warn(startOf(node) + end!, `"${mark}" is part of the address`, `write <${source.slice(0, end)}>`);
  const fault = faultOf(node.url, node.type === 'image');
  if (!fault) return;
  // The address follows the text, which may contain the same characters.
  const index = node.url === '' ? source.lastIndexOf('(') + 1 : source.lastIndexOf(node.url);
  warn(startOf(node) + Math.max(0, index), ...fault);
}

type Warning = readonly [message: string, hint: string];

function faultOf(url: string, isPicture: boolean): Warning | undefined {
  // A picture without an address is reported as a missing file.
  if (url === '') return isPicture ? undefined : ['the link has no address', 'write one between the parentheses'];
  if (url.startsWith('/')) return faultOfPath(url);
  const scheme = schemeOf.exec(url)?.[0].slice(0, -1);
  if (scheme === undefined) return undefined;
  const allowed = safeHtml.protocols?.[isPicture ? 'src' : 'href'] ?? [];
  return allowed.includes(scheme.toLowerCase()) ? undefined : faultOfScheme(url, scheme, isPicture);
}

/** Valid schemes, which are not mistyped. */
const otherSchemes = /^(?:s?ftps?|smtps?|tcp|udp|ssh|wss?|tel|sms)$/i;

function faultOfScheme(url: string, scheme: string, isPicture: boolean): Warning {
  const message = `${isPicture ? 'pictures' : 'links'} with "${scheme}:" are removed`;
  if (/^(?:file|[a-z])$/i.test(scheme)) return [message, copyIt];
  if (scheme === 'data') return [message, 'save the picture in content/media/'];
  const rest = url.slice(scheme.length + 1);
  const name = scheme.toLowerCase();
  if (!otherSchemes.test(scheme)) {
    // A host with a port looks like a scheme.
    if (/^\d+(?:[/?#]|$)/.test(rest) && !/^\d{6}/.test(rest)) return [message, suggestAddress(`http://${url}`)];
    if (distance(name, 'https') <= 1) return [message, suggestAddress(`https:${rest}`)];
    if (rest.startsWith('//') && distance(name, 'http') <= 2) return [message, suggestAddress(`http:${rest}`)];
  }
  return [message, 'write the address as plain text'];
}

const folders = ['blog', 'knowledgebase', 'media'];

/** Finds a mistyped folder of content/ at the start of a path; other folders may be pages of the website. */
function faultOfPath(path: string): Warning | undefined {
  const [, folder, rest = ''] = /^\/([^/?#]+)(\/.*)$/s.exec(path) ?? [];
  if (folder === undefined || folders.includes(folder)) return undefined;
  const name = folder.toLowerCase().replace(/[-_]|%20/g, '');
  const isLike = (other: string): boolean => distance(name, other) <= Math.max(1, Math.floor(other.length / 4));
  const meant = /^(?:kb|knowledge)$/.test(name) ? 'knowledgebase' : folders.find(isLike);
  return meant === undefined
    ? undefined
    : [`there is no folder /${folder}/ in content/`, suggestAddress(`/${meant}${rest}`)];
}

const suggestAddress = (better: string): string => `did you mean "${better}"?`;
