import type { ProblemCode } from '#contract/problem.ts';
import { handle } from '../http/handle.ts';
import { toStoredJson } from '../http/stored.ts';
import type { StoredFile } from '../http/stored.ts';
import { Problem } from '../problem.ts';
import type { ServedFile } from './load.ts';
import type { Releases } from './service.ts';

const emptyList = toStoredJson([]);

/** A 404 of content. Caches keep it for a moment: a dead link on a busy page would send every visitor here. */
const cached = { headers: { 'Cache-Control': 'public, max-age=10' } };

/** The routes that serve files of the release. */
export function contentRoutes(releases: Releases) {
  const find = (target: string): ServedFile | undefined => releases.current().find(target);
  /** A file that each release has. */
  const listed = (target: string): ServedFile => {
    const file = find(target);
    if (!file) throw new Error(`${target} is not in the release`);
    return file;
  };
  const found = (target: string, missing: ProblemCode, options = {}): ServedFile => {
    const file = find(target);
    if (!file) throw new Problem(missing, undefined, options);
    return file;
  };
  const article = (target: string): ServedFile => found(target, 'article_not_found', cached);
  const listOf = (target: string, category: string): StoredFile => find(`${target}?category=${category}`) ?? emptyList;
  return {
    listBlogArticles: handle('listBlogArticles', () => listed('/v1/blog/list')),
    getBlogArticle: handle('getBlogArticle', ({ query }) => article(`/v1/blog/article?path=${query.path}`)),
    listKnowledgeBaseArticles: handle('listKnowledgeBaseArticles', ({ query: { category } }) =>
      category === undefined ? listed('/v1/kb/list') : listOf('/v1/kb/list', category),
    ),
    getKnowledgeBaseArticle: handle('getKnowledgeBaseArticle', ({ query }) =>
      article(`/v1/kb/article?path=${query.path}`),
    ),
    getStatusWidget: handle('getStatusWidget', () => listed('/v1/service-status.js')),
    getStatusWidgetVersion: handle('getStatusWidgetVersion', ({ rest }) =>
      found(`/v1/service-status.${rest}.js`, 'not_found'),
    ),
    getArticleStyle: handle('getArticleStyle', () => listed('/v1/article.css')),
    getBlogFeed: handle('getBlogFeed', () => found('/v1/blog/feed.xml', 'not_found', cached)),
    getSitemap: handle('getSitemap', () => found('/v1/sitemap.xml', 'not_found', cached)),
    listBlogCategories: handle('listBlogCategories', () => listed('/v1/blog/categories')),
    listKnowledgeBaseCategories: handle('listKnowledgeBaseCategories', () => listed('/v1/kb/categories')),
    getBlogIndex: handle('getBlogIndex', ({ query }) => listOf('/v1/blog/index', query.category)),
    getKnowledgeBaseIndex: handle('getKnowledgeBaseIndex', ({ query }) => listOf('/v1/kb/index', query.category)),
    listBlogAuthors: handle('listBlogAuthors', () => listed('/v1/blog/authors')),
    getKnowledgeBaseSearch: handle('getKnowledgeBaseSearch', () => listed('/v1/kb/search.json')),
    listRedirects: handle('listRedirects', () => listed('/v1/redirects.json')),
    getRoot: handle('getRoot', () => ({ to: '/docs' })),
    getDocs: handle('getDocs', () => listed('/docs')),
    getDocsFile: handle('getDocsFile', ({ rest }) => found(rest === '' ? '/docs' : `/docs/${rest}`, 'not_found')),
    getPlans: handle('getPlans', () => listed('/v1/plans')),
    getOpenApi: handle('getOpenApi', () => listed('/v1/openapi.json')),
    getMedia: handle('getMedia', ({ rest }) => found(`/media/${rest}`, 'media_not_found', cached)),
  };
}
