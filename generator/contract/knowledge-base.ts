import { z } from 'zod';
import { articleFileOf, frontMatterOf } from '#contract/content.ts';
import type { ServedFile, StaticFile } from '#contract/endpoint.ts';
import examples from '#contract/examples.json' with { type: 'json' };
import { articleText, KnowledgeBasePath, schemas, object } from '#contract/primitives.ts';

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
export const KnowledgeBaseFrontMatter = frontMatterOf('knowledgebase', {});
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
    ...articleFileOf('knowledgebase', examples.getKnowledgeBaseArticle.path),
    file: 'public/v1/kb/article/{category}/{slug}.json',
    path: '/v1/kb/article',
    target: '/v1/kb/article?path=/knowledgebase/{category}/{slug}',
    tag: 'Knowledge base',
    summary: 'A knowledge base article, by its path or a former path',
    schema: KnowledgeBaseArticle,
  },
} as const satisfies Record<string, ServedFile | StaticFile>;
