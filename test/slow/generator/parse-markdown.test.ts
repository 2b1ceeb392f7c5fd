import { test } from 'vitest';
import { compareRandom } from '../../generator/parse-reference.ts';

test('3,000 random combinations of texts are parsed as remark-gfm parses them', () => compareRandom(3000, 2));
