import { createRequire } from 'node:module';
import type { Root, Text } from 'hast';
import type rehypeRaw from 'rehype-raw';
import type { VFile } from 'vfile';
import { walk } from './walk.ts';

/**
 * Parses the raw HTML of an article into elements, as a browser would. Most articles hold none, and then the tree
 * is left as it is: parsing costs a fifth of a whole render.
 */
export function rehypeRawHtml() {
  return (tree: Root, file: VFile): Root => {
    let raw = false;
    const firstTexts: Text[] = [];
    walk(tree, (node) => {
      raw ||= node.type === 'raw';
      if (node.type !== 'element' || node.tagName !== 'pre') return;
      const [code] = node.children;
      const text = code?.type === 'element' ? code.children[0] : undefined;
      if (text?.type === 'text' && text.value.startsWith('\n')) firstTexts.push(text);
    });
    if (!raw) return tree;
    // The parser drops a line break at the start of `pre`, as HTML asks for; one that begins a code block is text.
    for (const text of firstTexts) text.value = `\n${text.value}`;
    parse ??= (createRequire(import.meta.url)('rehype-raw') as { default: typeof rehypeRaw }).default();
    return parse(tree, file);
  };
}

/** Loaded when the first article asks for it: with the parser of HTML, it takes a fifth of the time that the pipeline takes to load. */
let parse: ReturnType<typeof rehypeRaw> | undefined;
