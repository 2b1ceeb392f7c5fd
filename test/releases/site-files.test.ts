import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { buildProject, createProject } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';
import { sharedApp } from '../server/shared.ts';

const files: readonly (readonly [target: string, file: string, type: string])[] = [
  ['/v1/blog/feed.xml', 'blog/feed.xml', 'application/atom+xml; charset=utf-8'],
  ['/v1/sitemap.xml', 'sitemap.xml', 'application/xml; charset=utf-8'],
  ['/v1/blog/categories', 'blog/categories.json', 'application/json'],
  ['/v1/kb/categories', 'kb/categories.json', 'application/json'],
  ['/v1/blog/index?category=news', 'blog/index/news.json', 'application/json'],
  ['/v1/kb/index?category=vps', 'kb/index/vps.json', 'application/json'],
  ['/v1/blog/authors', 'blog/authors.json', 'application/json'],
  ['/v1/redirects.json', 'redirects.json', 'application/json'],
];

test.each(files)('%s answers with the file of the release, by GET, HEAD, 304 and in each encoding', async (...row) => {
  const [target, file, type] = row;
  const app = await sharedApp();
  const path = join(app.root, 'dist/current/public/v1', file);
  const plain = await ask(app, target);
  expect(plain).toMatchObject({ status: 200, text: readFileSync(path, 'utf8') });
  expect(plain.headers).toMatchObject({ 'content-type': type, vary: expect.stringContaining('Accept-Encoding') });
  expect(plain.headers['cache-control']).toMatch(/^public, /);
  const { etag } = plain.headers;
  expect(await ask(app, target, { headers: { 'If-None-Match': etag! } })).toMatchObject({ status: 304, text: '' });
  const head = await ask(app, target, { method: 'HEAD' });
  expect(head).toMatchObject({ status: 200, text: '', headers: { etag, 'content-type': type } });
  for (const [encoding, end] of Object.entries({ gzip: '.gz', br: '.br' })) {
    const { headers } = await ask(app, target, { method: 'HEAD', headers: { 'Accept-Encoding': encoding } });
    expect(headers).toMatchObject({
      'content-encoding': encoding,
      'content-length': String(readFileSync(path + end).length),
    });
  }
});

describe.each(['/v1/blog/index', '/v1/kb/index'])('%s', (path) => {
  test.each([
    ['', 'query parameter category is required\n'],
    ['?category=', 'query parameter category is required\n'],
    ['?category=a&category=b', 'query parameter category is given more than once\n'],
  ])('with the query "%s" is 400', async (query, text) => {
    expect(await ask(await sharedApp(), path + query)).toMatchObject({ status: 400, text });
  });

  test.each(['none', '../list', '%2e%2e%2flist', 'News', '__proto__'])('of the category %s is []', async (category) => {
    expect(await ask(await sharedApp(), `${path}?category=${category}`)).toMatchObject({ status: 200, text: '[]\n' });
  });
});

test('without the addresses, the feed and the sitemap are 404, which caches keep for a moment', async () => {
  const root = createProject();
  await buildProject(root);
  const app = await createTestApp({ root });
  const headers = { 'cache-control': 'public, max-age=10' };
  expect(await ask(app, '/v1/blog/feed.xml')).toMatchObject({ status: 404, text: 'there is no feed\n', headers });
  expect(await ask(app, '/v1/sitemap.xml')).toMatchObject({ status: 404, text: 'there is no sitemap\n', headers });
});
