import type { Root } from 'mdast';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { unified } from 'unified';
import type { Processor } from 'unified';
import { walk } from './plugins/walk.ts';

/** Parses GitHub-flavoured Markdown. */
export function parseMarkdown(markdown: string): Root {
  const needless = costly.filter(({ pattern }) => !pattern.test(markdown)).map(({ construct }) => construct);
  const key = needless.join();
  const parser = parsers.get(key) ?? createParser(needless);
  parsers.set(key, parser);
  return parser.parse(markdown);
}

/**
 * The constructs that remark-gfm tries at each word or line, over a quarter of the time of parsing, and what a text matches
 * that holds one. Most hold none.
 */
const costly = [
  { construct: 'emailAutolink', pattern: /[\w.+-]@[\w.-]/ },
  { construct: 'protocolAutolink', pattern: /https?:\/\//i },
  { construct: 'wwwAutolink', pattern: /www\./i },
  // The row of dashes next to a pipe or colon, behind the marks of the lists and quotes that the table stands in.
  { construct: 'table', pattern: /^[\t >*+\d.)-]*(?:[|:][\t |:]*-|-[\t ]*[|:])[\t |:-]*$/m },
];

const parsers = new Map<string, Processor<Root>>();

function createParser(needless: readonly string[]): Processor<Root> {
  const parser = unified().use(remarkParse).use(remarkGfm).freeze();
  const { micromarkExtensions = [], fromMarkdownExtensions = [] } = parser.data();
  for (const { text = {}, flow = {} } of micromarkExtensions) {
    for (const map of [text, flow]) {
      for (const [code, list] of Object.entries(map)) {
        map[code] = [list ?? []].flat().filter(({ name = '' }) => !needless.includes(name));
      }
    }
  }
  for (const extension of fromMarkdownExtensions.flat()) {
    extension.transforms = extension.transforms?.map(
      (transform) => (tree) => (mayHoldAddress(tree) ? transform(tree) : undefined),
    );
  }
  return parser;
}

/** Whether the one transform of remark-gfm, which searches the text for addresses to make links of, can find any. */
function mayHoldAddress(tree: Root): boolean {
  let found = false;
  walk(tree, (node) => {
    if (node.type === 'text') found ||= /@|:\/\/|www\./i.test(node.value);
    return node.type === 'link' || node.type === 'linkReference' ? false : undefined;
  });
  return found;
}
