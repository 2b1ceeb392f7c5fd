import type { Root } from 'mdast';
import { walk } from './plugins/walk.ts';

/** Markdown that cannot be rendered; `line` is a line of the body, counted from 1. */
export class MarkdownError extends Error {
  readonly line: number;
  readonly hint: string;
  constructor(message: string, line: number, hint: string) {
    super(message);
    this.name = 'MarkdownError';
    this.line = line;
    this.hint = hint;
  }
}

/** The micromark tokenizer is quadratic in the nesting: 300 levels take 1.5 s, 1,500 half a minute. */
const maxNesting = 100;

/** Of 1,000 real articles, the maximum is 34,485 marks in 320 kB; 120,000 can take more than 1 GiB of memory. */
const maxMarks = 60_000;

/** The largest table of 1,000 real articles has 484 cells. The parser pads short rows to the width of the first. */
const maxTableCells = 10_000;

/** Checks the size and nesting of an article before it is parsed. Throws a {@link MarkdownError}. */
export function checkMarkup(markdown: string): void {
  const line = findDeepNesting(markdown);
  if (line > 0) {
    throw new MarkdownError(`lists or quotes are nested more than ${maxNesting} levels deep`, line, 'flatten them');
  }
  // A shorter text cannot exceed the limit.
  if (markdown.length <= maxMarks) return;
  const marks = markdown.match(/[\n#*+\-<>[\]_`|~]/g)?.length ?? 0;
  if (marks > maxMarks) {
    const message = `the article has ${marks} lines and marks of Markdown, more than the limit of ${maxMarks}`;
    throw new MarkdownError(message, 1, 'split it up');
  }
}

/** Checks the tables of a parsed article. Throws a {@link MarkdownError}. */
export function checkTables(tree: Root): void {
  walk(tree, (node) => {
    if (node.type !== 'table') return;
    const { children, position } = node;
    const cells = children.length * (children[0]?.children.length ?? 0);
    if (cells <= maxTableCells) return;
    const message = `the table has ${cells} cells, more than the limit of ${maxTableCells}`;
    throw new MarkdownError(message, position?.start.line ?? 1, 'split it up');
  });
}

const container = /[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$))/y;

/** Matches the beginning of a line that may nest too deeply. Most texts have none and need no check by line. */
const longPrefix = /^[\t >*+\d.)-]{100}/m;

/** Finds the first line that opens more than {@link maxNesting} lists and quotes, counted from 1; 0 if there is none. */
function findDeepNesting(markdown: string): number {
  if (!longPrefix.test(markdown)) return 0;
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
