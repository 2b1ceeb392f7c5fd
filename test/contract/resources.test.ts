import { describe, expect, test } from 'vitest';
import { endpoints } from '#contract/endpoints.ts';
import { fillTemplate, matchResource, resources } from '#contract/resources.ts';
import type { Resource, ResourceName } from '#contract/resources.ts';

test.each<[string, ResourceName, string | undefined]>([
  ['public/v1/blog/list.json', 'blogList', '/v1/blog/list'],
  ['public/v1/blog/article/company-news/a-1.json', 'blogArticle', '/v1/blog/article?path=/blog/company-news/a-1'],
  ['public/v1/kb/search.json', 'knowledgeBaseSearch', '/v1/kb/search.json'],
  ['public/v1/kb/list.json', 'knowledgeBaseList', '/v1/kb/list'],
  ['public/v1/kb/list/vps.json', 'knowledgeBaseCategory', '/v1/kb/list?category=vps'],
  ['public/v1/kb/article/vps/ssh.json', 'knowledgeBaseArticle', '/v1/kb/article?path=/knowledgebase/vps/ssh'],
  ['public/v1/blog/feed.xml', 'blogFeed', '/v1/blog/feed.xml'],
  ['public/v1/sitemap.xml', 'sitemap', '/v1/sitemap.xml'],
  ['public/v1/blog/categories.json', 'blogCategories', '/v1/blog/categories'],
  ['public/v1/kb/categories.json', 'knowledgeBaseCategories', '/v1/kb/categories'],
  ['public/v1/blog/index/news.json', 'blogIndex', '/v1/blog/index?category=news'],
  ['public/v1/kb/index/vps.json', 'knowledgeBaseIndex', '/v1/kb/index?category=vps'],
  ['public/v1/blog/authors.json', 'blogAuthors', '/v1/blog/authors'],
  ['public/v1/redirects.json', 'redirects', '/v1/redirects.json'],
  ['public/v1/plans.json', 'plans', '/v1/plans'],
  ['public/v1/openapi.json', 'openapi', '/v1/openapi.json'],
  ['public/v1/service-status.js', 'statusWidget', '/v1/service-status.js'],
  ['public/v1/service-status.0a1b2c.js', 'statusWidgetVersion', '/v1/service-status.0a1b2c.js'],
  ['public/v1/service-status.json', 'statusWidgetIntegrity', undefined],
  ['public/docs/index.html', 'docs', '/docs'],
  ['public/docs/errors.html', 'docsFile', '/docs/errors.html'],
  ['public/media/a.svg', 'media', '/media/a.svg'],
  ['public/media/covers/2026/a.b-c_d.png', 'media', '/media/covers/2026/a.b-c_d.png'],
  ['private/aliases.json', 'aliases', undefined],
  ['private/domains.json', 'domains', undefined],
  ['private/status.json', 'status', undefined],
  ['public/schemas/blog.json', 'sourceSchema', undefined],
])('%s is a %s, served at %s', (file, name, target) => {
  expect(matchResource(file)).toEqual({ name, target });
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
  expect(matchResource(file)).toBeUndefined();
});

function namesIn(template: string): (string | undefined)[] {
  return [...template.matchAll(/\{(\w+\*?)\}/g)].map(([, name]) => name);
}

describe.each(Object.keys(resources) as ResourceName[])('%s', (name) => {
  const { file, target, schema, mediaType }: Resource = resources[name];
  const params = { category: 'the-category', slug: 'the-slug', path: 'some/path.svg', source: 'plans', version: '0a' };

  test('matches the file that its own template produces', () => {
    expect(matchResource(fillTemplate(file, params))).toEqual({
      name,
      target: target && fillTemplate(target, params),
    });
  });

  test('uses only template names in its target that its file has', () => {
    expect(namesIn(file)).toEqual(expect.arrayContaining(namesIn(target ?? '')));
  });

  test('has an endpoint if it has a target', () => {
    const stored = Object.values(endpoints).filter((endpoint) => endpoint.stored === 'file');
    const paths = target === undefined ? [] : [target.split('?')[0]];
    expect(stored.map(({ path }) => path)).toEqual(expect.arrayContaining(paths));
  });

  test('has a schema if it is JSON, and a media type if it is not and its name has a type', () => {
    const isText = /\.(?:js|css|html|xml)$/.test(file);
    expect([schema !== undefined, mediaType !== undefined]).toEqual([file.endsWith('.json'), isText]);
  });
});

test('every endpoint that serves files has a resource', () => {
  const targets = Object.values<Resource>(resources).flatMap(({ target }) => target?.split('?')[0] ?? []);
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
