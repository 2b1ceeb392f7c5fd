import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { Manifest } from '#contract/release.ts';
import { makeCurrent } from '../../../generator/release/history.ts';
import { article, buildProject, writeFiles } from '../../helpers/project.ts';
import { ask } from '../../server/ask.ts';
import type { Answer } from '../../server/ask.ts';
import { readMemory } from '../../bench/processes.ts';
import { flip } from '../../releases/damage.ts';
import { serveProcess } from '../../server/process.ts';
import type { ServerProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';

/** The CPU time of the server until any response, while reading a release too. */
const promptMs = 1_000;
/** The longest time until a release is refused, or until a response on a busy machine. */
const refusalMs = 60_000;
/** Far more than any file of the valid project, far less than an endless device. */
const growthMegabytes = 100;

/** Finds a file of a release by the end of its name, from the manifest, since folders of a release may change. */
function findFile(release: string, ending: string): string {
  const { files } = Manifest.parse(JSON.parse(readFileSync(join(release, 'manifest.json'), 'utf8')));
  const found = Object.keys(files).filter((file) => file.endsWith(ending));
  if (found.length !== 1) throw new Error(`${found.length} files of the release end with ${ending}`);
  return found[0]!;
}

/** Reads the errors of the log. */
const errors = (server: ServerProcess) => server.log().filter(({ level }) => level === 'error');

/** The CPU time of a process so far, in ms; Linux counts in hundredths of a second. */
function cpuOf({ child }: ServerProcess): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function askPromptly(
  server: ServerProcess & { port: number },
  target: string,
  options: Parameters<typeof ask>[2] = {},
): Promise<Answer> {
  const before = cpuOf(server);
  const answer = await Promise.race([ask(server, target, options), sleep(refusalMs, undefined, { ref: false })]);
  const cpu = cpuOf(server) - before;
  if (!answer || cpu > promptMs) throw new Error(`${target}: ${answer?.status ?? 'no answer'}, ${cpu} ms of CPU`);
  return answer;
}

const flipMiddle = (path: string): void => flip(path, 0.5);

function replaceBy(make: (path: string) => void): (path: string) => void {
  return (path) => {
    rmSync(path);
    make(path);
  };
}

/** Node.js has no function for this. */
function makeFifo(path: string): void {
  execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', path]);
}

/** Ways to replace or damage a file of the manifest. */
const kinds: Readonly<Record<string, (path: string) => void>> = {
  'a FIFO': replaceBy(makeFifo),
  'a link to an endless device': replaceBy((path) => symlinkSync('/dev/zero', path)),
  'a link to a device that never answers': replaceBy((path) => symlinkSync('/dev/tty', path)),
  'a link to itself': replaceBy((path) => symlinkSync(path, path)),
  'a folder': replaceBy((path) => mkdirSync(path)),
  'no file': (path) => rmSync(path),
  'an empty file': (path) => truncateSync(path),
  'a file that is one byte shorter': (path) => truncateSync(path, readFileSync(path).length - 1),
  'a file that is one byte longer': (path) => writeFileSync(path, ' ', { flag: 'a' }),
  'a sparse file of a terabyte': (path) => truncateSync(path, 2 ** 40),
  'a file with a flipped byte': flipMiddle,
};

const endings = ['blog/article/news/first.json', 'covers/cover.svg'];

/** Builds a release, damages one of its files, and makes it the current one. */
async function publishDamaged(root: string, round: number, damage: (path: string) => void): Promise<string> {
  const fields = { title: `Changed ${round}`, date: '2026-01-02' };
  writeFiles(root, { 'content/blog/news/first.md': article(fields, `## Details\n\nThis is ${round}.\n`) });
  // Built and damaged in another folder: the server must never see the intact release.
  const elsewhere = join(root, `elsewhere-${round}`);
  const { release } = await buildProject(root, { out: elsewhere });
  const folder = join(elsewhere, 'releases', release!.id);
  const file = findFile(folder, endings[round]!);
  damage(join(folder, file));
  renameSync(folder, join(root, 'dist/releases', release!.id));
  await makeCurrent(join(root, 'dist'), release!.id);
  // Opening the FIFO releases a reader that wrongly waits.
  const path = join(root, 'dist/releases', release!.id, file);
  onTestFinished(() => {
    if (lstatSync(path, { throwIfNoEntry: false })?.isFIFO()) {
      closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
    }
  });
  return file;
}

async function expectRefused(settings: Readonly<Record<string, string>>, damage: (path: string) => void) {
  const server = await serveProcess(settings);
  const old = (await ask(server, '/v1/blog/list')).text;
  const before = readMemory(server.child.pid!, 'VmRSS');
  for (const round of endings.keys()) {
    const file = await publishDamaged(server.root, round, damage);
    // On a busy machine, the refusal of the first release is logged again.
    const isRefused = () => errors(server).some((error) => JSON.stringify(error).includes(file));
    for (const end = performance.now() + refusalMs; !isRefused();) {
      if (performance.now() > end) throw new Error(`a release with a damaged ${file} was not refused`);
      expect((await askPromptly(server, '/health')).status).toBe(200);
      expect((await askPromptly(server, '/v1/blog/list')).text).toBe(old);
      await sleep(20);
    }
  }
  expect((await askPromptly(server, '/v1/blog/list')).text).toBe(old);
  expect((await askPromptly(server, '/ready')).status).toBe(200);
  expect(readMemory(server.child.pid!, 'VmRSS') - before).toBeLessThan(growthMegabytes);
}

describe('a damaged new release is refused, and the log names the file:', () => {
  test.each(Object.entries(kinds))('%s replaces a file', async (_, damage) => {
    await expectRefused({}, damage);
  });

  test.each(['a FIFO', 'a link to an endless device', 'a file with a flipped byte'])(
    'it has %s in the place of a file, and is too large for the cache',
    async (kind) => {
      await expectRefused({ RELEASE_CACHE_BYTES: '1' }, kinds[kind]!);
    },
  );
});

/** Files of the served release: the end of the name, a target, the error code if the file is unreadable, an encoding. */
const served = [
  ['blog/article/news/first.json', '/v1/blog/article?path=/blog/news/first', 'content_unavailable', 'identity'],
  ['blog/article/news/second.json.br', '/v1/blog/article?path=/blog/news/second', 'content_unavailable', 'br'],
  ['kb/article/vps/ssh.json.gz', '/v1/kb/article?path=/knowledgebase/vps/ssh&x=1', 'content_unavailable', 'gzip'],
  ['blog/list.json', '/v1/blog/list', 'content_unavailable', 'identity'],
  ['v1/plans.json', '/v1/plans', 'internal_error', 'identity'],
  ['kb/map.svg', '/media/kb/map.svg', 'internal_error', 'identity'],
] as const;

test.each<[string, damage: (path: string) => void]>([
  ['with a flipped byte', flipMiddle],
  ['that was removed', (path) => rmSync(path)],
  ['that was truncated', (path) => truncateSync(path, 10)],
  ['that became a FIFO', replaceBy(makeFifo)],
])('a damaged file of the served release is never sent: %s', async (_, damage) => {
  // Too small for any file: each response comes from the disk.
  const server = await serveProcess({ RELEASE_CACHE_BYTES: '1' });
  const release = join(server.root, 'dist/current');
  for (const [ending, target, code, encoding] of served) {
    const file = findFile(release, ending);
    const path = join(release, file);
    const kept = readFileSync(path);
    const request = (method = 'GET') =>
      askPromptly(server, target, { method, headers: { 'Accept-Encoding': encoding } });
    const whole = await request();
    expect({ file, status: whole.status, same: whole.body.equals(kept) }).toEqual({ file, status: 200, same: true });

    damage(path);
    for (let time = 1; time <= 3; time += 1) {
      const { status, text, headers } = await request();
      expect({ file, status, text }).toEqual({ file, status: 500, text: renderProblem('text', code) });
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' });
      expect(headers).not.toHaveProperty('etag');
      expect(headers).not.toHaveProperty('content-encoding');
    }
    const named = () => errors(server).filter((line) => JSON.stringify(line).includes(file));
    await expect.poll(named, eventually).not.toEqual([]);
    // HEAD reads no bytes, and may miss the damage.
    expect([200, 500]).toContain((await request('HEAD')).status);
    expect((await ask(server, '/v1/kb/list')).status).toBe(200);

    rmSync(path, { force: true });
    writeFileSync(path, kept);
    await expect.poll(async () => (await request()).status, eventually).toBe(200);
    const again = await request();
    expect({ file, same: again.body.equals(kept), etag: again.headers.etag }).toEqual({
      file,
      same: true,
      etag: whole.headers.etag,
    });
  }
});
