import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { parse } from 'parse5';
import { describe, expect, test } from 'vitest';
import { scopes } from '#contract/api-keys.ts';
import { closeCodes, streamEvents } from '#contract/console-stream.ts';
import { rateLimits } from '#contract/endpoint.ts';
import { problems } from '#contract/problem.ts';
import type { OpenApi } from '#contract/openapi.ts';
import { document as description } from '../contract/document.ts';
import { article, buildProject, createProject, siteUrls, writeFiles } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';
import type { Answer } from '../server/ask.ts';
import { sharedApp, sharedProject } from '../server/shared.ts';
import { readManifest } from '../server/targets.ts';

const guide = ['scopes', 'servers', 'clients', 'streams', 'agents', 'errors', 'limits', 'changes'].map(
  (name) => `/docs/${name}.html`,
);
guide.unshift('/docs');
const operations = Object.values(description.paths).flatMap((methods) => Object.values(methods));
const toPage = (tag: string): string => `/docs/api/${tag.toLowerCase().replaceAll(' ', '-')}.html`;
const pages = [...guide, ...new Set(operations.map(({ tags }) => toPage(tags[0]!)))];
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** Lists the values of an attribute in a page. */
function valuesOf(attribute: string, { text }: Answer): string[] {
  return [...text.matchAll(new RegExp(` ${attribute}="([^"]*)"`, 'g'))].map(([, value]) => value!);
}

/** Extracts the text of a page. */
function wordsOf({ text }: Answer): string {
  const plain = text
    .replaceAll('<wbr>', '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
  return plain.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');
}

describe('the addresses of the pages', () => {
  test('/ redirects to /docs', async () => {
    const app = await sharedApp();
    for (const method of ['GET', 'HEAD']) {
      const answer = await ask(app, '/', { method });
      expect(answer).toMatchObject({ status: 302, text: '', headers: { location: '/docs', 'content-length': '0' } });
      // The operator may serve another page at /, which a cached redirect would hide.
      expect(answer.headers['cache-control']).toBe('no-cache');
      expect(answer.headers).toHaveProperty('x-request-id');
    }
  });

  test('/docs/ is the only path with a trailing slash', async () => {
    const app = await sharedApp();
    const [page, slash] = [await ask(app, '/docs'), await ask(app, '/docs/')];
    expect(slash).toMatchObject({ status: 200, text: page.text });
    for (const target of ['/docs//', '/docs/errors.html/', '//docs', '/DOCS', '/docs/index.html', '/docs/none.html']) {
      expect({ target, status: (await ask(app, target)).status }).toEqual({ target, status: 404 });
    }
  });

  test.each(['/', '/docs', '/docs/', '/docs/errors.html'])('%s refuses other methods', async (target) => {
    const app = await sharedApp();
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const answer = await ask(app, target, { method });
      expect(answer).toMatchObject({ status: 405, text: 'method not allowed\n', headers: { allow: 'GET, HEAD' } });
    }
  });
});

