import { z } from 'zod';
import examples from '#contract/examples.json' with { type: 'json' };
import { content } from '#contract/content-endpoints.ts';
import { Aliases } from '#contract/content.ts';
import { json } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { AuthorList, BlogCategories, BlogIndex, KnowledgeBaseCategories, KnowledgeBaseIndex } from '#contract/site.ts';

/** What the two indexes have in common; `example` is the slug of a category. */
const indexOf = (kind: string, example: string) =>
  ({
    ...content,
    description: 'The order is that of the list. Tags and days of changes are here, not in the bodies of articles.',
    query: z.object({
      category: z.string().meta({
        description: `The slug of one category: the path segment after /${kind}/.`,
        example,
      }),
    }),
    missing: { code: 'validation_error', message: 'Query parameter category is required' },
    problems: ['validation_error'],
    messages: { validation_error: 'Query parameter category is required' },
  }) as const satisfies Partial<Endpoint>;

/** The operations that answer with what a website needs beside the articles. */
export const siteEndpoints = {
  getBlogFeed: {
    ...content,
    path: '/v1/blog/feed.xml',
    tag: 'Blog',
    summary: 'The newest 30 blog articles with their text, as an Atom feed',
    description:
      'All addresses in it are absolute: pages are on the website, media are on this service. It is missing if the operator has not set the address of the website or the one of this service.',
    replies: {
      200: { description: 'An Atom 1.0 feed.', mediaType: 'application/atom+xml', example: examples.getBlogFeed },
    },
    problems: ['not_found'],
    messages: { not_found: 'There is no feed' },
  },
  getSitemap: {
    ...content,
    path: '/v1/sitemap.xml',
    tag: 'Website',
    summary: 'All articles of the website, for search engines',
    description:
      'Articles of the knowledge base too. lastmod is the day of the last significant change, else the day of publication, if there is one. It is missing if the operator has not set the address of the website.',
    replies: {
      200: {
        description: 'A sitemap by the protocol 0.9 of sitemaps.org.',
        mediaType: 'application/xml',
        example: examples.getSitemap,
      },
    },
    problems: ['not_found'],
    messages: { not_found: 'There is no sitemap' },
  },
  listBlogCategories: {
    ...content,
    path: '/v1/blog/categories',
    tag: 'Blog',
    summary: 'The categories of the blog, sorted by name',
    description: 'Only those that have articles.',
    replies: { 200: json('The categories.', BlogCategories) },
  },
  listKnowledgeBaseCategories: {
    ...content,
    path: '/v1/kb/categories',
    tag: 'Knowledge base',
    summary: 'The categories of the knowledge base, sorted by name',
    description: 'Only those that have articles.',
    replies: { 200: json('The categories.', KnowledgeBaseCategories) },
  },
  getBlogIndex: {
    ...indexOf('blog', 'engineering'),
    path: '/v1/blog/index',
    tag: 'Blog',
    summary: 'Neighbours, related articles, tags and days of changes of the articles of one category',
    replies: { 200: json('The index; it is empty if the category does not exist.', BlogIndex) },
  },
  getKnowledgeBaseIndex: {
    ...indexOf('knowledgebase', 'domains-and-dns'),
    path: '/v1/kb/index',
    tag: 'Knowledge base',
    summary: 'Neighbours, related articles, tags and days of changes of the articles of one category',
    replies: { 200: json('The index; it is empty if the category does not exist.', KnowledgeBaseIndex) },
  },
  listBlogAuthors: {
    ...content,
    path: '/v1/blog/authors',
    tag: 'Blog',
    summary: 'The authors of blog articles, sorted by name',
    description: 'Those that have articles, each with a picture and a page where there is one.',
    replies: { 200: json('The authors.', AuthorList) },
  },
  listRedirects: {
    ...content,
    path: '/v1/redirects.json',
    tag: 'Website',
    summary: 'All former paths of articles, each with the present path',
    description: 'Of the knowledge base too: a website redirects from the former path to the present one.',
    replies: { 200: json('The present path of each former path.', Aliases) },
  },
} as const satisfies Record<string, Endpoint>;
