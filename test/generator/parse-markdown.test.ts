import { expect, test } from 'vitest';
import { parseMarkdown } from '../../generator/markdown/parse.ts';
import { hostileMarkdown } from './hostile-markdown.ts';
import { findDifferences, reference, texts } from './parse-reference.ts';

test.each([...texts, ...Object.values(hostileMarkdown)])('a text is parsed as remark-gfm parses it: %j', (markdown) => {
  expect(parseMarkdown(markdown)).toEqual(reference.parse(markdown));
});

// test/slow/ compares ten times as many.
test('random combinations of texts are parsed as remark-gfm parses them', () => {
  expect(findDifferences(300, 1)).toEqual([]);
});
