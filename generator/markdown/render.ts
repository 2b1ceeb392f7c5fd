import { parentPort, workerData } from 'node:worker_threads';
import type { Root } from 'mdast';
import rehypeSanitize from 'rehype-sanitize';
import rehypeStringify from 'rehype-stringify';
import remarkRehype from 'remark-rehype';
import { unified } from 'unified';
import { mapWithTimeLimit } from '#common/time-limit.ts';
import type { Finding } from '../common/finding.ts';
import { lint } from './lint/index.ts';
import { parseMarkdown } from './parse.ts';
import { keepFenceMeta, loadHighlighter } from './plugins/code.ts';
import { removeComments } from './plugins/comments.ts';
import { makeAlert, normaliseAddresses, rehypeRawHtml, safeHtml } from './plugins/html.ts';
import { addTrusted } from './plugins/trusted.ts';
import type { Targets } from './plugins/trusted.ts';
import { walk } from './plugins/walk.ts';

/** A rendered article; empty, with a single finding, if it has no text or exceeds a limit. */
export interface Rendered extends Targets {
  /** Sanitised HTML without scripts; sizes of pictures are placeholders. */
  readonly html: string;
  /** The Markdown without comments. */
  readonly body: string;
  readonly words: number;
  /** The findings; lines count from the start of the body. */
  readonly findings: readonly Finding[];
}

export type ArticleText = Readonly<Record<'markdown' | 'sitePath', string>>;

/** The limit of CPU time for an article; a real article of 320 kB with comments takes 1.2 s. */
const maxRenderMs = 5000;

/** Renders articles; parameter and result can be sent between threads. */
export function renderAll(articles: readonly ArticleText[]): Rendered[] {
  // Load modules outside of the time limit: after an aborted load, a module can never be loaded again.
  if (articles.some(({ markdown }) => /```|~~~|language-/.test(markdown))) loadHighlighter();
  return mapWithTimeLimit(articles, render, maxRenderMs).map((result) => {
    const message = `the article takes more than ${maxRenderMs / 1000} s to render`;
    return result ?? reject(message, 'look for very long lines, lists or tables, and split the article');
  });
}

/** Serves a render thread: each message is a list of articles. */
if (workerData === 'render') {
  parentPort?.on('message', (articles: ArticleText[]) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    parentPort!.postMessage(renderAll(articles));
  });
}

function reject(message: string, hint?: string, line = 1): Rendered {
  const findings = [{ severity: 'error' as const, line, column: 1, message, hint }];
  return { html: '', body: '', words: 0, findings, pictures: [], references: [], ids: [] };
}

const toElements = unified()
  .use(remarkRehype, { allowDangerousHtml: true, clobberPrefix: '' })
  .use(rehypeRawHtml)
  .freeze();
/** Runs before {@link addTrusted}, whose additions it would remove. */
const sanitiser = unified().use(rehypeSanitize, safeHtml).use(rehypeStringify).freeze();

function render({ markdown, sitePath }: ArticleText): Rendered {
  try {
    const excess = findExcessiveMarkup(markdown);
    if (excess) return excess;
    const tree = parseMarkdown(markdown);
    // Before other steps change the tree.
    const body = removeComments(markdown, tree, parseMarkdown);
    let largeTable: Rendered | undefined;
    walk(tree, (node) => {
      if (node.type === 'blockquote') makeAlert(node, markdown);
      else if (node.type === 'code') keepFenceMeta(node);
      else if (node.type === 'table') {
        const cells = node.children.length * (node.children[0]?.children.length ?? 0);
        if (cells <= maxTableCells) return;
        const message = `the table has ${cells} cells, more than the limit of ${maxTableCells}`;
        largeTable ??= reject(message, 'split it up', node.position?.start.line);
      }
    });
    if (largeTable) return largeTable;
    const words = countWords(tree);
    const elements = toElements.runSync(tree);
    const findings = lint(tree, elements, markdown, sitePath);
    normaliseAddresses(elements);
    const safe = sanitiser.runSync(elements);
    const targets = addTrusted(safe, sitePath);
    const html = sanitiser.stringify(safe);
    if (html === '') return reject('the article has no text');
    return { html, body, words, findings, ...targets };
  } catch (error) {
    // Thousands of nested elements overflow the stack.
    if (error instanceof RangeError) return reject('the article is nested too deeply', 'flatten it');
    throw error;
  }
}

/** The micromark tokenizer is quadratic in the nesting: 300 levels take 1.5 s, 1,500 take 30 s. */
const maxNesting = 100;
/** Real articles reach 34,485 marks in 320 kB; 120,000 marks can take more than 1 GiB of memory. */
const maxMarks = 60_000;
/** Real tables reach 484 cells. The parser pads short rows to the width of the first row. */
const maxTableCells = 10_000;

function findExcessiveMarkup(markdown: string): Rendered | undefined {
  const line = findDeepNesting(markdown);
  if (line > 0) return reject(`lists or quotes are nested more than ${maxNesting} levels deep`, 'flatten them', line);
  const marks = markdown.match(/[\n#*+\-<>[\]_`|~]/g)?.length ?? 0;
  if (marks <= maxMarks) return undefined;
  const message = `the article has ${marks} lines and marks of Markdown, more than the limit of ${maxMarks}`;
  return reject(message, 'split it up');
}

const container = /[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$))/y;

/** Finds the first line, from 1, that opens more than {@link maxNesting} lists and quotes; 0 if not found. */
function findDeepNesting(markdown: string): number {
  // Most texts have no line that could nest too deeply.
  if (!/^[\t >*+\d.)-]{100}/m.test(markdown)) return 0;
  let fence = '';
  for (const [index, line] of markdown.split('\n').entries()) {
    // Code blocks contain no lists or quotes.
    const [, mark = '', info = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (fence === '') fence = mark;
    else if (mark.startsWith(fence) && info.trim() === '') fence = '';
    if (fence !== '') continue;
    let depth = 0;
    let columns = 0;
    container.lastIndex = 0;
    for (let match = container.exec(line); match; match = container.exec(line)) {
      depth += 1;
      if (depth === 1) columns = match[0].length - 1;
    }
    // Each list level is indented by at least two columns.
    if (depth + columns / 2 > maxNesting) return index + 1;
  }
  return 0;
}

/** Scripts without spaces; each character counts as a word. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu;
/** Scripts without spaces whose words have several characters. */
const unspacedWords = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;
const segmenter = new Intl.Segmenter('th', { granularity: 'word' });
const separateWords = (run: string): string => Array.from(segmenter.segment(run), ({ segment }) => segment).join(' ');
const inline = new Set(['emphasis', 'strong', 'delete', 'link', 'linkReference']);

function countWords(tree: Root): number {
  let prose = '';
  walk(tree, (node) => {
    if (node.type === 'text') prose += node.value;
    else if (!inline.has(node.type)) prose += ' ';
  });
  const characters = prose.match(unspaced)?.length ?? 0;
  if (characters > 0) prose = prose.replace(unspaced, '');
  prose = prose.replace(unspacedWords, separateWords);
  return characters + prose.split(/\s+/).filter((token) => /[\p{L}\p{N}]/u.test(token)).length;
}
