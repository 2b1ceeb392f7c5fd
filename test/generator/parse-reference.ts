import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { unified } from 'unified';
import { parseMarkdown } from '../../generator/markdown/parse.ts';
import { createRandom } from '../bench/corpus.ts';

/** The reference parser. */
export const reference = unified().use(remarkParse).use(remarkGfm, { singleTilde: false }).freeze();

/** Texts that our extended parser could read differently. */
export const texts = [
  'a@b.c',
  'a@.b.c x',
  '+._-@-.a',
  '/a@b.c',
  'mailto:a@b.c xmpp:a@b.c/d',
  'a&#64;b.c',
  'a\\@b.c',
  '(A@B.C)',
  '@a.b',
  'www.a.b',
  'WWW.A.B',
  '[www.a.b]',
  '[www.a.b](c)',
  '*www.a.b*',
  '//www.a.b',
  'http://a.b',
  '"HTTPS://a.b/c?d=(e)."',
  'http&#58;//a.b',
  '<http://a.b>',
  '[http://a.b](c)',
  '[x](http://a.b)',
  '`http://a.b www.a.b a@b.c`',
  'a\n:-',
  'a\n-:',
  'a\n-|',
  'a\n|-',
  'a\n:-:',
  'a\n-',
  'a\n |:- ',
  'a|b\n-|-',
  'a|b\n- | -\nc|d',
  '|a|\n|-|\n|a@b.c http://a.b www.a.b|',
  'a|b\r\n:-|-:\r\n',
  '> a|b\n> -|-\n> c|d',
  '> > a\n> > :-',
  '- a|b\n  -|-',
  '- a|b\n-|-',
  '1. a\n   :-',
  '1) > a|b\n   > -|-',
  'x\na|b\n-|-',
  'a|b\n\t-|-',
  'a|b\n    -|-',
  'a\\|b\n-|-',
  'a|b\n-|x',
  'a|b\n',
  '~~a~~ [^1] - [ ] x\n\n[^1]: a@b.c',
  '- [x] a@b.c',
  '# a@b.c | http://a.b',
  '---',
  '***',
  '\t- | -',
];

/** Finds random combinations of texts that the two parsers read differently. */
export function findDifferences(count: number, seed: number): string[] {
  const found: string[] = [];
  const random = createRandom(seed);
  const next = (limit: number): number => Math.floor(random() * limit);
  const joints = ['', ' ', '\n', '\n', '\n\n', '\n> ', '\n- ', '\n  ', '\n    ', '|', '*', '[', '](', '(', '\\', ': '];
  const pick = (list: readonly string[]) => list[next(list.length)]!;
  for (let done = 0; done < count; done += 1) {
    let markdown = pick(joints);
    for (let length = next(6); length >= 0; length -= 1) markdown += pick(texts) + pick(joints);
    const at = next(markdown.length);
    markdown = markdown.slice(0, at) + markdown.slice(at + next(4));
    if (JSON.stringify(parseMarkdown(markdown)) !== JSON.stringify(reference.parse(markdown))) found.push(markdown);
  }
  return found;
}
