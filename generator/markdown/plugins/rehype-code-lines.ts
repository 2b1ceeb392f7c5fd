import type { Element, ElementContent, Root } from 'hast';
import { walk } from './walk.ts';

/**
 * Wraps the lines of a code block that has marked lines or is a diff in elements with the class names of Shiki: `line`,
 * `line highlighted`, `line diff add` and `line diff remove`. Moves its title to the `pre`. It runs after the highlighting.
 */
export function rehypeCodeLines() {
  return (tree: Root): void => {
    walk(tree, (pre) => {
      if (pre.type !== 'element') return;
      if (pre.tagName === 'pre') pre.children.filter(isCode).forEach((code) => decorate(pre, code));
      // Only code blocks have them.
      if (isCode(pre)) takeMeta(pre);
    });
  };
}

function isCode(node: ElementContent): node is Element {
  return node.type === 'element' && node.tagName === 'code';
}

/** Removes and returns what `remarkFenceMeta` has set. */
function takeMeta({ properties }: Element): { title: string; lines: ReadonlySet<number> } {
  const { dataTitle = '', dataLines = '' } = properties;
  delete properties.dataTitle;
  delete properties.dataLines;
  return { title: String(dataTitle), lines: new Set(String(dataLines).split(',').map(Number)) };
}

function decorate(pre: Element, code: Element): void {
  const isMarked = code.properties.dataLines !== undefined;
  const { title, lines } = takeMeta(code);
  if (title !== '') pre.properties.dataTitle = title;
  const { className } = code.properties;
  const isDiff =
    Array.isArray(className) && className.some((name) => name === 'language-diff' || name === 'language-patch');
  if ((!isMarked && !isDiff) || !code.children.every(isHighlighted)) return;
  const split = splitLines(code.children);
  // The line break of the last line is followed by nothing.
  if (split.at(-1)?.length === 0) split.pop();
  code.children = split.map((children, index) => ({
    type: 'element',
    tagName: 'span',
    properties: {
      className: ['line', ...(lines.has(index + 1) ? ['highlighted'] : []), ...(isDiff ? changeOf(children) : [])],
    },
    children,
  }));
}

/** Whether the highlighter made a node: deep elements of raw HTML would be copied once for each line. */
function isHighlighted(node: ElementContent): boolean {
  if (node.type !== 'element') return node.type === 'text';
  const { className } = node.properties;
  return Array.isArray(className) && String(className[0]).startsWith('hljs-') && node.children.every(isHighlighted);
}

/** The class names of a line of a diff. */
function changeOf([first]: readonly ElementContent[]): string[] {
  const names = first?.type === 'element' ? first.properties.className : undefined;
  if (!Array.isArray(names)) return [];
  if (names.includes('hljs-addition')) return ['diff', 'add'];
  return names.includes('hljs-deletion') ? ['diff', 'remove'] : [];
}

/** Splits nodes after each line break. An element that contains line breaks becomes one element in each of its lines. */
function splitLines(nodes: readonly ElementContent[]): ElementContent[][] {
  const lines: ElementContent[][] = [[]];
  for (const node of nodes) {
    for (const [index, part] of splitNode(node).entries()) {
      if (index > 0) lines.push([]);
      lines.at(-1)!.push(...part);
    }
  }
  return lines;
}

function splitNode(node: ElementContent): ElementContent[][] {
  if (node.type === 'text') {
    const texts = node.value.split('\n');
    const last = texts.pop()!;
    const ended = texts.map((value): ElementContent[] => [{ type: 'text', value: `${value}\n` }]);
    return [...ended, last === '' ? [] : [{ type: 'text', value: last }]];
  }
  if (node.type !== 'element' || node.children.length === 0) return [[node]];
  return splitLines(node.children).map((children) => (children.length === 0 ? [] : [{ ...node, children }]));
}
