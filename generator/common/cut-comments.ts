import { isMap, isPair, isScalar, isSeq, visit } from 'yaml';
import type { Document, Node, Pair } from 'yaml';

/** A text that ends at a `#`, since YAML reads the rest of the line as a comment. */
export interface CutText {
  /** The path of keys to the text. */
  readonly path: readonly PropertyKey[];
  /** The offset of the text, and of its `#`. */
  readonly start: number;
  readonly offset: number;
  /** What is left of the text: empty if it begins with the `#`. */
  readonly kept: string;
  readonly comment: string;
}

/** Finds texts that a comment cuts off. A real comment has a space after its `#`. */
export function findCutTexts(document: Document.Parsed, text: string): CutText[] {
  const found: CutText[] = [];
  visit(document, {
    Scalar(role, node, ancestors) {
      const isText = typeof node.value === 'string' && node.type === 'PLAIN';
      if (role === 'key' || !node.range || !(isText || node.value === null)) return;
      const [start, end] = node.range;
      const newline = text.indexOf('\n', end);
      const line = text.slice(end, newline < 0 ? undefined : newline);
      const [, space, comment] = /^([ \t]*)(#[\p{L}\p{N}].*)$/u.exec(line) ?? [];
      if (space === undefined || comment === undefined) return;
      const path = pathOf([...ancestors, node]);
      const kept = isText ? text.slice(start, end) : '';
      found.push({ path, start, offset: end + space.length, kept, comment: comment.trim() });
    },
  });
  return found;
}

/** The path of keys that leads through nodes, of which each contains the next. */
function pathOf(nodes: readonly (Document | Node | Pair)[]): PropertyKey[] {
  return nodes.flatMap((node, index): PropertyKey[] => {
    const next = nodes[index + 1];
    if (isSeq(node)) return [node.items.indexOf(next)];
    if (!isMap(node) || !isPair(next)) return [];
    return [String(isScalar(next.key) ? next.key.value : next.key)];
  });
}
