import type { Nodes as HtmlNodes } from 'hast';
import type { Nodes as MarkdownNodes } from 'mdast';

/**
 * Calls back for each node of a tree, a parent before its children. What the callback changes in `children` is walked
 * too; where it answers `false`, they are left out.
 */
export function walk(tree: HtmlNodes, enter: (node: HtmlNodes) => false | void): void;
export function walk(tree: MarkdownNodes, enter: (node: MarkdownNodes) => false | void): void;
// Each step of a render walks the tree. unist-util-visit, which names a function for the stack trace at each node, made that a seventh of it.
export function walk<Node>(tree: Node & { children?: Node[] }, enter: (node: Node) => false | void): void {
  if (enter(tree) === false || !tree.children) return;
  for (const child of tree.children) walk(child as never, enter as never);
}
