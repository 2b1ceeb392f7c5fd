import { z } from 'zod';
import examples from '#contract/examples.json' with { type: 'json' };
import { articleFileOf, frontMatterOf } from '#contract/content.ts';
import type { ServedFile } from '#contract/endpoint.ts';
import { articleText, BlogPath, IsoDate, Line, MediaPath, schemas, object } from '#contract/primitives.ts';

/** An entry of the blog list. */
export const ContentItem = object('ContentItem', 'A blog article in the list.', {
  title: z.string().describe('Title of the article.'),
  description: z.string().describe('One or two sentences for lists and search engines.'),
  path: BlogPath.describe('Path of the article, for /v1/blog/article and for links.'),
  category: z.string().describe('Display name of the category.'),
  date: IsoDate.describe('Day of publication, YYYY-MM-DD.'),
  author: z.string().describe('Name of the author.'),
  readTime: z
    .string()
    .regex(/^[1-9][0-9]* min read$/)
    .describe('Time to read the article, in whole minutes.'),
  cover: MediaPath.describe('Path of the cover image, starting with /media/.'),
});
export type ContentItem = z.infer<typeof ContentItem>;

/** A blog article with its Markdown and its HTML. */
export const ContentArticle = object(
  'ContentArticle',
  'A blog article, with Markdown in body and rendered HTML in html.',
  { ...ContentItem.shape, ...articleText },
  examples.getBlogArticle,
);
export type ContentArticle = z.infer<typeof ContentArticle>;

/** The blog list, newest first; articles of the same day are ordered by path. */
export const ContentList = z.array(ContentItem).register(schemas, {
  id: 'ContentList',
  description: 'All blog articles, newest first.',
  example: examples.listBlogArticles,
});

/** The front matter of `content/blog/<category>/<slug>.md`. */
export const BlogFrontMatter = frontMatterOf('blog', {
  date: IsoDate.describe('Day of publication, YYYY-MM-DD. Until that day (UTC) the article is not published.'),
  author: Line.describe('Name of the author.'),
  cover: MediaPath.describe('Path of the cover image, starting with /media/.'),
});
export type BlogFrontMatter = z.infer<typeof BlogFrontMatter>;

/** The static files of blog articles, and the style of all articles. */
export const blogFiles = {
  getArticleStyle: {
    file: 'public/v1/article.css',
    path: '/v1/article.css',
    tag: 'Blog',
    summary: 'The style of the html of articles, light and dark, for an element of class markdown-body',
    description: 'It is for articles of the knowledge base too.',
    mediaType: 'text/css; charset=utf-8',
    reply: 'The style sheet.',
    failure: 'internal_error',
  },
  listBlogArticles: {
    file: 'public/v1/blog/list.json',
    path: '/v1/blog/list',
    tag: 'Blog',
    summary: 'All blog articles, newest first',
    description: 'Articles of the same day are sorted by path. The text of an article is at /v1/blog/article.',
    schema: ContentList,
    reply: 'The list.',
  },
  getBlogArticle: {
    ...articleFileOf('blog', examples.getBlogArticle.path),
    file: 'public/v1/blog/article/{category}/{slug}.json',
    path: '/v1/blog/article',
    target: '/v1/blog/article?path=/blog/{category}/{slug}',
    tag: 'Blog',
    summary: 'A blog article, by its path or a former path',
    schema: ContentArticle,
  },
} as const satisfies Record<string, ServedFile>;
