import { hash, randomBytes } from 'node:crypto';
import { readdirSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderManifest, toReleaseId } from '../../../generator/common/manifest.ts';
import { readMemory } from '../../bench/processes.ts';
import { createServable, startProcess } from '../../server/process.ts';
import type { ServerProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';
import { readManifest } from '../../server/targets.ts';

const mebibyte = 1024 * 1024;
const size = 200 * mebibyte;
/** Memory for 20 clients: buffers of streams and sockets, and garbage. */
const growthMegabytes = 160;

/** Adds a video to the current release: the generator accepts no file of this size. */
function addVideo(root: string, bytes: Buffer): void {
  const folder = realpathSync(join(root, 'dist/current'));
  const { files, ...head } = readManifest(root);
  writeFileSync(join(folder, 'public/media/video.mp4'), bytes);
  const all = { ...files, 'public/media/video.mp4': { bytes: bytes.length, sha256: hash('sha256', bytes) } };
  const manifest = { ...head, files: all };
  writeFileSync(join(folder, 'manifest.json'), renderManifest({ ...manifest, id: toReleaseId(manifest) }));
}

function open(port: number, range: string): Promise<IncomingMessage> {
  const headers = { Range: range };
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/media/video.mp4', headers, agent: false }, resolve);
    // Clients disconnect, as browsers do after a seek.
    sent.on('error', reject);
    sent.end();
  });
}

/** Reads the beginning of an open range, and disconnects. */
async function seek(port: number, at: number, bytes: Buffer): Promise<void> {
  const response = await open(port, `bytes=${at}-`);
  expect(response.statusCode).toBe(206);
  let received = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (!chunk.equals(bytes.subarray(at + received, at + received + chunk.length))) throw new Error('wrong bytes');
    received += chunk.length;
    if (received > mebibyte / 4) break;
  }
  response.destroy();
}

/** Counts the descriptors of the video. */
function openVideos({ child }: ServerProcess): number {
  const folder = `/proc/${child.pid}/fd`;
  return readdirSync(folder).filter((name) => {
    try {
      return readlinkSync(join(folder, name)).endsWith('/video.mp4');
    } catch {
      return false;
    }
  }).length;
}

test('20 clients that seek in a video of 200 MiB, and some that stop reading, cost little memory and no files', async () => {
  const { root, settings } = await createServable();
  const bytes = Buffer.concat(Array.from({ length: 4 }, () => randomBytes(size / 4)));
  addVideo(root, bytes);
  const server = startProcess(settings, { cwd: root });
  const port = await server.listening();
  await seek(port, 1, bytes);
  const before = readMemory(server.child.pid!, 'VmHWM');

  const stalled = await Promise.all(Array.from({ length: 5 }, () => open(port, 'bytes=0-')));
  const random = (at: number): number => Number.parseInt(hash('sha256', String(at)).slice(0, 8), 16) % size;
  await Promise.all(
    Array.from({ length: 20 }, async (_, client) => {
      for (let time = 0; time < 20; time += 1) {
        await seek(port, random(client * 100 + time), bytes);
      }
    }),
  );
  // Some disconnect before the answer begins.
  for (let time = 0; time < 50; time += 1) {
    const sent = request({ host: '127.0.0.1', port, path: '/media/video.mp4', agent: false });
    sent.on('error', () => undefined);
    sent.end();
    await new Promise((resolve) => setTimeout(resolve, time % 5));
    sent.destroy();
  }
  for (const response of stalled) response.destroy();

  const growth = readMemory(server.child.pid!, 'VmHWM') - before;
  process.stderr.write(`seeking in a video: ${Math.round(growth)} MiB more at the peak\n`);
  expect(growth).toBeLessThan(growthMegabytes);
  await expect.poll(() => openVideos(server), eventually).toBe(0);
});
