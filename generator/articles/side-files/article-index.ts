import type { Article } from '../article.ts';
import { findRelated } from './related.ts';
import { toFile } from './side-file.ts';
import type { SideFile, TextFile } from './side-file.ts';

/** What surrounds each article, in a file for each category: neighbours, related articles, tags, the last change. */
export const articleIndex: SideFile = ({ blog, knowledgeBase }) => [
  ...toIndexes('blogIndex', blog),
  ...toIndexes('knowledgeBaseIndex', knowledgeBase),
];

function toIndexes(name: 'blogIndex' | 'knowledgeBaseIndex', articles: readonly Article[]): TextFile[] {
  const related = findRelated(
    articles.map(({ path, folder, metadata }) => ({ path, category: folder.slug, tags: metadata.tags })),
  );
  const relatedTo = new Map(articles.map(({ path }, at) => [path, related[at]!]));
  return [...Map.groupBy(articles, ({ folder }) => folder.slug)].map(([category, own]) => {
    const entries = own.map(({ path, metadata: { tags, updated = null } }, at) => ({
      path,
      previous: own[at - 1]?.path ?? null,
      next: own[at + 1]?.path ?? null,
      related: relatedTo.get(path)!,
      tags,
      updated,
    }));
    return toFile(name, entries, { category });
  });
}
