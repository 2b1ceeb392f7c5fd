import { expect, test } from 'vitest';
import { serveExampleSite } from '../helpers/example-site.ts';

const api = 'https://api.example.com';

test('each address shows its page, and every other one is 404', async () => {
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
    // All parts are included.
    expect(html).not.toContain('<!--#');
    expect(html).toContain('<meta name="api" content="https://api.example.com" />');
    expect(html).not.toContain('http://localhost');
  }
  for (const path of [
    '/none',
    '/blog/a',
    '/blog/a/b/c',
    '/parts/head.html',
    '/serve.ts',
    '/scripts/types.ts',
    '//',
    '/%2e%2e/x',
  ]) {
    const response = await fetch(site + path);
    expect({ path, status: response.status }).toEqual({ path, status: 404 });
    expect(await response.text()).toContain('There is no such page');
  }
});

test('only scripts of the site and the API run, and only one of them may write HTML', async () => {
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
