import { KnowledgeBaseFrontMatter } from '#contract/knowledge-base.ts';
import type { KnowledgeBaseSummary } from '#contract/knowledge-base.ts';
import { compareText } from '../../source/diagnostics.ts';
import type { Collection } from './collection.ts';

/** The knowledge base: articles by title, in one list and in one for each category. */
export const knowledgeBase: Collection<KnowledgeBaseFrontMatter, KnowledgeBaseSummary> = {
  folder: 'knowledgebase',
  frontMatter: KnowledgeBaseFrontMatter,
  articleResource: 'knowledgeBaseArticle',
  dueOn: () => undefined,
  media: () => ({}),
  findMistakes: () => [],
  toItem: ({ title, description }, { path, category }) => ({ title, description, path, category }),
  compare: (a, b) => compareText(a.title, b.title) || compareText(a.path, b.path),
  toLists: (items) => {
    const categories = Map.groupBy(items, ({ path }) => path.split('/')[2]!);
    return [
      { resource: 'knowledgeBaseList', params: {}, items },
      ...[...categories].map(([category, own]) => ({
        resource: 'knowledgeBaseCategory' as const,
        params: { category },
        items: own,
      })),
    ];
  },
};
