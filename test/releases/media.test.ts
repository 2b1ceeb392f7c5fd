import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mediaTypes } from '#contract/articles.ts';
import { createTestApp } from '../helpers/app.ts';
import { mediaSamples } from '../helpers/media.ts';
import { buildProject, createProject } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';
import { sharedApp } from '../server/shared.ts';

describe('a media file', () => {
  test('is served unchanged, with the type of its extension and a CSP without scripts but with playback', async () => {
    const endings = Object.entries(mediaTypes);
    const root = createProject(
      Object.fromEntries(endings.map(([ending]) => [`content/media/types/a_file-1.${ending}`, mediaSamples[ending]!])),
    );
    await buildProject(root);
    const app = await createTestApp({ root });
    for (const [ending, mediaType] of endings) {
      const answer = await ask(app, `/media/types/a_file-1.${ending}`, { headers: { 'Accept-Encoding': 'gzip, br' } });
      expect(answer.status).toBe(200);
      expect(answer.headers).toMatchObject({
        'content-type': mediaType,
        'content-length': String(answer.body.length),
        'content-security-policy': /^(?:audio|video)\//.test(mediaType)
          ? "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'"
          : "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        'x-content-type-options': 'nosniff',
        etag: expect.stringMatching(/^"[0-9a-f]{32}"$/),
        'cache-control': expect.stringMatching(/^public, max-age=\d+/),
      });
      expect(answer.headers).not.toHaveProperty('content-encoding');
      expect(answer.headers).not.toHaveProperty('vary');
      expect(answer.body.equals(mediaSamples[ending]!)).toBe(true);
    }
  });

  test.each([
    '/media/kb/m%61p.svg',
    '/media/kb/map.svg?v=2',
    '/media/./kb/map.svg',
    // The spelling of generated clients.
    '/media/kb%2Fmap.svg',
    '/media/kb%2fmap.svg',
    '/media/%6bb%2Fm%61p.svg?v=2',
    '/m%65dia/kb%2Fmap.svg',
  ])('is also found by %s', async (target) => {
    const app = await sharedApp();
    const answer = await ask(app, target);
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(readFileSync(join(app.root, 'content/media/kb/map.svg'), 'utf8'));
    expect(answer.headers['content-security-policy']).toBe("default-src 'none'; style-src 'unsafe-inline'; sandbox");
  });

  test.each([
    '/media/none.svg',
    '/media/kb',
    '/media/kb/map',
    '/media/kb/MAP.svg',
    '/media/kb/map.svg.gz',
    '/media/kb/map.svg%00',
    '/media/__proto__',
    '/media/constructor',
    '/media/%zz',
    '/media/%',
    '/media/%c3%28',
  ])('that does not exist gives a 404 as text (%s)', async (target) => {
    const app = await sharedApp();
    const answer = await ask(app, target);
    expect(answer.status).toBe(404);
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(answer.text).toBe('media file not found\n');
  });
});

test.each([
  '/media',
  '/media/',
  '/media/kb/',
  '/media/../v1/plans.json',
  '/media/kb/../../manifest.json',
  '/media/%2E%2E%2Fmanifest.json',
  '/media/..%2f..%2fpackage.json',
  '/media/..%5cmanifest.json',
  '/media/kb%5Cmap.svg',
  '/media/kb%2F%2Fmap.svg',
  '/media/%2Fkb%2Fmap.svg',
  '/media/kb%2Fmap.svg%00',
  '/media/kb%2F..%2Fkb%2Fmap.svg',
  '/media/kb%2F%2e%2e%2Fkb%2Fmap.svg',
  '/media/kb%2Fmap.svg%2F',
  '/media/kb%252Fmap.svg',
  '/media/kb%25%32%46map.svg',
  '/media/kb%c0%afmap.svg',
  '/media/kb%EF%BC%8Fmap.svg',
  '/media%2Fkb%2Fmap.svg',
  '/media/..\\manifest.json',
  '/media/....//manifest.json',
  '/media//etc/passwd',
  '/media/file:///etc/passwd',
  '/manifest.json',
  '/private/domains.json',
  '/media/..%2f..%2fprivate/domains.json',
  '/public/v1/plans.json',
  '/schemas/blog.json',
  '/dist/current/manifest.json',
  '/v1/plans.json',
  '/v1/blog/list.json.gz',
  '/v1/kb/list/vps.json',
  '/package.json',
])('%s serves no file', async (target) => {
  const app = await sharedApp();
  const answer = await ask(app, target);
  expect(answer.status).toBe(404);
  // Names an endpoint of the contract, never text of the client.
  const unknown =
    /^\{"success":false,"error":"not_found","message":"Endpoint not found(?:; the nearest is [^"]+)?"\}\n$/;
  expect(answer.text).toMatch(answer.text.startsWith('{') ? unknown : /^media file not found\n$/);
});
