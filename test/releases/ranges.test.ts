import { hash, randomBytes } from 'node:crypto';
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import type { TestApp } from '../helpers/app.ts';
import { ends } from '../helpers/ends.ts';
import { buildProject, createProject, temporaryFolder } from '../helpers/project.ts';
import type { OnEnd } from '../helpers/upstream.ts';
import { ask } from '../server/ask.ts';
import type { Answer } from '../server/ask.ts';
import { eventually } from '../server/shared.ts';
import { flipBit } from './damage.ts';

/** A file in memory and a streamed file. */
const files = { '/media/short.webm': randomBytes(1000), '/media/long.mp4': randomBytes(3_000_001) };

/** Starts a server with both files. */
async function serveFiles(onEnd: OnEnd = onTestFinished): Promise<TestApp> {
  const contents = Object.entries(files).map(([path, bytes]) => [`content${path}`, bytes]);
  const root = createProject(Object.fromEntries(contents), temporaryFolder(onEnd));
  await buildProject(root);
  return createTestApp({ root, onEnd });
}

describe.each(Object.entries(files))('%s', (target, bytes) => {
  const size = bytes.length;
  let app: TestApp;
  beforeAll(async () => {
    app = await serveFiles((end) => void ends.push(end));
  });
  const get = (range: string, headers = {}): Promise<Answer> =>
    ask(app, target, { headers: { Range: range, ...headers } });

  test('announces Accept-Ranges, also to HEAD', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await ask(app, target, { method });
      expect({ status, ranges: headers['accept-ranges'] }).toEqual({ status: 200, ranges: 'bytes' });
    }
  });

  test.each([
    ['bytes=0-0', 0, 0],
    ['bytes=0-', 0, size - 1],
    [`bytes=${size - 1}-`, size - 1, size - 1],
    ['bytes=3-998', 3, 998],
    [`bytes=100-${size * 2}`, 100, size - 1],
    ['bytes=-1', size - 1, size - 1],
    ['bytes=-700', size - 700, size - 1],
    [`bytes=-${size * 2}`, 0, size - 1],
    [`bytes=${Math.floor(size / 2)}-${size - 2}`, Math.floor(size / 2), size - 2],
    ['BYTES=0-9', 0, 9],
    [`bytes=0-${'9'.repeat(30)}`, 0, size - 1],
  ])('answers %s with 206 and the range', async (range, start, end) => {
    // The second answer may come from memory.
    for (let time = 0; time < 2; time += 1) {
      const { status, headers, body } = await get(range);
      expect(status).toBe(206);
      expect(headers).toMatchObject({
        'content-range': `bytes ${start}-${end}/${size}`,
        'content-length': String(end - start + 1),
        'content-type': target.endsWith('.mp4') ? 'video/mp4' : 'video/webm',
        'accept-ranges': 'bytes',
        'cache-control': expect.stringMatching(/^public, max-age=\d+/),
        etag: expect.stringMatching(/^"[0-9a-f]{32}"$/),
      });
      expect(hash('sha256', body)).toBe(hash('sha256', bytes.subarray(start, end + 1)));
    }
  });

  test.each([`bytes=${size}-`, `bytes=${size + 5}-${size + 9}`, 'bytes=-0', `bytes=${'9'.repeat(30)}-`])(
    'refuses %s, which is outside of it, with 416',
    async (range) => {
      const { status, headers, text } = await get(range);
      expect(status).toBe(416);
      expect(headers).toMatchObject({ 'content-range': `bytes */${size}`, 'cache-control': 'no-store' });
      expect(text).toBe('the range is outside of the file\n');
    },
  );

  test.each([
    'bytes=',
    'bytes=-',
    'bytes=9-3',
    'bytes=a-b',
    'bytes=0x1-9',
    'bytes=0-9z',
    'bytes=1.5-9',
    'bytes=0-1,5-6',
    'bytes=0-0,-1',
    'items=0-9',
    '0-9',
  ])('ignores %s and answers with the whole file', async (range) => {
    const { status, headers, body } = await get(range);
    expect(status).toBe(200);
    expect(headers).not.toHaveProperty('content-range');
    expect(body.equals(bytes)).toBe(true);
  });

  test('answers a range only if If-Range is the current strong ETag', async () => {
    const { etag } = (await ask(app, target)).headers;
    expect((await get('bytes=0-9', { 'If-Range': etag })).status).toBe(206);
    for (const other of [`W/${etag}`, '"other"', 'Fri, 01 Jan 2100 00:00:00 GMT', '*']) {
      expect((await get('bytes=0-9', { 'If-Range': other })).status).toBe(200);
      expect((await get(`bytes=${size}-`, { 'If-Range': other })).status).toBe(200);
    }
  });

  test('ignores a range of HEAD, and after a matching If-None-Match', async () => {
    const { headers } = await ask(app, target, { method: 'HEAD', headers: { Range: 'bytes=0-9' } });
    expect(headers['content-length']).toBe(String(size));
    expect((await get('bytes=0-9', { 'If-None-Match': headers.etag })).status).toBe(304);
  });
});

test('a changed segment on disk is 500 and logged, never sent; other segments are still served', async () => {
  const app = await serveFiles();
  const path = join(app.root, 'dist/current/public/media/long.mp4');
  const at = 2_000_000;
  flipBit(path, at);
  expect((await ask(app, '/media/long.mp4', { headers: { Range: 'bytes=0-999999' } })).status).toBe(206);
  const { status, text } = await ask(app, '/media/long.mp4', { headers: { Range: `bytes=${at + 1}-${at + 9}` } });
  expect({ status, text }).toEqual({ status: 500, text: 'something went wrong on our side\n' });
  // The damage is in the middle: the answer breaks off before it.
  const received = await app.raw('GET /media/long.mp4 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const begun = Buffer.from(received.slice(received.indexOf('\r\n\r\n') + 4), 'latin1');
  expect(begun.length).toBeLessThanOrEqual(at);
  expect(begun.equals(files['/media/long.mp4'].subarray(0, begun.length))).toBe(true);
  const errors = () => app.log().filter(({ level }) => level === 'error');
  await expect.poll(errors, eventually).toHaveLength(2);
  for (const line of errors()) expect(JSON.stringify(line)).toContain('long.mp4: the file does not match the manifest');
  truncateSync(path, at);
  expect((await ask(app, '/media/long.mp4', { headers: { Range: 'bytes=0-0' } })).status).toBe(500);
});
