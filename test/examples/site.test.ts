import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { serveExampleSite } from '../helpers/example-site.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { describeInstalled } from '../helpers/installed.ts';
import { createUpstream, until } from '../helpers/upstream.ts';

const repository = resolve(import.meta.dirname, '../..');

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

test('a former path of an article leads to its present one', async () => {
  const upstream = await createUpstream(() => ({ status: 200, body: '{"/blog/news/old":"/blog/company-news/new"}' }));
  const site = await serveExampleSite(upstream.url);
  const moved = await fetch(`${site}/blog/news/old?from=feed`, { redirect: 'manual' });
  expect([moved.status, moved.headers.get('location')]).toEqual([301, '/blog/company-news/new']);
  expect((await fetch(`${site}/blog/company-news/new`)).status).toBe(200);
  // It is read for articles only, and kept.
  await fetch(`${site}/plans`);
  expect(upstream.seen.map(({ path }) => path)).toEqual(['/v1/redirects.json']);
});

interface Nginx {
  readonly url: string;
  stop(): Promise<void>;
}

/** Runs nginx with the configuration in the README of the site. */
async function startNginx(commands: string): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'hosting-api-'));
  const port = await findFreePort();
  const readme = readFileSync(join(repository, 'examples/site/README.md'), 'utf8');
  const server = /```nginx\n(.*?)```/s
    .exec(readme)![1]!
    .replaceAll(/\/var\/www\/(site|node_modules)([^;]*)/g, (_, name: string, rest: string) =>
      JSON.stringify(join(repository, name === 'site' ? 'examples/site' : name, rest)),
    );
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path "${folder}/${name}";`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; ${process.getuid!() === 0 ? 'user root;' : ''} pid "${folder}/pid"; error_log stderr error;
    events {} http { access_log off; ${temporary.join(' ')} types { text/html html; text/javascript js; }
    server { listen 127.0.0.1:${port}; ${server} } }`,
  );
  const child = spawn(join(commands, 'nginx'), ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
  const exited = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  let isReady = false;
  await until('nginx answers', () => {
    void fetch(url).then(
      () => (isReady = true),
      () => {},
    );
    return isReady;
  });
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describeInstalled<Nginx>(
  { name: 'nginx', package: 'nginx-light', commands: ['nginx'], start: startNginx, stop: (nginx) => nginx.stop() },
  (nginx) => {
    test('the configuration in the README serves the same pages', async () => {
      const own = await serveExampleSite('http://localhost:3000');
      const withoutSpace = (text: string): string => text.replaceAll(/\s+/g, ' ');
      for (const path of [
        '/',
        '/blog',
        '/blog/engineering/any',
        '/knowledgebase/vps/any',
        '/status',
        '/none',
        '/scripts/minisearch.js',
      ]) {
        const [theirs, ours] = await Promise.all([fetch(nginx().url + path), fetch(own + path)]);
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
  },
);
