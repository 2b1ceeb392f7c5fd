import { hash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ReleaseError } from '../../server/releases/load.ts';
import { loadRelease } from '../../server/releases/service.ts';
import { createTestApp } from '../helpers/app.ts';
import { article, buildProject, createProject, temporaryFolder, writeFiles } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';
import { damages } from './damage.ts';
import { createServable, startProcess } from '../server/process.ts';
import { copyProject, eventually } from '../server/shared.ts';
import { readManifest, servedFiles } from '../server/targets.ts';

const endings = { identity: '', gzip: '.gz', br: '.br' } as const;

/** Far less than the sound project takes, so that it is on disk, and little of it in memory at a time. */
const onDisk = { RELEASE_CACHE_BYTES: '16384' };

test('a release that is too large for memory is served byte by byte, again and again, without its folder', async () => {
  const root = await copyProject();
  const files = servedFiles(root).flatMap(({ file, target }) =>
    Object.entries(endings)
      .map(([encoding, ending]) => ({ target, encoding, path: join(root, 'dist/current', file + ending) }))
      .filter(({ path }) => existsSync(path))
      .map(({ path, ...rest }) => ({ ...rest, bytes: readFileSync(path) })),
  );
  const app = await createTestApp({ root, settings: onDisk });
  rmSync(join(root, 'dist'), { recursive: true });
  for (let round = 0; round < 3; round += 1) {
    for (const { target, encoding, bytes } of files) {
      const answer = await ask(app, target, { headers: { 'Accept-Encoding': encoding } });
      expect({ target, encoding, same: answer.body.equals(bytes) }).toEqual({ target, encoding, same: true });
    }
  }
});

/** Reads the bodies of a hundred answers that come one after the other. */
async function readBodies(socket: Socket, count: number, size: number): Promise<Buffer[]> {
  let received = Buffer.alloc(0);
  const bodies: Buffer[] = [];
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, chunk]);
    for (let end = received.indexOf('\r\n\r\n'); end >= 0 && received.length >= end + 4 + size;) {
      bodies.push(received.subarray(end + 4, end + 4 + size));
      received = received.subarray(end + 4 + size);
      end = received.indexOf('\r\n\r\n');
    }
    if (bodies.length === count) break;
  }
  return bodies;
}

test('a client that is slow to read gets what it asked for, whatever others read meanwhile', async () => {
  const size = 50_000;
  const images = Object.fromEntries(
    Array.from({ length: 30 }, (_, number) => [`content/media/${number}.png`, randomBytes(size)]),
  );
  const root = createProject(images);
  await buildProject(root);
  const app = await createTestApp({ root, settings: { RELEASE_CACHE_BYTES: String(size * 8) } });
  const count = 200;
  const slow = connect(app.port, '127.0.0.1');
  slow.pause();
  slow.write('GET /media/0.png HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(count));
  for (let round = 0; round < 2; round += 1) {
    for (let number = 1; number < 30; number += 1) {
      const { body } = await ask(app, `/media/${number}.png`);
      expect(body.equals(images[`content/media/${number}.png`]!)).toBe(true);
    }
  }
  const bodies = await readBodies(slow, count, size);
  expect(new Set(bodies.map((body) => hash('sha256', body)))).toEqual(
    new Set([hash('sha256', images['content/media/0.png']!)]),
  );
});

test('nothing of a release is left behind by a server that is killed', async () => {
  const { root, settings } = await createServable();
  const data = join(root, 'data');
  const server = startProcess({ ...settings, ...onDisk, DATA_DIR: data });
  const port = await server.listening();
  expect((await ask({ port }, '/v1/plans')).status).toBe(200);
  server.child.kill('SIGKILL');
  await server.ended();
  expect(readdirSync(data).filter((name) => !name.startsWith('hosting.'))).toEqual([]);
});

test.runIf(existsSync('/proc/self/fd'))('a release that was replaced is given up on disk', async () => {
  const app = await createTestApp({ root: await copyProject(), settings: onDisk });
  const kept = (): string[] =>
    readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        const path = readlinkSync(join('/proc/self/fd', fd));
        return path.startsWith(join(app.root, 'data/release-')) ? [path] : [];
      } catch {
        return [];
      }
    });
  expect(kept()).toHaveLength(1);
  const [first] = kept();
  const content = article({ title: 'Changed', date: '2026-01-02' }, '## Details\n');
  writeFiles(app.root, { 'content/blog/news/first.md': content });
  await buildProject(app.root);
  await expect.poll(async () => (await ask(app, '/v1/blog/list')).text, eventually).toContain('Changed');
  await expect.poll(kept, eventually).toHaveLength(1);
  expect(kept()).not.toEqual([first]);
  await app.stop();
  expect(kept()).toEqual([]);
});

const some = [
  'public/v1/blog/article/news/first.json has one wrong byte',
  'public/v1/kb/article/vps/ssh.json.br has one wrong byte',
  'manifest.json has one wrong byte',
  'public/media/covers/cover.svg is missing',
  'a file is longer',
  'private/status.json is [], as the manifest has it',
];

test.each(damages.filter(({ name }) => some.includes(name)))(
  'a release too large for memory is never served where $name; the error names the file',
  async ({ file, apply }) => {
    const root = await copyProject();
    const folder = join(root, 'dist/releases', readManifest(root).id);
    const damaged = apply(folder) ?? folder;
    const loading = loadRelease(damaged, { memoryBytes: 0, dataDir: join(root, 'data') });
    await expect(loading).rejects.toBeInstanceOf(ReleaseError);
    await expect(loading).rejects.toThrow(join(damaged, file));
    expect(existsSync(join(root, 'data')) ? readdirSync(join(root, 'data')) : []).toEqual([]);
  },
);

test('a start fails where a release is too large for memory and DATA_DIR is no folder, and says so', async () => {
  const { settings } = await createServable();
  const data = join(temporaryFolder(), 'file');
  writeFileSync(data, '');
  const server = startProcess({ ...settings, ...onDisk, DATA_DIR: data });
  expect(await server.ended()).toBe(1);
  expect(server.stderr()).toMatch(/release-[0-9a-f-]{36}: a release cannot be kept there\n$/);
});
