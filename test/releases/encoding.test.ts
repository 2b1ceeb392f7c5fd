import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ask } from '../server/ask.ts';
import type { Answer } from '../server/ask.ts';
import { sharedApp } from '../server/shared.ts';
import { servedFiles } from '../server/targets.ts';

const encodings = ['identity', 'gzip', 'br'] as const;
const endings = { identity: '', gzip: '.gz', br: '.br' } as const;
const cacheControl = 'public, max-age=60, stale-while-revalidate=600, stale-if-error=86400';

function encodingOf({ headers }: Answer): string {
  return headers['content-encoding'] ?? 'identity';
}

function decode(answer: Answer): string {
  const { body } = answer;
  const encoding = encodingOf(answer);
  return (encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body).toString();
}

/** The types of the XML files. */
const feeds: Readonly<Record<string, string>> = {
  'public/v1/blog/feed.xml': 'application/atom+xml; charset=utf-8',
  'public/v1/sitemap.xml': 'application/xml; charset=utf-8',
};

describe('the bytes of a release', () => {
  test.each(encodings)('are served as they are in its files (%s)', async (encoding) => {
    const app = await sharedApp();
    const files = servedFiles(app.root).filter(({ file }) => file.endsWith('.json') || file in feeds);
    expect(files).toHaveLength(22);
    for (const { file, target } of files) {
      const answer = await ask(app, target, { headers: { 'Accept-Encoding': encoding } });
      const path = join(app.root, 'dist/current', file);
      expect({ file, status: answer.status, encoding: encodingOf(answer) }).toEqual({ file, status: 200, encoding });
      expect(answer.body.equals(readFileSync(path + endings[encoding]))).toBe(true);
      expect(decode(answer)).toBe(readFileSync(path, 'utf8'));
      expect(answer.headers).toMatchObject({
        'content-type': feeds[file] ?? 'application/json',
        'content-length': String(answer.body.length),
        'cache-control': cacheControl,
        vary: 'Accept-Encoding',
      });
    }
  });

  test('have a different ETag for each file and encoding', async () => {
    const app = await sharedApp();
    const etags = new Set<string>();
    const files = servedFiles(app.root);
    for (const { target } of files) {
      for (const encoding of encodings) {
        const { headers } = await ask(app, target, { headers: { 'Accept-Encoding': encoding } });
        expect(headers.etag).toMatch(/^"[0-9a-f]{32}"$/);
        etags.add(`${target} ${headers.etag}`);
      }
    }
    const media = files.filter(({ file }) => file.startsWith('public/media/')).length;
    expect(etags.size).toBe((files.length - media) * encodings.length + media);
  });

  test('are sent completely, ignoring ranges', async () => {
    const app = await sharedApp();
    const answer = await ask(app, '/v1/plans', { headers: { Range: 'bytes=0-3' } });
    expect(answer.status).toBe(200);
    expect(answer.body.length).toBe(Number(answer.headers['content-length']));
    expect(answer.text).toBe(readFileSync(join(app.root, 'dist/current/public/v1/plans.json'), 'utf8'));
  });
});

