import { z } from 'zod';
import { Aliases } from '#contract/content.ts';
import type { ServedFile } from '#contract/endpoint.ts';
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
  object,
} from '#contract/primitives.ts';

/** A category that has articles. */
export const CategoryItem = object('CategoryItem', 'A category that has articles.', {
  slug: Slug.describe('Its part of the paths of its articles, and the value of the parameter category.'),
  name: z.string().describe('Display name of the category.'),
  count: z.int().min(1).describe('Number of its articles.'),
});
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
export const AuthorItem = object('AuthorItem', 'An author of blog articles.', {
  name: z.string().describe('Name of the author, as in the articles.'),
  picture: MediaPath.nullable().describe('Path of a picture, starting with /media/; null if there is none.'),
  url: HttpsUrl.nullable().describe('A page about the author; null if there is none.'),
  count: z.int().min(1).describe('Number of articles.'),
});

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

/** What the two indexes have in common; `example` is the slug of a category. */
const indexOf = (kind: string, example: string) =>
  ({
    summary: 'Neighbours, related articles, tags and days of changes of the articles of one category',
    description: 'The order is that of the list. Tags and days of changes are here, not in the bodies of articles.',
    query: z.object({
      category: z.string().meta({
        description: `The slug of one category: the path segment after /${kind}/.`,
        example,
      }),
    }),
    missing: { code: 'validation_error', message: 'Query parameter category is required' },
    reply: 'The index; it is empty if the category does not exist.',
    problems: ['validation_error'],
    messages: { validation_error: 'Query parameter category is required' },
    absent: 'empty_list',
  }) as const satisfies Partial<ServedFile>;

/** The static files that a website needs with the articles. */
export const siteFiles = {
  getBlogFeed: {
    file: 'public/v1/blog/feed.xml',
    path: '/v1/blog/feed.xml',
    tag: 'Blog',
    summary: 'The newest 30 blog articles with their text, as an Atom feed',
    description:
      'All addresses in it are absolute: pages are on the website, media are on this service. It is missing if the operator has not set the address of the website or the one of this service.',
    mediaType: 'application/atom+xml; charset=utf-8',
    reply: 'An Atom 1.0 feed.',
    example: examples.getBlogFeed,
    absent: 'not_found',
    messages: { not_found: 'There is no feed' },
  },
  getSitemap: {
    file: 'public/v1/sitemap.xml',
    path: '/v1/sitemap.xml',
    tag: 'Website',
    summary: 'All articles of the website, for search engines',
    description:
      'Articles of the knowledge base too. lastmod is the day of the last significant change, else the day of publication, if there is one. It is missing if the operator has not set the address of the website.',
    mediaType: 'application/xml; charset=utf-8',
    reply: 'A sitemap by the protocol 0.9 of sitemaps.org.',
    example: examples.getSitemap,
    absent: 'not_found',
    messages: { not_found: 'There is no sitemap' },
  },
  listBlogCategories: {
    file: 'public/v1/blog/categories.json',
    path: '/v1/blog/categories',
    tag: 'Blog',
    summary: 'The categories of the blog, sorted by name',
    description: 'Only those that have articles.',
    schema: BlogCategories,
    reply: 'The categories.',
  },
  listKnowledgeBaseCategories: {
    file: 'public/v1/kb/categories.json',
    path: '/v1/kb/categories',
    tag: 'Knowledge base',
    summary: 'The categories of the knowledge base, sorted by name',
    description: 'Only those that have articles.',
    schema: KnowledgeBaseCategories,
    reply: 'The categories.',
  },
  getBlogIndex: {
    ...indexOf('blog', 'engineering'),
    file: 'public/v1/blog/index/{category}.json',
    path: '/v1/blog/index',
    target: '/v1/blog/index?category={category}',
    tag: 'Blog',
    schema: BlogIndex,
  },
  getKnowledgeBaseIndex: {
    ...indexOf('knowledgebase', 'domains-and-dns'),
    file: 'public/v1/kb/index/{category}.json',
    path: '/v1/kb/index',
    target: '/v1/kb/index?category={category}',
    tag: 'Knowledge base',
    schema: KnowledgeBaseIndex,
  },
  listBlogAuthors: {
    file: 'public/v1/blog/authors.json',
    path: '/v1/blog/authors',
    tag: 'Blog',
    summary: 'The authors of blog articles, sorted by name',
    description: 'Those that have articles, each with a picture and a page where there is one.',
    schema: AuthorList,
    reply: 'The authors.',
  },
  listRedirects: {
    file: 'public/v1/redirects.json',
    path: '/v1/redirects.json',
    tag: 'Website',
    summary: 'All former paths of articles, each with the present path',
    description: 'Of the knowledge base too: a website redirects from the former path to the present one.',
    schema: Aliases,
    reply: 'The present path of each former path.',
  },
} as const satisfies Record<string, ServedFile>;