describe.each(pages)('%s', (target) => {
  test('is HTML that loads nothing from other sites and refuses frames', async () => {
    const app = await sharedApp();
    const answer = await ask(app, target);
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    });
    const errors: string[] = [];
    parse(answer.text, { onParseError: ({ code, startLine }) => errors.push(`${startLine}: ${code}`) });
    expect(errors).toEqual([]);
    expect(answer.text).toMatch(/^<!doctype html>\s*<html lang="en">/);
    // The policy forbids inline scripts and styles.
    expect(answer.text).not.toMatch(/<style|<script>| style=| on\w+=/);
    const loaded = [...valuesOf('src', answer), ...answer.text.matchAll(/<link [^>]*href="([^"]*)"/g)].map(String);
    expect(loaded.filter((address) => /https?:|="\/\//.test(address))).toEqual([]);
  });

  test('supports ETag, HEAD and each encoding', async () => {
    const app = await sharedApp();
    const plain = await ask(app, target);
    const gzip = await ask(app, target, { headers: { 'Accept-Encoding': 'gzip' } });
    const br = await ask(app, target, { headers: { 'Accept-Encoding': 'br' } });
    expect(gunzipSync(gzip.body).toString()).toBe(plain.text);
    expect(brotliDecompressSync(br.body).toString()).toBe(plain.text);
    const head = await ask(app, target, { method: 'HEAD' });
    expect(head.headers.etag).toBe(plain.headers.etag);
    expect(head.text).toBe('');
    const unchanged = await ask(app, target, { headers: { 'If-None-Match': plain.headers.etag! } });
    expect(unchanged.status).toBe(304);
  });

  test('has no dead link to a file, page, heading or operation', async () => {
    const app = await sharedApp();
    const answer = await ask(app, target);
    const addresses = [
      ...valuesOf('href', answer),
      ...valuesOf('src', answer),
      ...valuesOf('data-search', answer),
    ].filter((one) => !one.startsWith('data:'));
    expect(addresses.length).toBeGreaterThan(8);
    for (const address of new Set(addresses)) {
      if (address.startsWith('https:')) expect(address).toBe(description.info.contact?.url);
      else {
        const [path = '', anchor] = address.split('#');
        const linked = path === '' ? answer : await ask(app, path);
        expect({ address, status: linked.status }).toEqual({ address, status: 200 });
        if (anchor !== undefined) expect(valuesOf('id', linked)).toContain(anchor);
      }
    }
  });
});

const withoutVersion = (name: string): string => name.replace(/-[\da-f]{16}(?=\.\w+$)/, '-');
const byName = (one: string, other: string): number => (withoutVersion(one) < withoutVersion(other) ? -1 : 1);

describe('the scripts and style sheets', () => {
  const assetsOf = async (): Promise<string[]> => {
    const files = Object.keys(readManifest(await sharedProject()).files);
    const own = files.filter((file) => /^public\/docs\/.+\.(?:js|css)$/.test(file));
    return own.map((file) => file.replace('public', '')).toSorted(byName);
  };

  test('are immutable and compressed', async () => {
    const app = await sharedApp();
    const types: Record<string, string> = { js: 'text/javascript', css: 'text/css' };
    const assets = await assetsOf();
    expect(assets.map(withoutVersion)).toEqual(
      ['console-.js', 'docs-.css', 'main-.js', 'search-.js'].map((name) => `/docs/${name}`),
    );
    for (const target of assets) {
      const answer = await ask(app, target, { headers: { 'Accept-Encoding': 'br' } });
      expect(answer.headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'content-type': `${types[target.split('.').at(-1)!]}; charset=utf-8`,
        'content-encoding': 'br',
      });
      expect(answer.headers).not.toHaveProperty('content-security-policy');
    }
  });

  test('are small: a page has at most 30 kB with script and style, and the search 22 kB', async () => {
    const app = await sharedApp();
    const sizeOf = async (target: string): Promise<number> =>
      (await ask(app, target, { headers: { 'Accept-Encoding': 'gzip' } })).body.length;
    for (const target of pages) {
      const page = await ask(app, target);
      const loaded = [...page.text.matchAll(/<(?:link|script) [^>]*(?:href|src)="(\/[^"]*)"/g)].map(
        ([, path]) => path!,
      );
      expect(loaded.length).toBeGreaterThan(1);
      const sizes = await Promise.all([target, ...loaded].map(sizeOf));
      expect({ target, isSmall: sizes.reduce((sum, size) => sum + size) <= 30_000 }).toEqual({ target, isSmall: true });
      expect(await sizeOf(valuesOf('data-search', page)[0]!)).toBeLessThanOrEqual(22_000);
    }
  });

  test('have the licence of MiniSearch', async () => {
    const app = await sharedApp();
    const [search = ''] = valuesOf('data-search', await ask(app, '/docs'));
    const licence = join(import.meta.dirname, '../../node_modules/minisearch/LICENSE.txt');
    expect((await ask(app, search)).text).toContain(readFileSync(licence, 'utf8'));
  });

  test('are written once and linked by the next release', async () => {
    const root = createProject();
    await buildProject(root);
    const assets = (await assetsOf()).map((name) => join('dist/current/public', name));
    const before = assets.map((file) => statSync(join(root, file)).ino);
    writeFiles(root, { 'content/blog/news/another.md': article({ title: 'Another' }, 'Text.\n') });
    const { release } = await buildProject(root);
    expect(release).toBeDefined();
    expect(assets.map((file) => statSync(join(root, file)).ino)).toEqual(before);
  });
});

