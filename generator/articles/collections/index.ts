import { blog } from './blog.ts';
import type { AnyCollection } from './collection.ts';
import { knowledgeBase } from './knowledge-base.ts';

/** Every kind of article. */
export const collections: readonly AnyCollection[] = [blog, knowledgeBase];
