import { describe, expect, test } from 'vitest';
import type { StaticFile } from '#contract/endpoint.ts';
import { endpoints, fillTemplate, matchFile, staticFiles, targetOf } from '#contract/endpoints.ts';
import type { StaticFileName } from '#contract/endpoints.ts';

test.each<[string, StaticFileName, string | undefined]>([
  ['public/v1/blog/list.json', 'listBlogArticles', '/v1/blog/list'],
  ['public/v1/blog/article/company-news/a-1.json', 'getBlogArticle', '/v1/blog/article?path=/blog/company-news/a-1'],
  ['public/v1/kb/search.json', 'getKnowledgeBaseSearch', '/v1/kb/search.json'],
  ['public/v1/kb/list.json', 'listKnowledgeBaseArticles', '/v1/kb/list'],
  ['public/v1/kb/list/vps.json', 'listKnowledgeBaseCategory', '/v1/kb/list?category=vps'],
  ['public/v1/kb/article/vps/ssh.json', 'getKnowledgeBaseArticle', '/v1/kb/article?path=/knowledgebase/vps/ssh'],
  ['public/v1/blog/feed.xml', 'getBlogFeed', '/v1/blog/feed.xml'],
  ['public/v1/sitemap.xml', 'getSitemap', '/v1/sitemap.xml'],
  ['public/v1/blog/categories.json', 'listBlogCategories', '/v1/blog/categories'],
  ['public/v1/kb/categories.json', 'listKnowledgeBaseCategories', '/v1/kb/categories'],
  ['public/v1/blog/index/news.json', 'getBlogIndex', '/v1/blog/index?category=news'],
  ['public/v1/kb/index/vps.json', 'getKnowledgeBaseIndex', '/v1/kb/index?category=vps'],
  ['public/v1/blog/authors.json', 'listBlogAuthors', '/v1/blog/authors'],
  ['public/v1/redirects.json', 'listRedirects', '/v1/redirects.json'],
  ['public/v1/plans.json', 'getPlans', '/v1/plans'],
  ['public/v1/openapi.json', 'getOpenApi', '/v1/openapi.json'],
  ['public/v1/service-status.js', 'getStatusWidget', '/v1/service-status.js'],
  ['public/v1/service-status.0a1b2c.js', 'getStatusWidgetVersion', '/v1/service-status.0a1b2c.js'],
  ['public/v1/service-status.json', 'statusWidgetIntegrity', undefined],
  ['public/docs/index.html', 'getDocs', '/docs'],
  ['public/docs/errors.html', 'getDocsFile', '/docs/errors.html'],
  ['public/media/a.svg', 'getMedia', '/media/a.svg'],
  ['public/media/covers/2026/a.b-c_d.png', 'getMedia', '/media/covers/2026/a.b-c_d.png'],
  ['private/aliases.json', 'aliases', undefined],
  ['private/domains.json', 'domains', undefined],
  ['private/status.json', 'status', undefined],
  ['public/schemas/blog.json', 'sourceSchema', undefined],
])('%s is a %s, served at %s', (file, name, target) => {
  expect(matchFile(file)).toEqual({ name, target });
});

test.each([
  '',
  'manifest.json',
  'public/v1/plans',
  'public/v1/plans.json.gz',
  'public/v1/plansXjson',
  'public/v1/plans.json\n',
  '/public/v1/plans.json',
  'x/public/v1/plans.json',
  'v1/plans.json',
  'private/v1/plans.json',
  'public/domains.json',
  'public/v1/blog/article/a.json',
  'public/v1/blog/article/a/b/c.json',
  'public/v1/blog/article/a/.json/x',
  'public/v1/kb/list/a/b.json',
  'public/v1/service-status..js',
  'public/v1/service-status.a/b.js',
  'public/v1/service-status.js.br',
  'public/media/',
  'public/media',
  'media/a.svg',
  'private/other.json',
  '__proto__',
])('%j is not a file of a release', (file) => {
  expect(matchFile(file)).toBeUndefined();
});

function namesIn(template: string): (string | undefined)[] {
  return [...template.matchAll(/\{(\w+\*?)\}/g)].map(([, name]) => name);
}

describe.each(Object.keys(staticFiles) as StaticFileName[])('%s', (name) => {
  const { file, schema, mediaType }: StaticFile = staticFiles[name];
  const target = targetOf(name);
  const params = { category: 'the-category', slug: 'the-slug', path: 'some/path.svg', source: 'plans', version: '0a' };

  test('matches the file that its own template produces', () => {
    expect(matchFile(fillTemplate(file, params))).toEqual({ name, target: target && fillTemplate(target, params) });
  });

  test('uses only template names in its target that its file has', () => {
    expect(namesIn(file)).toEqual(expect.arrayContaining(namesIn(target ?? '')));
  });

  test('has an endpoint if it has a target', () => {
    const stored = Object.values(endpoints).filter((endpoint) => endpoint.stored === 'file');
    const paths = target === undefined ? [] : [target.split('?')[0]];
    expect(stored.map(({ path }) => path)).toEqual(expect.arrayContaining(paths));
  });

  test('has a schema if it is JSON, and a media type if it is not', () => {
    const isJson = file.endsWith('.json');
    expect([schema !== undefined, mediaType !== undefined]).toEqual([isJson, !isJson]);
  });
});

test('every endpoint that serves files has a file', () => {
  const targets = (Object.keys(staticFiles) as StaticFileName[]).flatMap((name) => targetOf(name)?.split('?')[0] ?? []);
  const paths = Object.values(endpoints).flatMap(({ path, stored }) => (stored === 'file' ? [path] : []));
  expect([...new Set(targets)].toSorted()).toEqual(paths.toSorted());
});

test.each<[string, Record<string, string>, string]>([
  ['a/{b}/c', { b: 'x' }, 'a/x/c'],
  ['{a}{b}{a}', { a: '1', b: '2' }, '121'],
  ['media/{path*}', { path: 'a/b.svg' }, 'media/a/b.svg'],
  ['a/{b}', {}, 'a/'],
  ['a/{b}', { b: '$& $1 {c}', c: 'never' }, 'a/$& $1 {c}'],
  ['plain', { plain: 'x' }, 'plain'],
])('the template %s is filled in one pass', (template, params, filled) => {
  expect(fillTemplate(template, params)).toBe(filled);
});
