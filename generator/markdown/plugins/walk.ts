import type { Nodes as HtmlNodes } from 'hast';
import type { Nodes as MarkdownNodes } from 'mdast';

/** Calls `enter` for each node, a parent before its children; if it returns `false`, the children are skipped. */
export function walk(tree: HtmlNodes, enter: (node: HtmlNodes) => false | void): void;
export function walk(tree: MarkdownNodes, enter: (node: MarkdownNodes) => false | void): void;
// Not unist-util-visit: it names a function for the stack trace at each node, which took a seventh of a render.
export function walk<Node>(tree: Node & { children?: Node[] }, enter: (node: Node) => false | void): void {
  if (enter(tree) === false || !tree.children) return;
  for (const child of tree.children) walk(child as never, enter as never);
}
