import { describe, expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { article, buildProject, createProject, guide } from '../helpers/project.ts';
import { ask, askJson } from '../server/ask.ts';
import { sharedApp } from '../server/shared.ts';

describe('a list', () => {
  test('of the blog is ordered by date, newest first, and by path within a day', async () => {
    const root = createProject({
      'content/blog/news/b-same-day.md': article({ title: 'C', date: '2026-03-04' }, 'Text.\n'),
      'content/blog/guides/same-day.md': article({ title: 'D', date: '2026-03-04' }, 'Text.\n'),
      'content/blog/news/newest.md': article({ title: 'E', date: '2026-11-20' }, 'Text.\n'),
    });
    await buildProject(root);
    const app = await createTestApp({ root });
    const list = (await askJson<{ path: string; date: string }[]>(app, '/v1/blog/list')).json;
    expect(list.map(({ date, path }) => `${date} ${path}`)).toEqual([
      '2026-11-20 /blog/news/newest',
      '2026-03-04 /blog/guides/same-day',
      '2026-03-04 /blog/news/b-same-day',
      '2026-03-04 /blog/news/second',
      '2026-01-02 /blog/news/first',
    ]);
  });

  test('of the blog has entries as specified', async () => {
    const app = await sharedApp();
    const list = (await askJson<unknown[]>(app, '/v1/blog/list')).json;
    expect(list[1]).toEqual({
      title: 'First',
      description: 'What it says.',
      path: '/blog/news/first',
      category: 'News',
      date: '2026-01-02',
      author: 'Marit',
      readTime: '1 min read',
      cover: '/media/covers/cover.svg',
    });
  });

  test('of the knowledge base is ordered by title', async () => {
    const root = createProject({
      'content/knowledgebase/vps/backups.md': guide('Backups', 'Text.\n'),
      'content/knowledgebase/dns/zones.md': guide('Zones', 'Text.\n'),
    });
    await buildProject(root);
    const app = await createTestApp({ root });
    const list = (await askJson<{ title: string }[]>(app, '/v1/kb/list')).json;
    expect(list.map(({ title }) => title)).toEqual(['Backups', 'Connect with SSH', 'DNS records', 'Zones']);
  });

  test.each(['/v1/kb/list', '/v1/kb/list?category=', '/v1/kb/list?category', '/v1/kb/list?other=vps'])(
    'of the knowledge base without a category has all articles (%s)',
    async (target) => {
      const app = await sharedApp();
      expect((await askJson(app, target)).json).toEqual([ssh, records]);
    },
  );

  test.each([
    '/v1/kb/list?category=vps',
    '/v1/kb/list?category=%76ps',
    '/v1/kb/list?other=1&category=vps',
    '/v1/kb/list?category=vps&category=vps',
  ])('of the knowledge base is filtered by category (%s)', async (target) => {
    const app = await sharedApp();
    expect((await askJson(app, target)).json).toEqual([ssh]);
  });

  test.each('none VPS news vps/ ../list __proto__ constructor %00 %zz vps.json %2576ps'.split(' '))(
    'of the category %s, which does not exist, is empty',
    async (category) => {
      const app = await sharedApp();
      const answer = await ask(app, `/v1/kb/list?category=${category}`);
      expect(answer).toMatchObject({ status: 200, text: '[]\n', headers: { 'content-type': 'application/json' } });
    },
  );
});

const ssh = {
  title: 'Connect with SSH',
  description: 'How it is done.',
  path: '/knowledgebase/vps/ssh',
  category: 'Virtual servers',
};
const records = {
  title: 'DNS records',
  description: 'How it is done.',
  path: '/knowledgebase/dns/records',
  category: 'Dns',
};

describe.each([
  ['/v1/blog/article', '/blog/news/first', '/knowledgebase/vps/ssh'],
  ['/v1/kb/article', '/knowledgebase/vps/ssh', '/blog/news/first'],
])('%s', (endpoint, path, foreign) => {
  const encoded = encodeURIComponent(path);

  test.each([
    ['plain', `path=${path}`],
    ['percent-encoded', `path=${encoded}`],
    ['percent-encoded in lower case', `path=${encoded.toLowerCase()}`],
    ['partly percent-encoded', `path=${path.replace('s', '%73')}`],
    ['followed by other parameters', `path=${path}&utm_source=mail`],
    ['after other parameters', `utm_source=mail&path=${encoded}`],
    ['twice', `path=${path}&path=${path}`],
    ['twice, in two spellings', `path=${path}&path=${encoded}`],
  ])('finds an article by its path, %s', async (_, query) => {
    const app = await sharedApp();
    const { status, headers, json } = await askJson(app, `${endpoint}?${query}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({ path });
    expect(headers).not.toHaveProperty('content-location');
  });

  test.each(['', '?', '?path', '?path=', '?path=&path=', '?PATH=%s', '?path%5B%5D=%s', '?other=%s'])(
    'refuses a request without a path (%j)',
    async (query) => {
      const app = await sharedApp();
      const answer = await ask(app, endpoint + query.replace('%s', path));
      expect(answer).toMatchObject({ status: 400, text: 'path is required\n' });
    },
  );

  test.each([`path=${path}&path=${foreign}`, `path=${path}&path=`, `path=${path}/&other=1&path=${path}`])(
    'refuses two paths (%s)',
    async (query) => {
      const app = await sharedApp();
      const answer = await ask(app, `${endpoint}?${query}`);
      expect(answer).toMatchObject({ status: 400, text: 'query parameter path is given more than once\n' });
    },
  );

  test.each([
    `${path}x`,
    `${path}//`,
    `${path}/index.html`,
    `${path}.json`,
    `${path}%00`,
    `${path}%23top`,
    `${path}%3Fx=1`,
    `%20${path}`,
    path.slice(1),
    path.toUpperCase(),
    `/${path}`,
    path.replace('/', '/./'),
    path.replace(/\/[^/]+$/, ''),
    encodeURIComponent(encoded),
    foreign,
    '/',
    '__proto__',
    '../../plans',
    '..%2f..%2f..%2fpackage.json',
    '/etc/passwd',
    '%00',
    '%zz',
    '%c3%28',
    '%F0%9F%92%A9',
    'x'.repeat(8_000),
  ])('has no article %s', async (unknown) => {
    const app = await sharedApp();
    const answer = await ask(app, `${endpoint}?path=${unknown}`);
    expect(answer.status).toBe(404);
    expect(answer).toMatchObject({ text: 'article not found\n', headers: { 'cache-control': 'public, max-age=10' } });
  });
});

test('a former path, or a slash at the end, serves the article with its current path in Content-Location', async () => {
  const first = { title: 'First', date: '2026-01-02', aliases: '[/blog/old/First.html, /blog/old/café]' };
  const aliases = 'aliases: [/knowledgebase/old/ssh]\n';
  const root = createProject({
    'content/blog/news/first.md': article(first, '## Details\n\nMore.\n'),
    'content/knowledgebase/vps/ssh.md': guide('Connect with SSH', 'Use `ssh`.\n').replace('title:', `${aliases}title:`),
  });
  await buildProject(root);
  const app = await createTestApp({ root });
  for (const [endpoint, from, path] of [
    ['/v1/blog/article', '/blog/old/First.html', '/blog/news/first'],
    ['/v1/blog/article', '/blog/news/first/', '/blog/news/first'],
    ['/v1/blog/article', '/blog/old/First.html/', '/blog/news/first'],
    ['/v1/blog/article', '/blog/old/caf%C3%A9', '/blog/news/first'],
    ['/v1/blog/article', '/blog/old/cafe%CC%81', '/blog/news/first'],
    ['/v1/kb/article', '/knowledgebase/old/ssh', '/knowledgebase/vps/ssh'],
  ] as const) {
    const now = `${endpoint}?path=${path}`;
    const current = await ask(app, now);
    for (const query of [`path=${from}`, `path=${encodeURIComponent(from)}`, `x=1&path=${from}`]) {
      const answer = await ask(app, `${endpoint}?${query}`);
      expect(answer).toMatchObject({ status: 200, headers: { 'content-location': now, etag: current.headers.etag } });
      expect(answer.body.equals(current.body)).toBe(true);
    }
    const lists = `${(await ask(app, '/v1/blog/list')).text}${(await ask(app, '/v1/kb/list')).text}`;
    expect(lists).not.toContain(from);
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

test('without SITE_URL the feed and the sitemap are 404, cached briefly', async () => {
  const root = createProject();
  await buildProject(root);
  const app = await createTestApp({ root });
  const headers = { 'cache-control': 'public, max-age=10' };
  expect(await ask(app, '/v1/blog/feed.xml')).toMatchObject({ status: 404, text: 'there is no feed\n', headers });
  expect(await ask(app, '/v1/sitemap.xml')).toMatchObject({ status: 404, text: 'there is no sitemap\n', headers });
});
