import { z } from 'zod';
import { BlogPath, IsoDate, Line, MediaPath, schemas } from '#contract/primitives.ts';

const item = {
  title: 'A new home in Helsinki',
  description: 'Our third location takes its first customers.',
  path: '/blog/company-news/helsinki',
  category: 'Company news',
  date: '2026-03-02',
  author: 'Marit de Wit',
  readTime: '3 min read',
  cover: '/media/covers/helsinki.svg',
};

/** An entry of the blog list. */
export const ContentItem = z
  .strictObject({
    title: z.string(),
    description: z.string(),
    path: BlogPath,
    category: z.string(),
    date: IsoDate,
    author: z.string(),
    readTime: z.string().regex(/^[1-9][0-9]* min read$/),
    cover: MediaPath,
  })
  .register(schemas, { id: 'ContentItem', description: 'A blog article as the list shows it.' });
export type ContentItem = z.infer<typeof ContentItem>;

/** A blog article with its Markdown and its HTML. */
export const ContentArticle = z
  .strictObject({ ...ContentItem.shape, body: z.string(), html: z.string() })
  .register(schemas, {
    id: 'ContentArticle',
    description: 'A blog article: Markdown in body, rendered HTML in html.',
    example: { ...item, body: 'Open a *terminal*.\n', html: '<p>Open a <em>terminal</em>.</p>' },
  });
export type ContentArticle = z.infer<typeof ContentArticle>;

/** The blog list, newest first; articles of one day are ordered by path. */
export const ContentList = z
  .array(ContentItem)
  .register(schemas, { id: 'ContentList', description: 'All blog articles, newest first.', example: [item] });

/** The front matter of `content/blog/<category>/<slug>.md`. */
export const BlogFrontMatter = z.strictObject({
  title: Line.describe('Title of the article.'),
  description: Line.describe('One or two sentences for lists and search engines.'),
  date: IsoDate.describe('Day of publication, YYYY-MM-DD; a day to come keeps the article out until then (UTC).'),
  author: Line.describe('Who wrote it.'),
  cover: MediaPath.describe('Path of the cover image, below /media/.'),
  category: Line.optional().describe('Display name of the category; the same in all its articles.'),
  draft: z.boolean().optional().describe('true leaves the article out of every release.'),
  updated: IsoDate.optional().describe('Day of the last change of substance, YYYY-MM-DD.'),
  aliases: z
    .array(z.string().regex(/^\/blog(?:\/[A-Za-z0-9._-]+)+$/, 'must be a former path that begins with /blog/'))
    .optional()
    .describe('Former paths of this article; they keep working.'),
});
export type BlogFrontMatter = z.infer<typeof BlogFrontMatter>;
