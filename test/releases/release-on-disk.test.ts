import { hash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { buildProject, createProject, temporaryFolder } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';
import { serveProcess } from '../server/process.ts';
import { copyProject } from '../server/shared.ts';
import { servedFiles } from '../server/targets.ts';

const endings = { identity: '', gzip: '.gz', br: '.br' } as const;

/** Far less than the valid project, to cache little. */
const onDisk = { RELEASE_CACHE_BYTES: '16384' };

test('a release larger than the cache is served correctly, also repeatedly', async () => {
  const root = await copyProject();
  const files = servedFiles(root).flatMap(({ file, target }) =>
    Object.entries(endings)
      .map(([encoding, ending]) => ({ target, encoding, path: join(root, 'dist/current', file + ending) }))
      .filter(({ path }) => existsSync(path))
      .map(({ path, ...rest }) => ({ ...rest, bytes: readFileSync(path) })),
  );
  const app = await createTestApp({ root, settings: onDisk });
  for (let round = 0; round < 3; round += 1) {
    for (const { target, encoding, bytes } of files) {
      const answer = await ask(app, target, { headers: { 'Accept-Encoding': encoding } });
      expect({ target, encoding, same: answer.body.equals(bytes) }).toEqual({ target, encoding, same: true });
    }
  }
});

/** Reads the bodies of pipelined responses of one size. */
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

test('a slow reader gets the right bodies while other clients read other files', async () => {
  const size = 50_000;
  const images = Object.fromEntries(
    Array.from({ length: 30 }, (_, number) => [`content/media/${number}.webm`, randomBytes(size)]),
  );
  const root = createProject(images);
  await buildProject(root);
  const app = await createTestApp({ root, settings: { RELEASE_CACHE_BYTES: String(size * 8) } });
  const count = 200;
  const slow = connect(app.port, '127.0.0.1');
  slow.pause();
  slow.write('GET /media/0.webm HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(count));
  for (let round = 0; round < 2; round += 1) {
    for (let number = 1; number < 30; number += 1) {
      const { body } = await ask(app, `/media/${number}.webm`);
      expect(body.equals(images[`content/media/${number}.webm`]!)).toBe(true);
    }
  }
  const bodies = await readBodies(slow, count, size);
  expect(new Set(bodies.map((body) => hash('sha256', body)))).toEqual(
    new Set([hash('sha256', images['content/media/0.webm']!)]),
  );
});

test('a killed server leaves no files of a release', async () => {
  const data = temporaryFolder();
  const server = await serveProcess({ ...onDisk, DATA_DIR: data });
  expect((await ask(server, '/v1/plans')).status).toBe(200);
  server.child.kill('SIGKILL');
  await server.ended();
  expect(readdirSync(data).filter((name) => !name.startsWith('hosting.'))).toEqual([]);
});
