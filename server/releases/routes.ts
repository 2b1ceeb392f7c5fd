import { handle } from '../http/handle.ts';
import { toStoredJson } from '../http/stored.ts';
import { Problem } from '../problem.ts';
import type { ServedFile } from './load.ts';
import type { Releases } from './service.ts';

const emptyList = toStoredJson([]);

/** A 404 of content. Caches keep it for a moment: a dead link on a busy page would send every visitor here. */
function toMissing(code: 'article_not_found' | 'media_not_found' | 'not_found'): Problem {
  return new Problem(code, undefined, { headers: { 'Cache-Control': 'public, max-age=10' } });
}

/** The routes that serve files of the release. */
export function contentRoutes(releases: Releases) {
  const find = (target: string): ServedFile | undefined => releases.current().find(target);
  const listed = (target: string): ServedFile => {
    const file = find(target);
    if (!file) throw new Error(`${target} is not in the release`);
    return file;
  };
  const article = (endpoint: string, path: string): ServedFile => {
    const file = find(`${endpoint}?path=${path}`);
    if (!file) throw toMissing('article_not_found');
    return file;
  };
  const optional = (target: string): ServedFile => {
    const file = find(target);
    if (!file) throw toMissing('not_found');
    return file;
  };
  return {
    listBlogArticles: handle('listBlogArticles', () => listed('/v1/blog/list')),
    getBlogArticle: handle('getBlogArticle', ({ query }) => article('/v1/blog/article', query.path)),
    listKnowledgeBaseArticles: handle('listKnowledgeBaseArticles', ({ query: { category } }) => {
      return category === undefined ? listed('/v1/kb/list') : (find(`/v1/kb/list?category=${category}`) ?? emptyList);
    }),
    getKnowledgeBaseArticle: handle('getKnowledgeBaseArticle', ({ query }) => article('/v1/kb/article', query.path)),
    getStatusWidget: handle('getStatusWidget', () => listed('/v1/service-status.js')),
    getStatusWidgetVersion: handle('getStatusWidgetVersion', ({ rest }) => {
      const file = find(`/v1/service-status.${rest}.js`);
      if (!file) throw new Problem('not_found');
      return file;
    }),
    getArticleStyle: handle('getArticleStyle', () => listed('/v1/article.css')),
    getBlogFeed: handle('getBlogFeed', () => optional('/v1/blog/feed.xml')),
    getSitemap: handle('getSitemap', () => optional('/v1/sitemap.xml')),
    listBlogCategories: handle('listBlogCategories', () => listed('/v1/blog/categories')),
    listKnowledgeBaseCategories: handle('listKnowledgeBaseCategories', () => listed('/v1/kb/categories')),
    getBlogIndex: handle('getBlogIndex', ({ query: { category } }) => {
      return find(`/v1/blog/index?category=${category}`) ?? emptyList;
    }),
    getKnowledgeBaseIndex: handle('getKnowledgeBaseIndex', ({ query: { category } }) => {
      return find(`/v1/kb/index?category=${category}`) ?? emptyList;
    }),
    listBlogAuthors: handle('listBlogAuthors', () => listed('/v1/blog/authors')),
    getKnowledgeBaseSearch: handle('getKnowledgeBaseSearch', () => listed('/v1/kb/search.json')),
    listRedirects: handle('listRedirects', () => listed('/v1/redirects.json')),
    getRoot: handle('getRoot', () => ({ to: '/docs' })),
    getDocs: handle('getDocs', () => listed('/docs')),
    getDocsFile: handle('getDocsFile', ({ rest }) => {
      const file = find(rest === '' ? '/docs' : `/docs/${rest}`);
      if (!file) throw new Problem('not_found');
      return file;
    }),
    getPlans: handle('getPlans', () => listed('/v1/plans')),
    getOpenApi: handle('getOpenApi', () => listed('/v1/openapi.json')),
    getMedia: handle('getMedia', ({ rest }) => {
      const file = find(`/media/${rest}`);
      if (!file) throw toMissing('media_not_found');
      return file;
    }),
  };
}
