import type { Root as HtmlRoot } from 'hast';
import type { Root } from 'mdast';
import type { Finding } from '../../common/finding.ts';
import { walk } from '../plugins/walk.ts';
import { checkAlert, checkCells, checkCode, checkFootnotes, checkSublists, findConflicts } from './blocks.ts';
import { checkElements, checkRawHtml } from './html.ts';
import { startOf } from './linted.ts';
import type { Linted } from './linted.ts';
import { checkAddress } from './links.ts';
import { checkMarks, createTextChecks } from './text.ts';

/**
 * Finds probable mistakes in the article at a site path: in its Markdown, in which alerts are made already, and in its
 * elements, in which raw HTML is parsed already. Lines and columns are those of the body.
 */
export function lint(tree: Root, elements: HtmlRoot, source: string, sitePath: string): Finding[] {
  const found: (Pick<Finding, 'severity' | 'message' | 'hint'> & { readonly offset: number })[] = [];
  const starts = [0, ...Array.from(source.matchAll(/\n/g), ({ index }) => index + 1)];
  const article: Linted = {
    source,
    sitePath,
    sourceOf: ({ position }) => source.slice(position?.start.offset ?? 0, position?.end.offset ?? 0),
    warn(place, message, hint) {
      const offset = typeof place === 'number' ? place : starts[place.line - 1]! + place.column - 1;
      found.push({ severity: 'warning', message, hint, offset });
    },
  };
  const checkText = createTextChecks(article);
  const code: (readonly [from: number, to: number])[] = [];
  // The raw HTML at its offsets, with spaces between: in lists and quotes it lacks the indentation and marks of its lines.
  let raw = '';
  walk(tree, (node) => {
    if (node.type === 'paragraph' || node.type === 'heading' || node.type === 'tableCell') checkText(node);
    else if (node.type === 'link' || node.type === 'image' || node.type === 'definition') checkAddress(node, article);
    else if (node.type === 'blockquote') checkAlert(node, article);
    else if (node.type === 'table') checkCells(node, article);
    else if (node.type === 'text') checkMarks(node, article);
    else if (node.type === 'html') {
      raw = raw.padEnd(startOf(node)) + node.value;
      checkRawHtml(node, article);
    } else if (node.type === 'code') {
      checkCode(node, article);
      code.push([startOf(node), node.position?.end.offset ?? 0]);
    }
    if ('children' in node) checkSublists(node, article);
  });
  checkFootnotes(tree, article);
  checkElements(elements, raw, article);
  // Between conflict markers the text is not what its author means.
  const conflicts = findConflicts(source, code);
  let line = 1;
  return (conflicts.length > 0 ? conflicts : found)
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ offset, ...finding }) => {
      while (starts[line]! <= offset) line += 1;
      return { ...finding, line, column: offset - starts[line - 1]! + 1 };
    });
}
