import { z } from 'zod';
import { articleFile } from '#contract/blog.ts';
import type { ServedFile, StaticFile } from '#contract/endpoint.ts';
import examples from '#contract/examples.json' with { type: 'json' };
import { articleText, IsoDate, KnowledgeBasePath, Line, Tags, schemas, object } from '#contract/primitives.ts';

/** An entry of the knowledge base list. */
export const KnowledgeBaseSummary = object('KnowledgeBaseSummary', 'A knowledge base article in the list.', {
  title: z.string().describe('Title of the article.'),
  description: z.string().describe('One or two sentences for lists and search engines.'),
  path: KnowledgeBasePath.describe('Path of the article, for /v1/kb/article and for links.'),
  category: z.string().describe('Display name of the category.'),
});
export type KnowledgeBaseSummary = z.infer<typeof KnowledgeBaseSummary>;

/** A knowledge base article with its Markdown and its HTML. */
export const KnowledgeBaseArticle = object(
  'KnowledgeBaseArticle',
  'A knowledge base article, with Markdown in body and rendered HTML in html.',
  { ...KnowledgeBaseSummary.shape, ...articleText },
  examples.getKnowledgeBaseArticle,
);
export type KnowledgeBaseArticle = z.infer<typeof KnowledgeBaseArticle>;

/** The knowledge base list, sorted by title, then by path. */
export const KnowledgeBaseList = z.array(KnowledgeBaseSummary).register(schemas, {
  id: 'KnowledgeBaseList',
  description: 'Knowledge base articles, sorted by title.',
  example: examples.listKnowledgeBaseArticles,
});

/** The front matter of `content/knowledgebase/<category>/<slug>.md`. */
export const KnowledgeBaseFrontMatter = z.strictObject({
  title: Line.describe('Title of the article.'),
  description: Line.describe('One or two sentences for lists and search engines.'),
  category: Line.optional().describe('Display name of the category; must be the same in all its articles.'),
  draft: z.boolean().optional().describe('true excludes the article from every release.'),
  updated: IsoDate.optional().describe('Day of the last significant change, YYYY-MM-DD.'),
  tags: Tags.optional().describe('Tags: lower-case letters, digits and hyphens.'),
  aliases: z
    .array(
      z
        .string()
        .regex(
          /^\/knowledgebase(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)+$/,
          'must be a former path that begins with /knowledgebase/',
        ),
    )
    .optional()
    .describe('Former paths of this article, which keep working.'),
});
export type KnowledgeBaseFrontMatter = z.infer<typeof KnowledgeBaseFrontMatter>;

/** The static files of knowledge base articles. */
export const knowledgeBaseFiles = {
  listKnowledgeBaseArticles: {
    file: 'public/v1/kb/list.json',
    path: '/v1/kb/list',
    tag: 'Knowledge base',
    summary: 'Knowledge base articles, sorted by title',
    description: 'All articles, or those of one category. The text of an article is at /v1/kb/article.',
    query: z.object({
      category: z.string().optional().meta({
        description: 'The slug of one category: the path segment after /knowledgebase/.',
        example: 'domains-and-dns',
      }),
    }),
    schema: KnowledgeBaseList,
    reply: 'The list; it is empty if the category does not exist.',
    problems: ['validation_error'],
    messages: { validation_error: 'Query parameter category is given more than once' },
    absent: 'empty_list',
  },
  listKnowledgeBaseCategory: {
    file: 'public/v1/kb/list/{category}.json',
    target: '/v1/kb/list?category={category}',
    schema: KnowledgeBaseList,
  },
  getKnowledgeBaseArticle: {
    ...articleFile,
    file: 'public/v1/kb/article/{category}/{slug}.json',
    path: '/v1/kb/article',
    target: '/v1/kb/article?path=/knowledgebase/{category}/{slug}',
    tag: 'Knowledge base',
    summary: 'A knowledge base article, by its path or a former path',
    query: z.object({
      path: z.string().meta({
        description: 'Full path of the article, starting with /knowledgebase/.',
        example: examples.getKnowledgeBaseArticle.path,
      }),
    }),
    schema: KnowledgeBaseArticle,
  },
} as const satisfies Record<string, ServedFile | StaticFile>;
