import { describe, expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { buildProject, createProject } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';
import { sharedApp } from '../server/shared.ts';

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

test('without SITE_URL the feed and the sitemap are 404, cached briefly', async () => {
  const root = createProject();
  await buildProject(root);
  const app = await createTestApp({ root });
  const headers = { 'cache-control': 'public, max-age=10' };
  expect(await ask(app, '/v1/blog/feed.xml')).toMatchObject({ status: 404, text: 'there is no feed\n', headers });
  expect(await ask(app, '/v1/sitemap.xml')).toMatchObject({ status: 404, text: 'there is no sitemap\n', headers });
});
