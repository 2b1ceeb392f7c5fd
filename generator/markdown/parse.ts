import type { Root } from 'mdast';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { unified } from 'unified';
import type { Processor } from 'unified';
import { walk } from './plugins/walk.ts';

/** Parses GitHub-flavoured Markdown. */
export function parseMarkdown(markdown: string): Root {
  const unused = costlyConstructs.filter(({ pattern }) => !pattern.test(markdown)).map(({ construct }) => construct);
  const key = unused.join();
  const parser = parsers.get(key) ?? createParser(unused);
  parsers.set(key, parser);
  return parser.parse(markdown);
}

/** Constructs that remark-gfm tries at each word or line; leaving out unused ones saves a quarter of the parse time. */
const costlyConstructs = [
  { construct: 'emailAutolink', pattern: /[\w.+-]@[\w.-]/ },
  { construct: 'protocolAutolink', pattern: /https?:\/\//i },
  { construct: 'wwwAutolink', pattern: /www\./i },
  // The delimiter row: dashes next to a pipe or colon, after the markers of enclosing lists and quotes.
  { construct: 'table', pattern: /^[\t >*+\d.)-]*(?:[|:][\t |:]*-|-[\t ]*[|:])[\t |:-]*$/m },
];

const parsers = new Map<string, Processor<Root>>();

function createParser(unused: readonly string[]): Processor<Root> {
  const parser = unified().use(remarkParse).use(remarkGfm, { singleTilde: false }).freeze();
  const { micromarkExtensions = [], fromMarkdownExtensions = [] } = parser.data();
  // Disabled constructs would still end a text at each of their characters.
  for (const { text = {}, flow = {} } of micromarkExtensions)
    for (const map of [text, flow])
      for (const [code, list] of Object.entries(map))
        map[code] = [list ?? []].flat().filter(({ name = '' }) => !unused.includes(name));
  for (const extension of fromMarkdownExtensions.flat()) {
    extension.transforms = extension.transforms?.map(
      (transform) => (tree) => (mayContainAddress(tree) ? transform(tree) : undefined),
    );
  }
  return parser;
}

/** Checks whether a text may contain an address; if not, remark-gfm's autolink transform is unnecessary. */
function mayContainAddress(tree: Root): boolean {
  let found = false;
  walk(tree, (node) => {
    if (node.type === 'text') found ||= /@|:\/\/|www\./i.test(node.value);
    return node.type === 'link' || node.type === 'linkReference' ? false : undefined;
  });
  return found;
}
