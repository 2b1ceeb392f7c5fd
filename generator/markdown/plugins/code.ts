import { createRequire } from 'node:module';
import type { Element, ElementContent } from 'hast';
import { toText } from 'hast-util-to-text';
import type * as Lowlight from 'lowlight';
import type { Code } from 'mdast';

/** A title, the content of braces, or a word for other programs. */
const metaPart = /title=(?:"([^"]*)"|'([^']*)'|(\S*))|\{([^{}]*)\}|\S+/g;

/**
 * Stores the options of a code block, as in ` ```ts title="server.ts" {2,4-6} `, as attributes for {@link decorateCode}.
 * Ignores options of other programs.
 */
export function keepFenceMeta(code: Code): void {
  if (!code.meta) return;
  let title = '';
  const lines = new Set<number>();
  const lineCount = code.value.split('\n').length;
  for (const [text, double, single, bare = '', ranges = ''] of code.meta.matchAll(metaPart)) {
    if (text.startsWith('title=')) title = (double ?? single ?? bare).trim();
    for (const range of /^\s*\d/.test(ranges) ? ranges.split(',') : []) {
      const [, first, last = first] = /^\s*(\d{1,6})\s*(?:-\s*(\d{1,6}))?\s*$/.exec(range) ?? [];
      for (let line = Math.max(1, Number(first)); line <= Math.min(Number(last), lineCount); line += 1) lines.add(line);
    }
  }
  code.data = {
    hProperties: { ...(title && { dataTitle: title }), ...(lines.size > 0 && { dataLines: [...lines].join(',') }) },
  };
}

/**
 * Highlights the code in a `pre` with highlight.js class names, and moves the title to the `pre`. Wraps the lines of
 * marked code and diffs in elements with the class names of Shiki: `line`, `line highlighted`, `line diff add`, `line
 * diff remove`. Removes the attributes of {@link keepFenceMeta}.
 */
export function decorateCode(element: Element): void {
  if (element.tagName === 'code') takeMeta(element);
  if (element.tagName !== 'pre') return;
  for (const code of element.children) {
    if (code.type !== 'element' || code.tagName !== 'code') continue;
    highlight(code);
    const { title, lines } = takeMeta(code);
    if (title) element.properties.dataTitle = String(title);
    const isDiff = classNames(code).some((name) => name === 'language-diff' || name === 'language-patch');
    if ((lines !== undefined || isDiff) && code.children.every(isFromHighlighter)) {
      wrapLines(code, new Set(String(lines).split(',').map(Number)), isDiff);
    }
  }
}

function highlight(code: Element): void {
  const names = classNames(code);
  const language = names.map((name) => /^language-(.+)/.exec(String(name))?.[1]).find(Boolean);
  if (!language) return;
  names.unshift('hljs');
  if (!loadHighlighter().registered(language)) return;
  const text = toText(code, { whitespace: 'pre' });
  try {
    code.children = loadHighlighter().highlight(language, text).children as ElementContent[];
  } catch {
    // If a grammar fails, the code is not highlighted.
  }
}

function takeMeta({ properties }: Element) {
  const { dataTitle: title, dataLines: lines } = properties;
  delete properties.dataTitle;
  delete properties.dataLines;
  return { title, lines };
}

const classNames = ({ properties: { className } }: Element): (string | number)[] =>
  Array.isArray(className) ? className : [];

/** Checks that the highlighter created a node: nested raw HTML would be copied for each line. */
function isFromHighlighter(node: ElementContent): boolean {
  if (node.type !== 'element') return node.type === 'text';
  return String(classNames(node)[0]).startsWith('hljs-') && node.children.every(isFromHighlighter);
}

function wrapLines(code: Element, marked: ReadonlySet<number>, isDiff: boolean): void {
  const lines = splitLines(code.children);
  // Nothing follows the last line break.
  if (lines.at(-1)?.length === 0) lines.pop();
  code.children = lines.map((children, index) => {
    const [first] = children;
    const names = isDiff && first?.type === 'element' ? classNames(first) : [];
    const className = ['line'];
    if (marked.has(index + 1)) className.push('highlighted');
    if (names.includes('hljs-addition')) className.push('diff', 'add');
    else if (names.includes('hljs-deletion')) className.push('diff', 'remove');
    return { type: 'element', tagName: 'span', properties: { className }, children };
  });
}

/** Splits nodes after each line break; an element with line breaks becomes one element per line. */
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

/** Lists the languages of highlight.js, most of which are not highlighted here. */
export const languageNames = (): string[] => Object.keys(loadLowlight().all);

let highlighter: ReturnType<typeof Lowlight.createLowlight> | undefined;

/** Languages of server administration outside of highlight.js's common set. */
const moreLanguages = ['apache', 'dns', 'dockerfile', 'http', 'nginx', 'powershell', 'properties'];

/** Loads the grammars on demand: they take a fifth of the pipeline's load time. */
export function loadHighlighter(): ReturnType<typeof Lowlight.createLowlight> {
  if (highlighter) return highlighter;
  const { all, common, createLowlight } = loadLowlight();
  const more = Object.fromEntries(moreLanguages.map((name) => [name, all[name]!]));
  return (highlighter = createLowlight({ ...common, ...more }));
}

const loadLowlight = () => createRequire(import.meta.url)('lowlight') as typeof Lowlight;
