import type { z } from 'zod';
import { BlogFrontMatter, KnowledgeBaseFrontMatter } from '#contract/articles.ts';
import type { ContentItem, KnowledgeBaseSummary } from '#contract/articles.ts';
import type { StaticFileName } from '#contract/endpoints.ts';
import { toReadTime } from '../markdown/text.ts';
import { compareText } from '../source/diagnostics.ts';

/** The front matter of any kind of article. */
export type FrontMatter = KnowledgeBaseFrontMatter & Partial<Pick<BlogFrontMatter, 'date' | 'author' | 'cover'>>;

/** An article in a list. */
export interface ListedArticle {
  readonly path: string;
}

/** A kind of article: its folder, its front matter and its list items. */
interface Collection<Fields extends FrontMatter, Item extends ListedArticle> {
  /** Its folder in content/, and the first segment of its paths. */
  readonly folder: string;
  readonly frontMatter: z.ZodType<Fields>;
  readonly articleFile: StaticFileName;
  /** The list item; the article is the same with `body` and `html`. `words` is the number of words of prose. */
  toListed(frontMatter: Fields, facts: { path: string; category: string; words: number }): Item;
  /** The order of lists; no two articles compare as equal. */
  compare(a: Item, b: Item): number;
}

/** Any kind of article. */
export type AnyCollection = Collection<FrontMatter, ListedArticle>;

/** The blog: dated articles with an author and a cover, newest first. */
export const blog: Collection<BlogFrontMatter, ContentItem> = {
  folder: 'blog',
  frontMatter: BlogFrontMatter,
  articleFile: 'getBlogArticle',
  toListed: ({ title, description, date, author, cover }, { path, category, words }) => ({
    title,
    description,
    path,
    category,
    date,
    author,
    readTime: toReadTime(words),
    cover,
  }),
  compare: (a, b) => compareText(b.date, a.date) || compareText(a.path, b.path),
};

/** The knowledge base: articles by title. */
export const knowledgeBase: Collection<KnowledgeBaseFrontMatter, KnowledgeBaseSummary> = {
  folder: 'knowledgebase',
  frontMatter: KnowledgeBaseFrontMatter,
  articleFile: 'getKnowledgeBaseArticle',
  toListed: ({ title, description }, { path, category }) => ({ title, description, path, category }),
  compare: (a, b) => compareText(a.title, b.title) || compareText(a.path, b.path),
};

/** Every kind of article. */
export const collections: readonly AnyCollection[] = [blog, knowledgeBase];
