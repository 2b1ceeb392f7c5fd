import { createRequire } from 'node:module';
import type { Root, Text } from 'hast';
import type rehypeRaw from 'rehype-raw';
import type { VFile } from 'vfile';
import { walk } from './walk.ts';

/**
 * Parses the raw HTML of an article into elements, as a browser would. Skips articles without any, which are most: parsing
 * takes a fifth of a render.
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
    // The HTML parser drops a line break at the start of `pre`; in a code block it is text and must stay.
    for (const text of firstTexts) text.value = `\n${text.value}`;
    parse ??= (createRequire(import.meta.url)('rehype-raw') as { default: typeof rehypeRaw }).default();
    return parse(tree, file);
  };
}

/** Loaded at first use: the HTML parser takes a fifth of the pipeline's load time. */
let parse: ReturnType<typeof rehypeRaw> | undefined;