const read = async (target: string): Promise<string> => wordsOf(await ask(await sharedApp(), target));

describe('the examples', () => {
  test('have PUBLIC_URL, else the address that the script of the page replaces', async () => {
    const root = createProject();
    const readPage = (page: string) => readFileSync(join(root, `dist/current/public/docs/${page}.html`), 'utf8');
    await buildProject(root, { urls: { site: undefined, service: undefined } });
    expect(readPage('index')).toContain('curl http://localhost:3000/v1/plans');
    expect(readPage('streams')).toContain('`http://localhost:3000/v1/');
    await buildProject(root, { urls: { site: undefined, service: 'https://hosting.example.org' } });
    expect(readPage('index')).toContain('curl https://hosting.example.org/v1/plans');
    expect(readPage('streams')).toContain('`https://hosting.example.org/v1/');
    for (const page of ['index', 'streams']) expect(readPage(page)).not.toMatch(/localhost|api\.example\.com/);
  });

  test('have SITE_NAME and SUPPORT_URL, if set', async () => {
    const root = createProject();
    const readPublic = (file: string) => readFileSync(join(root, 'dist/current/public', file), 'utf8');
    const infoOf = () => (JSON.parse(readPublic('v1/openapi.json')) as OpenApi).info;
    await buildProject(root, { urls: siteUrls });
    expect(infoOf().title).toBe('Hosting API');
    expect(infoOf()).not.toHaveProperty('contact');
    expect(readPublic('docs/errors.html')).not.toContain('Customer support');
    await buildProject(root, { urls: { ...siteUrls, name: 'Nord & Co', support: 'https://nord.example/help?a=1' } });
    expect(infoOf()).toMatchObject({ title: 'Nord & Co', contact: { url: 'https://nord.example/help?a=1' } });
    for (const page of ['docs/index.html', 'docs/errors.html']) {
      expect(readPublic(page)).toMatch(/<title>(?:Errors - )?Nord &amp; Co<\/title>/);
      expect(readPublic(page)).toContain('<a href="https://nord.example/help?a=1">Customer support</a>');
      expect(readPublic(page)).not.toMatch(/Hosting API|clients\.example\.com/);
    }
    expect(readPublic('v1/blog/feed.xml')).toContain('<title>Nord &amp; Co</title>');
    for (const [name, initial] of [
      ['🚀 Nord', '🚀'],
      ['& Co', '&amp;'],
    ] as const) {
      await buildProject(root, { urls: { ...siteUrls, name } });
      const [, icon = ''] = /<img src="data:image\/svg\+xml,([^"]*)"/.exec(readPublic('docs/index.html')) ?? [];
      expect(decodeURIComponent(icon)).toContain(`>${initial}</text>`);
    }
  });

  test('are in curl, TypeScript, Python and PowerShell, without names of samples', async () => {
    for (const target of guide) {
      const answer = await ask(await sharedApp(), target);
      const titles = valuesOf('data-title', answer).join(' ');
      expect(titles.replaceAll('curl TypeScript Python PowerShell', '').trim()).toBe('');
      expect(wordsOf(answer)).not.toMatch(/npm start|\bdemo\b|<!--/);
    }
    const words = (await read('/docs/servers.html')).replaceAll(' ', '');
    const path = '/v1/hosting/game/console/';
    expect(words).toContain(`-XPOST-d'{"command":"sayhello"}'"$api${path}$server/command"`);
    expect(words).toContain(`'POST',\`${path}\${server}/command\`,{body:'{"command":"sayhello"}'}`);
    expect(words).toContain(`"POST",f"${path}{server}/command",body=b'{"command":"sayhello"}'`);
    expect(words).toContain(`CallPOST"${path}\${server}/command"@{}'{"command":"sayhello"}'`);
  });
});

