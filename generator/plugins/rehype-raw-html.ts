import type { Root } from 'hast';
import rehypeRaw from 'rehype-raw';
import { EXIT, visit } from 'unist-util-visit';
import type { VFile } from 'vfile';

/**
 * Parses the raw HTML of an article into elements, as a browser would. Most articles hold none, and then the tree
 * is left as it is: parsing costs a fifth of a whole render.
 */
export function rehypeRawHtml() {
  const parse = rehypeRaw();
  return (tree: Root, file: VFile): Root => {
    let raw = false;
    visit(tree, 'raw', () => {
      raw = true;
      return EXIT;
    });
    if (!raw) return tree;
    keepFirstLineBreaks(tree);
    return parse(tree, file);
  };
}

/** The parser drops a line break at the start of `pre`, as HTML asks for; one that begins a code block is text. */
function keepFirstLineBreaks(tree: Root): void {
  visit(tree, 'element', ({ tagName, children: [child] }) => {
    const text = tagName === 'pre' && child?.type === 'element' ? child.children[0] : undefined;
    if (text?.type === 'text' && text.value.startsWith('\n')) text.value = `\n${text.value}`;
  });
}
