import type { Blockquote, Code, ListItem, Nodes, Root, Table } from 'mdast';
import { suggest } from '#common/suggest.ts';
import { mergeConflict } from '../../common/finding.ts';
import { languageNames, loadHighlighter, parseFenceMeta } from '../plugins/code.ts';
import { alertTitles } from '../plugins/html.ts';
import { walk } from '../plugins/walk.ts';
import { startOf } from './linted.ts';
import type { Linted } from './linted.ts';

const kinds = Object.keys(alertTitles);

/** The kinds of alert by what this and other programs call them. */
const kindsByName = new Map(
  Object.entries({
    note: 'info information abstract summary',
    tip: 'hint success',
    important: '',
    warning: 'attention warn',
    caution: 'critical danger error',
  }).flatMap(([kind, names]) =>
    `${kind} ${names}`
      .trim()
      .split(' ')
      .map((name) => [name, kind]),
  ),
);

/** The mark of the alert for a box of this or another program, if there is one. */
export function alertMark(name: string): string | undefined {
  const kind = kindsByName.get(name.toLowerCase());
  return kind && `[!${kind.toUpperCase()}]`;
}

/** Finds quotes that begin like an alert but are none. */
export function checkAlert({ children, data }: Blockquote, { sourceOf, warn }: Linted): void {
  const paragraph = children.find(({ type, position }) => type === 'paragraph' && position);
  // An alert has become a `div`.
  if (!paragraph || data?.hName !== undefined) return;
  const [mark, kind] = /^\[!([\w-]+)\][-+]?[ \t]*/.exec(sourceOf(paragraph)) ?? [];
  if (mark === undefined || kind === undefined) return;
  const start = startOf(paragraph);
  const name = kind.toLowerCase();
  if (kinds.includes(name)) {
    const message = `after [!${kind}] the line must end, else this is a plain quote`;
    warn(start + mark.length, message, 'begin the text on the next line, after >');
    return;
  }
  const marks = kinds.map((own) => `[!${own.toUpperCase()}]`);
  const all = `write ${marks.slice(0, -1).join(', ')} or ${marks.at(-1)}`;
  const meant = alertMark(name);
  warn(start, `there is no alert [!${kind}]`, meant ? `write ${meant}` : (suggest(name, kinds) ?? all));
}

/** Names of languages that are right although their blocks have no colours. */
const uncoloured = new Set(
  (
    'txt plain none raw ascii output out stdout stderr log logs terminal tree csv tsv env dotenv conf cfg ' +
    'asm astro bat cmd hcl json5 jsonc mdx prisma solidity svelte terraform tf vue zig'
  ).split(' '),
);

/**
 * Finds code blocks with a mistyped or unknown language, with mistakes in their title or line numbers, and those that are not
 * closed, or so late that they contain the beginning of another one.
 */
export function checkCode(node: Code, { sourceOf, warn }: Linted): void {
  const source = sourceOf(node);
  const [, fence, space = '', lang = '', gap = ''] = /^(`{3,}|~{3,})([ \t]*)(\S*)([ \t]*)/.exec(source) ?? [];
  if (fence === undefined) return;
  const start = startOf(node) + fence.length + space.length;
  if (node.lang && !isKnown(node.lang)) {
    warn(start, `the code language "${node.lang}" is not known`, adviseLanguage(node.lang));
  }
  for (const [offset, message, hint] of parseFenceMeta(node).faults) {
    warn(start + lang.length + gap.length + offset, message, hint);
  }
  // A line within a list or quote begins with its indentation or mark.
  const [closing] = /\n[ \t>]*(?:`{3,}|~{3,})[ \t]*$/.exec(source) ?? [];
  const inner = new RegExp(`\\n[ \\t>]*(?=${fence}${fence[0]}*[\\w{][^\\n\`]*$)`, 'm').exec(source);
  if (!closing?.includes(fence)) {
    const message = 'the code block is never closed: all text after it is code';
    warn(startOf(node), message, `end it with a line of ${fence}`);
  } else if (inner) {
    const hint = `end the first one with a line of ${fence} above this line`;
    warn(startOf(node) + inner.index + inner[0].length, 'a code block begins within another', hint);
  }
}