describe('the reference', () => {
  test('has every operation of the OpenAPI document with its parameters, errors and headers', async () => {
    for (const [path, methods] of Object.entries(description.paths)) {
      for (const [method, { operationId, tags, summary, parameters, responses }] of Object.entries(methods)) {
        const { text } = await ask(await sharedApp(), toPage(tags[0]!));
        const [, section = ''] = text.replaceAll('<wbr>', '').split(`id="${operationId}"`);
        const words = wordsOf({ text: `<${section.split('</section>')[0]}` } as Answer);
        expect(words).toContain(`${summary.split(';')[0]} ${method.toUpperCase()} ${path} `);
        for (const { name } of parameters) expect(words).toContain(` ${name} `);
        for (const { content = {} } of Object.values(responses)) {
          for (const code of Object.keys(Object.values(content)[0]?.examples ?? {})) {
            expect(words).toContain(` ${code.replace(/_\d+$/, '')} `);
          }
        }
      }
    }
  });

  test('has the kind of key that an operation needs', async () => {
    const words = await read('/docs/api/keys.html');
    for (const [title, needs] of [
      ['Retrieve the key: its permissions, servers and limits', 'Needs a key'],
      ['List the child keys of this key', 'Needs the current secret of a key that manages keys'],
      ['Revoke this key', 'Needs the current secret of a key'],
    ] as const) {
      const section = words.split(new RegExp(`${title} (?:GET|POST) `)).at(-1)!;
      expect(section.split(' Limit:')[0]!.trim().endsWith(needs), title).toBe(true);
    }
  });

  test('has titles in the imperative', () => {
    const verbs = new Set(operations.map(({ summary }) => summary.split(' ')[0]));
    const known =
      'Check Create Kill List Load Open Read Report Reset Restart Retrieve Revoke Rotate Send Start Stop'.split(' ');
    expect([...verbs].filter((verb) => !known.includes(verb!))).toEqual([]);
  });
});

describe('the tables', () => {
  test('have every scope with its operations', async () => {
    const words = await read('/docs/scopes.html');
    for (const scope of scopes) expect(words).toContain(scope);
    const keyed = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { security }]) =>
        security.length > 0 ? [`${method.toUpperCase()} ${path}`] : [],
      ),
    );
    expect(keyed.length).toBeGreaterThan(9);
    for (const operation of keyed) expect(words).toContain(operation);
    // A write scope includes the read scope.
    const writing = words
      .split(/ (?=game-console:read_write )/)
      .at(-1)!
      .split(' game-logs:read ')[0];
    expect(writing).toContain('GET /v1/hosting/game/console/{server_id}/websocket');
    expect(words).not.toContain('GET /v1/plans');
  });

  test('have every error with status and advice', async () => {
    const words = await read('/docs/errors.html');
    for (const [code, { status, message, advice }] of Object.entries(problems)) {
      // An error that customers never get.
      if (advice === '') continue;
      expect(words).toContain(`${code} ${status} ${message}. ${advice}`);
    }
  });

  test('have every event and close code of a stream', async () => {
    const words = await read('/docs/streams.html');
    for (const [event, { description: text, args }] of Object.entries(streamEvents)) {
      expect(words).toMatch(new RegExp(`${event} (?:\\[[^\\]]*\\] )*${text.slice(0, 20).replaceAll(/[()?]/g, '.')}`));
      for (const argument of args) {
        const optional = argument.optional ? ', optional: ' : ': ';
        expect(words).toContain(`${argument.name} ${optional}${argument.description}`);
        for (const [value, meaning] of Object.entries(argument.values ?? {})) {
          expect(meaning).toMatch(/^[A-Z].+\.$/);
          expect(words).toContain(`${value} : ${meaning}`);
        }
      }
    }
    for (const { code, meaning, client } of Object.values(closeCodes)) {
      expect(words).toContain(`${code} ${meaning} ${client}`);
    }
  });

  test('have every limit with the default of the service', async () => {
    const words = await read('/docs/limits.html');
    for (const { requests, burst } of Object.values(rateLimits)) expect(words).toContain(`${requests} ${burst} `);
    expect(words).toContain('Votes on articles 1 1 in 30 seconds each client address');
    expect(words).toContain('All other requests below /v1, including refused requests 100 50 a second each client');
  });
});
