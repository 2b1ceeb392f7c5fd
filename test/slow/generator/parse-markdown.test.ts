import { expect, test } from 'vitest';
import { findDifferences } from '../../generator/parse-reference.ts';

test('3,000 random combinations of texts are parsed as remark-gfm parses them', { timeout: 180_000 }, () => {
  expect(findDifferences(3000, 2)).toEqual([]);
});
