import type { Article } from './article.ts';
import type { ListItem } from './collections/collection.ts';
import type { CategoryFolder } from './content.ts';

/** A category of a build, and what the rest of it asks: told once, as to ask each of ten thousand articles takes long. */
export interface CompiledCategory {
  readonly folder: CategoryFolder;
  /** In the order of their files; those that cannot be compiled are left out. */
  readonly articles: readonly Article[];
  /** What lists show: the items of those that are published. */
  readonly items: readonly ListItem[];
  /** Those that have former paths. */
  readonly moved: readonly Article[];
  readonly drafts: number;
  /** The days, YYYY-MM-DD, on which those are due that are scheduled. */
  readonly due: readonly string[];
}

/** Sums up the articles of a category. */
export function toCategory(folder: CategoryFolder, articles: readonly Article[]): CompiledCategory {
  const of = (wanted: Article['state']) => articles.filter(({ state }) => state === wanted);
  return {
    folder,
    articles,
    items: of('published').map(({ outline }) => outline.item),
    moved: articles.filter(({ outline }) => outline.aliases.length > 0),
    drafts: of('draft').length,
    due: of('scheduled').map(({ outline }) => outline.due!),
  };
}
