import { KnowledgeBaseFrontMatter } from '#contract/knowledge-base.ts';
import type { KnowledgeBaseSummary } from '#contract/knowledge-base.ts';
import { compareText } from '../../source/diagnostics.ts';
import type { Collection } from './collection.ts';

/** The knowledge base: articles by title. */
export const knowledgeBase: Collection<KnowledgeBaseFrontMatter, KnowledgeBaseSummary> = {
  folder: 'knowledgebase',
  frontMatter: KnowledgeBaseFrontMatter,
  articleFile: 'getKnowledgeBaseArticle',
  dueOn: () => undefined,
  media: () => ({}),
  findMistakes: () => [],
  toListed: ({ title, description }, { path, category }) => ({ title, description, path, category }),
  compare: (a, b) => compareText(a.title, b.title) || compareText(a.path, b.path),
};
