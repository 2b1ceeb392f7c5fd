import { hash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { article, buildProject, guide, writeFiles } from '../../helpers/project.ts';
import { ask } from '../../server/ask.ts';
import { createServable, startProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';
import { servedFiles } from '../../server/targets.ts';

const endings = { identity: '', gzip: '.gz', br: '.br' };

/** Targets of the same article: two that the fast path serves, and one that goes through h3. */
const changed = [
  '/v1/blog/article?path=/blog/news/first',
  '/v1/blog/article?path=%2Fblog%2Fnews%2Ffirst',
  '/v1/blog/article?path=/blog/news/first&x=1',
];
const gone = [
  '/v1/blog/article?path=/blog/news/second',
  '/v1/blog/article?path=%2Fblog%2Fnews%2Fsecond',
  '/v1/blog/article?path=/blog/news/second&x=1',
];
const added = ['/v1/kb/article?path=/knowledgebase/vps/added', '/v1/kb/article?path=/knowledgebase/vps/added&x=1'];

test.each([
  ['in memory', {}],
  ['on disk', { RELEASE_CACHE_BYTES: '16384' }],
])('after a new release, targets that were requested before are served from it, %s', async (_, settings) => {
  const { root, settings: servable } = await createServable();
  const server = startProcess(
    { ...servable, RATELIMIT_RPS: '100000', RATELIMIT_BURST: '100000', ...settings },
    { cwd: root },
  );
  const port = await server.listening();
  const request = (target: string, encoding: string, headers: Record<string, string> = {}) =>
    ask({ port }, target, { headers: { 'Accept-Encoding': encoding, ...headers } });
  const bytesOf = (encoding: keyof typeof endings): Buffer => {
    const { file } = servedFiles(root).find(({ target }) => target === changed[0])!;
    return readFileSync(join(root, 'dist/current', file + endings[encoding]));
  };
  const encodings = Object.keys(endings) as (keyof typeof endings)[];
  const etags = new Map<string, string>();
  const expectChanged = async (encoding: keyof typeof endings, target: string): Promise<void> => {
    const answer = await request(target, encoding);
    expect({ target, encoding, status: answer.status }).toEqual({ target, encoding, status: 200 });
    expect(answer.body.equals(bytesOf(encoding))).toBe(true);
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
    expect(answer.headers.etag).toBe(`"${hash('sha256', answer.body).slice(0, 32)}"`);
    etags.set(encoding, answer.headers.etag!);
  };
  const askAll = async (check: (encoding: keyof typeof endings) => Promise<void>): Promise<void> => {
    // Twice, so that the second request is served from the cache.
    for (let time = 0; time < 2; time += 1) for (const encoding of encodings) await check(encoding);
  };

  await askAll(async (encoding) => {
    for (const target of changed) await expectChanged(encoding, target);
    for (const target of gone) expect((await request(target, encoding)).status).toBe(200);
    for (const target of added) expect((await request(target, encoding)).status).toBe(404);
  });
  const before = new Map(etags);

  writeFiles(root, {
    'content/blog/news/first.md': article({ title: 'Changed', date: '2026-01-02' }, 'It is another one now.\n'),
    'content/knowledgebase/vps/added.md': guide('Added', 'It is new.\n'),
  });
  rmSync(join(root, 'content/blog/news/second.md'));
  const { release } = await buildProject(root);
  expect(await server.logged('new release')).toMatchObject({ release: release!.id });

  await askAll(async (encoding) => {
    for (const target of changed) {
      await expectChanged(encoding, target);
      const old = before.get(encoding)!;
      expect(etags.get(encoding)).not.toBe(old);
      expect((await request(target, encoding, { 'If-None-Match': old })).status).toBe(200);
      const same = await request(target, encoding, { 'If-None-Match': etags.get(encoding)! });
      expect({ status: same.status, etag: same.headers.etag }).toEqual({ status: 304, etag: etags.get(encoding) });
    }
    for (const target of gone) {
      expect((await request(target, encoding)).status).toBe(404);
      expect((await request(target, encoding, { 'If-None-Match': '*' })).status).toBe(404);
    }
    for (const target of added) expect((await request(target, encoding)).status).toBe(200);
  });
  await expect.poll(() => server.stderr(), eventually).toBe('');
});
