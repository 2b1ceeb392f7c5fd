import type { Root } from 'mdast';
import { walk } from './plugins/walk.ts';

const letterOrDigit = /[\p{L}\p{N}]/u;
/** Scripts written without spaces: each of their characters counts as a word. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu;
const wordsPerMinute = 200;

/** Counts the words of an article, without code and raw HTML. */
export function countWords(tree: Root): number {
  let prose = '';
  walk(tree, (node) => {
    if (node.type === 'text') prose += node.value;
    else if (!inline.has(node.type)) prose += ' ';
  });
  const characters = prose.match(unspaced)?.length ?? 0;
  if (characters > 0) prose = prose.replace(unspaced, '');
  return characters + prose.split(/\s+/).filter((token) => letterOrDigit.test(token)).length;
}

const inline = new Set(['emphasis', 'strong', 'delete', 'link', 'linkReference']);

/** The reading time of a number of words, at least one minute. */
export function toReadTime(words: number): string {
  return `${Math.max(1, Math.ceil(words / wordsPerMinute))} min read`;
}
