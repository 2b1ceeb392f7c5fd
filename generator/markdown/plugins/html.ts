import type { Element, Nodes, Root, Text } from 'hast';
import type { Blockquote, Paragraph } from 'mdast';
import rehypeRaw from 'rehype-raw';
import { defaultSchema } from 'rehype-sanitize';
import type { Options } from 'rehype-sanitize';
import type { VFile } from 'vfile';
import { idPrefix } from './trusted.ts';
import { walk } from './walk.ts';

/** The kinds of alerts. */
export const alertKinds = ['note', 'tip', 'important', 'warning', 'caution'] as const;

const alertMarker = /^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*(?:\n|$)/i;

/** Turns a quote that starts with a line `[!NOTE]` into a titled `div.markdown-alert`, like GitHub. */
export function makeAlert(quote: Blockquote, markdown: string): void {
  const [first] = quote.children;
  if (first?.type !== 'paragraph') return;
  const [text, next] = first.children;
  if (text?.type !== 'text') return;
  const [line, word] = alertMarker.exec(text.value) ?? [];
  if (line === undefined || word === undefined) return;
  // As on GitHub, text after the marker or a backslash before the marker makes a plain quote.
  if (!line.endsWith('\n') && next && next.type !== 'break') return;
  if (!markdown.startsWith('[!', text.position?.start.offset)) return;
  const kind = word.toLowerCase();
  text.value = text.value.slice(line.length);
  if (text.value === '') first.children.splice(0, next?.type === 'break' ? 2 : 1);
  const title: Paragraph = {
    type: 'paragraph',
    children: [{ type: 'text', value: `${kind.charAt(0).toUpperCase()}${kind.slice(1)}` }],
    data: { hProperties: { className: ['markdown-alert-title'] } },
  };
  quote.data = { hName: 'div', hProperties: { className: ['markdown-alert', `markdown-alert-${kind}`] } };
  quote.children.splice(0, first.children.length === 0 ? 1 : 0, title);
}

const alertClasses = ['markdown-alert', ...alertKinds.map((kind) => `markdown-alert-${kind}`)];

/**
 * The allowed HTML: GitHub's allow list, figures, marks, abbreviations, videos, sounds, and the classes of alerts.
 * Other elements are replaced by their content; elements in `strip`, whose text is not prose, are removed with their
 * content.
 */
export const safeHtml: Options = {
  ...defaultSchema,
  clobberPrefix: idPrefix,
  tagNames: [...(defaultSchema.tagNames ?? []), 'abbr', 'audio', 'figcaption', 'figure', 'mark', 'video'],
  attributes: {
    ...defaultSchema.attributes,
    audio: ['src'],
    code: [...(defaultSchema.attributes?.['code'] ?? []), 'dataTitle', 'dataLines'],
    video: ['src', 'poster'],
    source: ['src', 'srcSet', 'type'],
    div: [...(defaultSchema.attributes?.div ?? []), ['className', ...alertClasses]],
    p: [['className', 'markdown-alert-title']],
  },
  protocols: { ...defaultSchema.protocols, poster: defaultSchema.protocols?.['src'] },
  // Without controls, a player cannot be stopped or used with the keyboard.
  required: { ...defaultSchema.required, audio: { controls: true }, video: { controls: true } },
  strip: (
    'script style template noscript svg math title head iframe frame frameset noframes object embed applet noembed ' +
    'canvas textarea select option button xmp plaintext'
  ).split(' '),
};

/** The scheme of an address, with the colon. */
export const schemeOf = /^[a-z][a-z0-9+.-]*:/i;

/** Writes addresses for the sanitiser, which would remove `HTTPS:` and a name with a colon, such as `10:20.png`. */
export function normaliseAddresses(tree: Root): void {
  walk(tree, (node) => {
    for (const name of node.type === 'element' ? Object.keys(safeHtml.protocols!) : []) {
      const { properties } = node as Element;
      const url = properties[name];
      if (typeof url !== 'string' || !/^[^/?#]*:/.test(url)) continue;
      const scheme = schemeOf.exec(url)?.[0].toLowerCase();
      properties[name] = scheme ? scheme + url.slice(scheme.length) : `./${url}`;
    }
  });
}

const lineBreak = /^<br *\/?>$/i;
/** Comments only; the sanitiser removes them. */
const comments = /^\s*(?:<!--(?!-?>)(?:(?!--!?>)[^])*-->\s*)+$/;

const parseHtml = rehypeRaw();

/** Parses raw HTML as a browser would; skipped for comments and `<br>` alone, which saves a fifth of a render. */
export function rehypeRawHtml() {
  return (tree: Root, file: VFile): Root => {
    const raw: Extract<Nodes, { type: 'raw' }>[] = [];
    const firstTexts: Text[] = [];
    let hasFootnotes = false;
    walk(tree, (node) => {
      if (node.type === 'raw') raw.push(node);
      if (node.type !== 'element') return;
      hasFootnotes ||= node.properties.dataFootnotes === true;
      const code = node.tagName === 'pre' ? node.children[0] : undefined;
      const text = code?.type === 'element' ? code.children[0] : undefined;
      if (text?.type === 'text' && text.value.startsWith('\n')) firstTexts.push(text);
    });
    const isSimple = raw.every(({ value }) => lineBreak.test(value) || comments.test(value));
    // The parser changes the notation of footnote attributes.
    if (raw.length === 0 || (isSimple && !hasFootnotes)) {
      const br = { type: 'element', tagName: 'br', properties: {}, children: [] };
      for (const node of raw) if (lineBreak.test(node.value)) Object.assign(node, br);
      return tree;
    }
    // The HTML parser drops a line break at the start of `pre`, which must stay in a code block.
    for (const text of firstTexts) text.value = `\n${text.value}`;
    return parseHtml(tree, file);
  };
}
