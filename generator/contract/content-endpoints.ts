import { z } from 'zod';
import examples from '#contract/examples.json' with { type: 'json' };
import { ContentArticle, ContentList } from '#contract/blog.ts';
import { file, json } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { KnowledgeBaseArticle, KnowledgeBaseList } from '#contract/knowledge-base.ts';
import { KnowledgeBaseSearch } from '#contract/search.ts';

/** What operations have in common that answer with files of articles. */
export const content = { ...file, failure: 'content_unavailable' } as const;

/** The operations that answer with files of articles. */
export const contentEndpoints = {
  getArticleStyle: {
    ...file,
    path: '/v1/article.css',
    tag: 'Blog',
    summary: 'The style of the html of articles, light and dark, for an element of class markdown-body',
    description: 'It is for articles of the knowledge base too.',
    replies: { 200: { description: 'The style sheet.', mediaType: 'text/css' } },
  },
  listBlogArticles: {
    ...content,
    path: '/v1/blog/list',
    tag: 'Blog',
    summary: 'All blog articles, newest first',
    description: 'Articles of the same day are sorted by path. The text of an article is at /v1/blog/article.',
    replies: { 200: json('The list.', ContentList) },
  },
  getBlogArticle: {
    ...content,
    hasFormerPaths: true,
    path: '/v1/blog/article',
    tag: 'Blog',
    summary: 'A blog article, by its path or a former path',
    description:
      'A former path answers with the article too; its path and the header Content-Location have the present path.',
    query: z.object({
      path: z.string().meta({
        description: 'Full path of the article, starting with /blog/.',
        example: examples.getBlogArticle.path,
      }),
    }),
    missing: { code: 'path_required' },
    replies: { 200: json('The article.', ContentArticle) },
    problems: ['path_required', 'validation_error', 'article_not_found'],
    messages: { validation_error: 'Query parameter path is given more than once' },
  },
  listKnowledgeBaseArticles: {
    ...content,
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
    replies: { 200: json('The list; it is empty if the category does not exist.', KnowledgeBaseList) },
    problems: ['validation_error'],
    messages: { validation_error: 'Query parameter category is given more than once' },
  },
  getKnowledgeBaseArticle: {
    ...content,
    hasFormerPaths: true,
    path: '/v1/kb/article',
    tag: 'Knowledge base',
    summary: 'A knowledge base article, by its path or a former path',
    description:
      'A former path answers with the article too; its path and the header Content-Location have the present path.',
    query: z.object({
      path: z.string().meta({
        description: 'Full path of the article, starting with /knowledgebase/.',
        example: examples.getKnowledgeBaseArticle.path,
      }),
    }),
    missing: { code: 'path_required' },
    replies: { 200: json('The article.', KnowledgeBaseArticle) },
    problems: ['path_required', 'validation_error', 'article_not_found'],
    messages: { validation_error: 'Query parameter path is given more than once' },
  },
  getKnowledgeBaseSearch: {
    ...content,
    path: '/v1/kb/search.json',
    tag: 'Knowledge base',
    summary: 'A search index of the knowledge base, for MiniSearch in a website',
    description:
      'The website searches with it, not this service: npm minisearch, MiniSearch.loadJS(index, { ...options, processTerm }). The id of a result is the path of the article.',
    replies: { 200: json('The index, with its options.', KnowledgeBaseSearch) },
  },
  getMedia: {
    ...file,
    path: '/media/{path*}',
    tag: 'Media',
    summary: 'An image or other media file of an article',
    description: 'Articles refer to these files by their path.',
    replies: {
      200: { description: 'The file.', mediaType: '*/*', example: examples.getMedia },
      206: {
        description: 'The part of the file that Range names.',
        mediaType: '*/*',
        example: examples.getMedia.slice(0, 100),
      },
    },
    problems: ['media_not_found', 'range_not_satisfiable'],
  },
} as const satisfies Record<string, Endpoint>;