test.each([
  [undefined, 'identity'],
  ['', 'identity'],
  ['identity', 'identity'],
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['GZIP', 'gzip'],
  ['*', 'br'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip, deflate', 'gzip'],
  ['deflate, zstd', 'identity'],
  ['gzip;q=1.0, br;q=0.5', 'gzip'],
  ['gzip;q=0.5, br;q=0.5', 'br'],
  ['gzip; q=0.2 , br ; q=0.9', 'br'],
  ['gzip;Q=1, br;Q=0.1', 'gzip'],
  ['gzip;q=0.001', 'gzip'],
  ['br;q=0, *', 'gzip'],
  ['br;q=0, gzip;q=0', 'identity'],
  ['*;q=0', 'identity'],
  ['*;q=0, gzip', 'gzip'],
  ['gzip;q=0.5, identity', 'identity'],
  ['identity;q=0.5, gzip;q=0.2', 'identity'],
  ['identity;q=0, gzip', 'gzip'],
  ['identity;q=0, br;q=0.1, gzip;q=0.2', 'gzip'],
  // The client accepts no encoding: it gets the body uncompressed instead of a 406.
  ['identity;q=0', 'identity'],
  [';;;,,=,q=1', 'identity'],
  ['gzipped, brotli, br2', 'identity'],
  ['__proto__, constructor', 'identity'],
  [`${'x, '.repeat(3_400)}gzip`, 'gzip'],
])('Accept-Encoding: %s gets the encoding %s', async (accepted, expected) => {
  const app = await sharedApp();
  const headers = accepted === undefined ? {} : { 'Accept-Encoding': accepted };
  const answer = await ask(app, '/v1/plans', { headers });
  expect(answer.status).toBe(200);
  expect(encodingOf(answer)).toBe(expected);
  expect(decode(answer)).toBe(readFileSync(join(app.root, 'dist/current/public/v1/plans.json'), 'utf8'));
});

describe('a conditional request', () => {
  const unchanged: readonly [string, (etag: string) => string][] = [
    ['the ETag', (etag) => etag],
    ['the ETag in its weak form', (etag) => `W/${etag}`],
    ['a list that contains the ETag', (etag) => `"one", W/"two",${etag} , "three"`],
    ['a list with a comma inside of an ETag', (etag) => `"one,two", ${etag}`],
    ['any version', () => '*'],
  ];
  const changed: readonly [string, (etag: string) => string][] = [
    ['another ETag', () => '"0123456789abcdef0123456789abcdef"'],
    ['the ETag without its quotes', (etag) => etag.slice(1, -1)],
    ['a part of the ETag', (etag) => `${etag.slice(0, -2)}"`],
    ['an empty value', () => ''],
  ];
  const targets = ['/v1/blog/list', '/v1/blog/list?other=1', '/v1/kb/list?category=none', '/media/kb/map.svg'];

  describe.each(targets)('for %s', (target) => {
    test.each(unchanged)('with %s in If-None-Match gets 304 with only the headers for caches', async (_, name) => {
      const app = await sharedApp();
      const whole = await ask(app, target, { headers: { 'Accept-Encoding': 'gzip' } });
      for (const method of ['GET', 'HEAD']) {
        const headers = { 'Accept-Encoding': 'gzip', 'If-None-Match': name(whole.headers.etag!) };
        const answer = await ask(app, target, { method, headers });
        expect(answer.status).toBe(304);
        expect(answer.body).toHaveLength(0);
        expect(answer.headers.etag).toBe(whole.headers.etag);
        expect(answer.headers['cache-control']).toBe(cacheControl);
        expect(answer.headers.vary).toBe(whole.headers.vary);
        for (const absent of ['content-length', 'content-type', 'content-encoding', 'transfer-encoding']) {
          expect(answer.headers).not.toHaveProperty(absent);
        }
      }
    });

    test.each(changed)('with %s in If-None-Match gets the full body', async (_, name) => {
      const app = await sharedApp();
      const whole = await ask(app, target);
      const answer = await ask(app, target, { headers: { 'If-None-Match': name(whole.headers.etag!) } });
      expect(answer.status).toBe(200);
      expect(answer.body.equals(whole.body)).toBe(true);
    });
  });

  test.each(encodings)('with the ETag of another encoding than %s gets the full body', async (encoding) => {
    const app = await sharedApp();
    for (const other of encodings.filter((candidate) => candidate !== encoding)) {
      const { headers } = await ask(app, '/v1/plans', { headers: { 'Accept-Encoding': other } });
      const question = { 'Accept-Encoding': encoding, 'If-None-Match': headers.etag! };
      const answer = await ask(app, '/v1/plans', { headers: question });
      expect(answer.status).toBe(200);
      expect(encodingOf(answer)).toBe(encoding);
    }
  });
});
