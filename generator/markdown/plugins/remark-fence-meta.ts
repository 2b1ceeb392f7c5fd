import type { Root } from 'mdast';
import { walk } from './walk.ts';

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

/** Keeps the title and the marked lines of code blocks as attributes, which {@link rehypeCodeLines} reads after the sanitiser. */
export function remarkFenceMeta() {
  return (tree: Root): void => {
    walk(tree, (node) => {
      if (node.type !== 'code' || !node.meta) return;
      const { title, lines } = parseFenceMeta(node.meta, countLines(node.value));
      const hProperties = {
        ...(title && { dataTitle: title }),
        ...(lines.size > 0 && { dataLines: [...lines].join(',') }),
      };
      node.data = { ...node.data, hProperties };
    });
  };
}

/** The number of lines of a code block. */
export function countLines(code: string): number {
  return code.split('\n').length;
}

/** A title, the content of braces, or a word, which may be meant for other programs. */
const part = /title=(?:"([^"]*)"|'([^']*)'|(\S*))|\{([^{}]*)\}|\S+/g;

/** Parses the meta of a code block with a number of lines. What other programs read is ignored. */
export function parseFenceMeta(meta: string, lineCount: number): FenceMeta {
  let title = '';
  const lines = new Set<number>();
  const faults: FenceFault[] = [];
  for (const { index: offset, 0: text, 1: double, 2: single, 3: bare = '', 4: ranges = '' } of meta.matchAll(part)) {
    const [, quote] = /^title=(["'])/.exec(text) ?? [];
    if (quote && bare !== '') {
      const message = 'the title of the code block has no closing quote';
      faults.push({ offset, message, hint: `write title=${quote}...${quote}` });
    } else if (text.startsWith('title=')) {
      title = (double ?? single ?? bare).trim();
    } else if (/^\{\d[^}]*$/.test(text)) {
      faults.push({ offset, message: 'the line numbers have no closing brace', hint: `write ${text}}` });
    } else if (/^\s*\d/.test(ranges)) {
      faults.push(...addLines(ranges, offset + 1, lineCount, lines));
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
