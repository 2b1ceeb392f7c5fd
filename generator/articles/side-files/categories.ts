import type { CategoryItem } from '#contract/site.ts';
import { compareText } from '../../source/diagnostics.ts';
import type { Article } from '../article.ts';
import { toFile } from './side-file.ts';
import type { SideFile } from './side-file.ts';

/** The categories that have articles, for the navigation of a website. */
export const categories: SideFile = ({ blog, knowledgeBase }) => [
  toFile('blogCategories', toCategories(blog)),
  toFile('knowledgeBaseCategories', toCategories(knowledgeBase)),
];

function toCategories(articles: readonly Article[]): CategoryItem[] {
  return [...Map.groupBy(articles, ({ folder }) => folder.slug)]
    .map(([slug, own]) => ({ slug, name: own[0]!.metadata.category, count: own.length }))
    .toSorted((a, b) => compareText(a.name, b.name) || compareText(a.slug, b.slug));
}
