import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { serveExampleSite } from '../helpers/example-site.ts';
import { describeNginx } from '../helpers/nginx.ts';
import { createUpstream } from '../helpers/upstream.ts';

const repository = resolve(import.meta.dirname, '../..');

const api = 'https://api.example.com';

test('each URL shows its page, and unknown URLs are 404', async () => {
  const site = await serveExampleSite(api);
  const titles: Record<string, string> = {
    '/': 'Example Hosting: servers, games and domains',
    '/blog': 'Blog - Example Hosting',
    '/blog?category=engineering': 'Blog - Example Hosting',
    '/blog/engineering/noisy-neighbours': 'Example Hosting',
    '/knowledgebase': 'Help - Example Hosting',
    '/knowledgebase/vps/first-steps': 'Example Hosting',
    '/plans': 'Plans - Example Hosting',
    '/domains': 'Domains - Example Hosting',
    '/status': 'Status - Example Hosting',
  };
  for (const [path, title] of Object.entries(titles)) {
    const response = await fetch(site + path);
    const html = await response.text();
    expect({ path, status: response.status, type: response.headers.get('content-type') }).toEqual({
      path,
      status: 200,
      type: 'text/html; charset=utf-8',
    });
    expect(html).toContain(`<title>${title}</title>`);
    // All includes are resolved.
    expect(html).not.toContain('<!--#');
    expect(html).toContain('<meta name="api" content="https://api.example.com" />');
    expect(html).toContain(`<meta property="og:title" content="${title}" />`);
    expect(html).toMatch(/property="og:description"\s+content="[^"]+"/);
    expect(html).not.toContain('http://localhost');
  }
  const card = await fetch(`${site}/images/card.jpg`);
  expect(card.headers.get('content-type')).toBe('image/jpeg');
  expect(Buffer.from(await card.arrayBuffer()).toString('hex', 0, 3)).toBe('ffd8ff');
  const notPages = ['/none', '/blog/a', '/blog/a/b/c', '//', '/%2e%2e/x'];
  for (const path of [...notPages, '/parts/head.html', '/serve.ts', '/scripts/types.ts']) {
    const response = await fetch(site + path);
    expect({ path, status: response.status }).toEqual({ path, status: 404 });
    expect(await response.text()).toContain('Page not found');
  }
});

test('only scripts of the site and the API run, and only one script may write HTML', async () => {
  const response = await fetch(await serveExampleSite(`${api}/`));
  const policy = response.headers.get('content-security-policy')!;
  expect(policy.split('; ')).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      `script-src 'self' ${api}`,
      "require-trusted-types-for 'script'",
      'trusted-types article',
    ]),
  );
  expect(policy).not.toMatch(/unsafe|\*/);
});

test("a former path redirects to the article's current path", async () => {
  const to = '/blog/company-news/new';
  const moves = { '/blog/news/old': to, '/2025/11/caf\u00E9': to };
  const upstream = await createUpstream(() => ({ status: 200, body: JSON.stringify(moves) }));
  const site = await serveExampleSite(upstream.url);
  for (const from of ['/blog/news/old?from=feed', '/blog/news/old/', '/2025/11/caf%C3%A9/', '/2025/11/cafe%CC%81']) {
    const moved = await fetch(site + from, { redirect: 'manual' });
    expect([from, moved.status, moved.headers.get('location')]).toEqual([from, 301, to]);
  }
  expect((await fetch(`${site}${to}`)).status).toBe(200);
  expect((await fetch(`${site}/%zz`)).status).toBe(404);
  // Redirects are read only for articles and unknown pages, and cached.
  await fetch(`${site}/plans`);
  expect(upstream.seen.map(({ path }) => path)).toEqual(['/v1/redirects.json']);
});

/** The configuration from the site's README, with this repository's folders. */
function readConfiguration(): string {
  const readme = readFileSync(join(repository, 'examples/site/README.md'), 'utf8');
  const [, server = ''] = /```nginx\n(.*?)```/s.exec(readme) ?? [];
  return server.replaceAll(/\/var\/www\/(site|node_modules)([^;]*)/g, (_, name: string, rest: string) =>
    JSON.stringify(join(repository, name === 'site' ? 'examples/site' : name, rest)),
  );
}

describeNginx((run) => {
  test("the README's configuration serves the same pages", async () => {
    const types = 'types { text/html html; text/javascript js; }';
    const nginx = await run()((_, port) => `${types} server { listen 127.0.0.1:${port}; ${readConfiguration()} }`);
    const own = await serveExampleSite('http://localhost:3000');
    const withoutSpace = (text: string): string => text.replaceAll(/\s+/g, ' ');
    const articles = ['/blog/engineering/any', '/knowledgebase/vps/any'];
    for (const path of ['/', '/blog', ...articles, '/status', '/none', '/scripts/minisearch.js']) {
      const [theirs, ours] = await Promise.all([fetch(`http://127.0.0.1:${nginx.port}${path}`), fetch(own + path)]);
      expect({ path, status: theirs.status, text: withoutSpace(await theirs.text()) }).toEqual({
        path,
        status: ours.status,
        text: withoutSpace(await ours.text()),
      });
      const policy = ours.headers.get('content-security-policy')!;
      expect(theirs.headers.get('content-security-policy')).toBe(
        policy.replaceAll('http://localhost:3000', 'https://api.example.com'),
      );
    }
  });
});
