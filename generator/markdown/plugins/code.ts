import { createRequire } from 'node:module';
import type { Element, ElementContent } from 'hast';
import { toText } from 'hast-util-to-text';
import type * as Lowlight from 'lowlight';
import type { Code } from 'mdast';

/** What follows the language of a code block: ` ```ts title="server.ts" {2,4-6} `. */
interface FenceMeta {
  readonly title: string;
  /** The numbers of the marked lines, from 1. */
  readonly lines: ReadonlySet<number>;
  readonly faults: readonly FenceFault[];
}

/** A mistake in the meta; the offset counts from its beginning. */
interface FenceFault {
  readonly offset: number;
  readonly message: string;
  readonly hint: string;
}

/** A title, the content of braces, or a word, which may be meant for other programs. */
const part = /title=(?:"([^"]*)"|'([^']*)'|(\S*))|\{([^{}]*)\}|\S+/g;

/** Parses the meta of a code block. What other programs read is ignored. */
export function parseFenceMeta({ meta, value }: Pick<Code, 'meta' | 'value'>): FenceMeta {
  let title = '';
  const lines = new Set<number>();
  const faults: FenceFault[] = [];
  for (const match of meta?.matchAll(part) ?? []) {
    const { index: offset, 0: text, 1: double, 2: single, 3: bare = '', 4: ranges = '' } = match;
    const [, quote] = /^title=(["'])/.exec(text) ?? [];
    if (quote && bare !== '') {
      const message = 'the title of the code block has no closing quote';
      faults.push({ offset, message, hint: `write title=${quote}...${quote}` });
    } else if (text.startsWith('title=')) {
      title = (double ?? single ?? bare).trim();
    } else if (/^\{\d[^}]*$/.test(text)) {
      faults.push({ offset, message: 'the line numbers have no closing brace', hint: `write ${text}}` });
    } else if (/^\s*\d/.test(ranges)) {
      faults.push(...addLines(ranges, offset + 1, value.split('\n').length, lines));
    }
  }
  return { title, lines, faults };
}

/** Adds the lines of a list of numbers and ranges, which begins at an offset; returns its faults. */
function addLines(ranges: string, start: number, lineCount: number, lines: Set<number>): FenceFault[] {
  const faults: FenceFault[] = [];
  for (const { index, 0: text } of ranges.matchAll(/[^\s,][^,]*/g)) {
    const [, first = 0, last = first] = (/^(\d{1,6})\s*(?:-\s*(\d{1,6}))?\s*$/.exec(text) ?? []).map(Number);
    const end = Number.isNaN(last) ? first : last;
    if (first < 1 || end < first) {
      const message = `"${text.trim()}" is not a range of lines`;
      faults.push({ offset: start + index, message, hint: 'write numbers from 1, as in {2,4-6}' });
    } else if (end > lineCount) {
      const message = `line ${end} is marked, but the code block ends with line ${lineCount}`;
      faults.push({ offset: start + index, message, hint: 'count from the first line of the code' });
    }
    for (let line = first; line >= 1 && line <= Math.min(end, lineCount); line += 1) lines.add(line);
  }
  return faults;
}

/** Keeps the title and the marked lines of a code block as attributes, which {@link decorateCode} reads after the sanitiser. */
export function keepFenceMeta(code: Code): void {
  if (!code.meta) return;
  const { title, lines } = parseFenceMeta(code);
  const hProperties = {
    ...(title && { dataTitle: title }),
    ...(lines.size > 0 && { dataLines: [...lines].join(',') }),
  };
  code.data = { ...code.data, hProperties };
}

/**
 * Highlights the code in a `pre` with highlight.js class names, if its language is supported. If it has marked lines or is a
 * diff, wraps its lines in elements with the class names of Shiki: `line`, `line highlighted`, `line diff add` and
 * `line diff remove`. Moves its title to the `pre`. Any other `code` loses the attributes that say so.
 */
export function decorateCode(element: Element): void {
  if (element.tagName === 'code') takeMeta(element);
  if (element.tagName !== 'pre') return;
  for (const code of element.children) {
    if (code.type !== 'element' || code.tagName !== 'code') continue;
    highlight(code);
    const isMarked = code.properties.dataLines !== undefined;
    const { title, lines } = takeMeta(code);
    if (title !== '') element.properties.dataTitle = title;
    const names = classNames(code);
    const isDiff = names.includes('language-diff') || names.includes('language-patch');
    if ((isMarked || isDiff) && code.children.every(isFromHighlighter)) wrapLines(code, lines, isDiff);
  }
}

function highlight(code: Element): void {
  const { className } = code.properties;
  if (!Array.isArray(className)) return;
  const language = className.map((name) => /^language-(.+)/.exec(name)?.[1]).find(Boolean);
  if (!language) return;
  className.unshift('hljs');
  if (!isHighlighted(language)) return;
  const text = toText(code, { whitespace: 'pre' });
  try {
    code.children = highlighter!.highlight(language, text).children as ElementContent[];
  } catch {
    // If a grammar fails, the code stays without highlighting.
  }
}

/** Removes and returns what {@link keepFenceMeta} has set. */
function takeMeta({ properties }: Element): { title: string; lines: ReadonlySet<number> } {
  const { dataTitle = '', dataLines = '' } = properties;
  delete properties.dataTitle;
  delete properties.dataLines;
  return { title: String(dataTitle), lines: new Set(String(dataLines).split(',').map(Number)) };
}

function classNames({ properties: { className } }: Element): readonly (string | number)[] {
  return Array.isArray(className) ? className : [];
}

/** Whether the highlighter made a node: deep elements of raw HTML would be copied once for each line. */
function isFromHighlighter(node: ElementContent): boolean {
  if (node.type !== 'element') return node.type === 'text';
  return String(classNames(node)[0]).startsWith('hljs-') && node.children.every(isFromHighlighter);
}

function wrapLines(code: Element, marked: ReadonlySet<number>, isDiff: boolean): void {
  const lines = splitLines(code.children);
  // The line break of the last line is followed by nothing.
  if (lines.at(-1)?.length === 0) lines.pop();
  code.children = lines.map((children, index) => {
    const change = isDiff ? changeOf(children) : [];
    const className = ['line', ...(marked.has(index + 1) ? ['highlighted'] : []), ...change];
    return { type: 'element', tagName: 'span', properties: { className }, children };
  });
}

/** The class names of a line of a diff. */
function changeOf([first]: readonly ElementContent[]): string[] {
  const names = first?.type === 'element' ? classNames(first) : [];
  if (names.includes('hljs-addition')) return ['diff', 'add'];
  return names.includes('hljs-deletion') ? ['diff', 'remove'] : [];
}

/** Splits nodes after each line break. An element that contains line breaks becomes one element in each of its lines. */
function splitLines(nodes: readonly ElementContent[]): ElementContent[][] {
  const lines: ElementContent[][] = [[]];
  for (const node of nodes) {
    for (const [index, own] of splitNode(node).entries()) {
      if (index > 0) lines.push([]);
      lines.at(-1)!.push(...own);
    }
  }
  return lines;
}

function splitNode(node: ElementContent): ElementContent[][] {
  if (node.type === 'text') {
    const texts = node.value.split(/(?<=\n)/);
    if (texts.at(-1)?.endsWith('\n')) texts.push('');
    return texts.map((value) => (value === '' ? [] : [{ type: 'text', value }]));
  }
  if (node.type !== 'element' || node.children.length === 0) return [[node]];
  return splitLines(node.children).map((children) => (children.length === 0 ? [] : [{ ...node, children }]));
}

/** Whether code in a language is highlighted. */
export function isHighlighted(language: string): boolean {
  return (highlighter ??= createHighlighter()).registered(language);
}

/** The names of the languages that are highlighted. */
export function highlightedLanguages(): string[] {
  return (highlighter ??= createHighlighter()).listLanguages();
}

/** The names of the languages that highlight.js supports, most of which are not highlighted here. */
export function languageNames(): string[] {
  return Object.keys(load().all);
}

/** Created at first use: the grammars take a fifth of the pipeline's load time. */
let highlighter: ReturnType<typeof Lowlight.createLowlight> | undefined;

/** Languages for server administration that are not in highlight.js's common set. */
const moreLanguages = ['apache', 'dns', 'dockerfile', 'http', 'nginx', 'powershell', 'properties'];

function createHighlighter() {
  const { all, common, createLowlight } = load();
  return createLowlight({ ...common, ...Object.fromEntries(moreLanguages.map((name) => [name, all[name]!])) });
}

function load(): typeof Lowlight {
  return createRequire(import.meta.url)('lowlight') as typeof Lowlight;
}
