import type { Nodes as HtmlNodes } from 'hast';
import type { Nodes as MarkdownNodes } from 'mdast';

/** Calls `enter` for each node, parents first; skips the children if `enter` returns `false`. */
export function walk(tree: HtmlNodes, enter: (node: HtmlNodes) => false | void): void;
export function walk(tree: MarkdownNodes, enter: (node: MarkdownNodes) => false | void): void;
// Not unist-util-visit, which took a seventh of a render: it names a function at each node for stack traces.
export function walk<Node>(tree: Node & { children?: Node[] }, enter: (node: Node) => false | void): void {
  if (enter(tree) === false || !tree.children) return;
  for (const child of tree.children) walk(child as never, enter as never);
}
