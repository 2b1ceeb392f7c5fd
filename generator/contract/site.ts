import { z } from 'zod';
import examples from '#contract/examples.json' with { type: 'json' };
import {
  BlogPath,
  HttpsUrl,
  IsoDate,
  KnowledgeBasePath,
  Line,
  MediaPath,
  Slug,
  Tags,
  schemas,
} from '#contract/primitives.ts';

/** A category that has articles. */
export const CategoryItem = z
  .strictObject({
    slug: Slug.describe('Its part of the paths of its articles, and the value of the parameter category.'),
    name: z.string().describe('Display name of the category.'),
    count: z.int().min(1).describe('Number of its articles.'),
  })
  .register(schemas, { id: 'CategoryItem', description: 'A category that has articles.' });
export type CategoryItem = z.infer<typeof CategoryItem>;

/** The categories of the blog, sorted by name. */
export const BlogCategories = z.array(CategoryItem).register(schemas, {
  id: 'BlogCategories',
  description: 'The categories of the blog that have articles, sorted by name.',
  example: examples.listBlogCategories,
});

/** The categories of the knowledge base, sorted by name. */
export const KnowledgeBaseCategories = z.array(CategoryItem).register(schemas, {
  id: 'KnowledgeBaseCategories',
  description: 'The categories of the knowledge base that have articles, sorted by name.',
  example: examples.listKnowledgeBaseCategories,
});

/** The shape of an index entry, for a kind of article whose paths match the schema. */
function indexItemOf<Path extends z.ZodString>(path: Path) {
  return z.strictObject({
    path: path.describe('Path of the article.'),
    previous: path
      .nullable()
      .describe('Path of the article before it in the list of its category; null for the first one.'),
    next: path.nullable().describe('Path of the article after it in the list of its category; null for the last one.'),
    related: z
      .array(path)
      .max(5)
      .describe('Paths of up to five related articles: most common tags first, then neighbours in its category.'),
    tags: Tags.describe('Its tags.'),
    updated: IsoDate.nullable().describe('Day of the last significant change, YYYY-MM-DD; null if there is none.'),
  });
}

/** An entry of the index of a blog category. */
export const BlogIndexItem = indexItemOf(BlogPath).register(schemas, {
  id: 'BlogIndexItem',
  description: 'What surrounds a blog article: its neighbours, related articles, tags.',
});
export type BlogIndexItem = z.infer<typeof BlogIndexItem>;

/** The index of a blog category, in the order of its list. */
export const BlogIndex = z.array(BlogIndexItem).register(schemas, {
  id: 'BlogIndex',
  description: 'What surrounds each article of a blog category, newest first.',
  example: examples.getBlogIndex,
});

/** An entry of the index of a knowledge base category. */
export const KnowledgeBaseIndexItem = indexItemOf(KnowledgeBasePath).register(schemas, {
  id: 'KnowledgeBaseIndexItem',
  description: 'What surrounds a knowledge base article: its neighbours, related articles, tags.',
});

/** The index of a knowledge base category, in the order of its list. */
export const KnowledgeBaseIndex = z.array(KnowledgeBaseIndexItem).register(schemas, {
  id: 'KnowledgeBaseIndex',
  description: 'What surrounds each article of a knowledge base category, sorted by title.',
  example: examples.getKnowledgeBaseIndex,
});

/** An author of blog articles. */
export const AuthorItem = z
  .strictObject({
    name: z.string().describe('Name of the author, as in the articles.'),
    picture: MediaPath.nullable().describe('Path of a picture, starting with /media/; null if there is none.'),
    url: HttpsUrl.nullable().describe('A page about the author; null if there is none.'),
    count: z.int().min(1).describe('Number of articles.'),
  })
  .register(schemas, { id: 'AuthorItem', description: 'An author of blog articles.' });

/** The authors of blog articles, sorted by name. */
export const AuthorList = z.array(AuthorItem).register(schemas, {
  id: 'AuthorList',
  description: 'The authors of blog articles, sorted by name.',
  example: examples.listBlogAuthors,
});

/** The `authors.yaml` of content/. */
export const Authors = z
  .record(
    Line,
    z.strictObject({
      picture: MediaPath.optional().describe('Path of a picture, starting with /media/.'),
      url: HttpsUrl.optional().describe('A page about the author, which begins with https://.'),
    }),
  )
  .describe('The authors of blog articles, by name.');
export type Authors = z.infer<typeof Authors>;