function isKnown(lang: string): boolean {
  const name = lang.toLowerCase();
  return loadHighlighter().registered(name) || uncoloured.has(name) || languageNames().includes(name);
}

function adviseLanguage(lang: string): string {
  // "js{1,3}", "js,ignore" or "{.js}": the name with what other programs read.
  const [name = ''] = /[\w#+-]+/.exec(lang) ?? [];
  const [lines = ''] = /\{[\d,\s-]+\}$/.exec(lang) ?? [];
  if (name !== lang && isKnown(name)) return `write "${name}${lines && ` ${lines}`}"`;
  if (name === 'math') return 'formulas are not drawn: write "text"';
  if (/^(?:mermaid|plantuml|graphviz)$/i.test(name)) return 'diagrams are not drawn: save a picture, or write "text"';
  if (/^(?:title=|\{)/.test(lang)) return 'write a language before it, such as "text"';
  // Too many names are similar to a short one.
  const similar = lang.length > 3 ? suggest(lang.toLowerCase(), loadHighlighter().listLanguages()) : undefined;
  return similar ?? 'write "text" for a block without colours';
}

/** Finds cells that the renderer drops, since the head of their table has fewer. */
export function checkCells({ align, children }: Table, { warn }: Linted): void {
  for (const { children: cells } of children) {
    const cell = cells.slice(align?.length).find((node) => node.children.length > 0);
    if (!cell) continue;
    const message = `this row has ${cells.length} cells, and the head ${align?.length}: what is here is not shown`;
    warn(startOf(cell), message, 'write \\| for a | in a cell, else add a head');
  }
}

/**
 * Finds lists that were meant to be in an item of the list of numbers above them, and are not indented far enough: a list of
 * bullets then stands below that list, and one of numbers goes on with it, which its first number shows.
 */
export function checkSublists(parent: Extract<Nodes, { children: unknown }>, { source, warn }: Linted): void {
  const numberOf = (node: Nodes): number => parseInt(source.slice(node.position!.start.offset), 10);
  for (const [index, list] of parent.children.entries()) {
    const above = parent.children[index - 1];
    if (!above || !list.position || !above.position) continue;
    const isBelow = list.type === 'list' && above.type === 'list' && above.ordered;
    const goesOn = list.type === 'listItem' && above.type === 'listItem' && numberOf(list) <= numberOf(above);
    const { column } = above.position.start;
    if (!(isBelow || goesOn) || list.position.start.column <= column) continue;
    const [content] = (isBelow ? above.children.at(-1)! : (above as ListItem)).children;
    const spaces = (content?.position?.start.column ?? column + 3) - column;
    warn(startOf(list), 'this list is not in the item above it', `begin its lines with ${spaces} spaces, or with none`);
  }
}

/** Finds footnotes that nothing refers to, which are not shown. */
export function checkFootnotes(tree: Root, { source, warn }: Linted): void {
  if (!source.includes('[^')) return;
  const used = new Set<string>();
  walk(tree, (node) => void (node.type === 'footnoteReference' && used.add(node.identifier)));
  walk(tree, (node) => {
    if (node.type !== 'footnoteDefinition' || used.has(node.identifier)) return;
    const hint = `write [^${node.label}] where it belongs, or delete it`;
    warn(startOf(node), `nothing refers to the footnote [^${node.label}]: it is not shown`, hint);
  });
}

const conflictMarker = /^(?:<{7}|={7}|>{7})(?=[ \t]|$)/gm;

/** Finds unresolved merge conflicts. In one of the code blocks they may be an example. */
export function findConflicts(source: string, code: readonly (readonly [from: number, to: number])[]) {
  const found: { severity: 'error'; offset: number; message: string; hint: string }[] = [];
  let previous = '';
  for (const { index, 0: marker } of source.matchAll(conflictMarker)) {
    if (code.some(([from, to]) => from <= index && index < to)) continue;
    // The first marker may have been deleted. The last one alone is a nested quote.
    if (marker.startsWith('<') || (marker.startsWith('>') && previous.startsWith('='))) {
      found.push({ severity: 'error', offset: index, ...mergeConflict });
    }
    // A line of = may underline a heading in one of the two texts.
    previous = marker.startsWith('=') && previous.startsWith('<') ? previous : marker;
  }
  return found;
}
