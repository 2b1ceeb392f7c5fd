import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  lutimesSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Manifest } from '#contract/release.ts';
import { CommandError } from '../../../generator/common/command-line.ts';
import { readCurrent } from '../../../generator/release/history.ts';
import { moveIntoPlace, verifyRelease } from '../../../generator/release/publish.ts';
import { listReleases, pruneReleases, rollback } from '../../../generator/release/releases.ts';
import { readTree, runIn } from '../../generator/releases.ts';
import { article, buildProject, createProject, runGenerator, runProgram, writeFiles } from '../../helpers/project.ts';
import type { CommandResult } from '../../helpers/project.ts';

/** Builds with a limit on file size, in blocks of 512 bytes. */
function buildLimited(cwd: string, blocks: number, ...args: string[]): Promise<CommandResult> {
  const main = resolve(import.meta.dirname, '../../../generator/main.js');
  const shell = ['-c', `ulimit -f ${blocks}; exec "$0" "$@"`, process.execPath, main, 'build', ...args];
  return runProgram('sh', shell, { cwd });
}

/** Writes articles with the version, up to 24 kB each, so publishing takes a while. */
function writeVersion(root: string, version: number): void {
  for (let index = 0; index < 20; index += 1) {
    const body = `Version ${version}.\n\n${'Some words of text.\n'.repeat(index * 30)}`;
    writeFiles(root, { [`content/blog/many/a${index}.md`]: article({}, body) });
  }
}

/** Lists leftovers of a build. */
function leftoversIn(root: string): string[] {
  const kept = new Set(['current', 'history', 'releases', '.cache', '.lock']);
  const others = readdirSync(join(root, 'dist')).filter((name) => !kept.has(name));
  return [...others, ...readdirSync(join(root, 'dist/releases')).filter((name) => !/^[0-9a-f]{16}$/.test(name))];
}

/** Makes leftovers look old. */
function ageLeftovers(root: string): void {
  for (const name of readdirSync(join(root, 'dist/releases'))) {
    if (name.startsWith('.stage-')) lutimesSync(join(root, 'dist/releases', name), 1, 1);
  }
}

async function verifyAll(root: string): Promise<void> {
  for (const id of readdirSync(join(root, 'dist/releases'))) await verifyRelease(join(root, 'dist/releases', id));
}

describe('a build that is killed', () => {
  const preload = `--import=${new URL('./kill-build.ts', import.meta.url).href}`;
  /** Runs a build that is killed before a change of `dist`; returns the number of changes. */
  async function build(cwd: string, killBefore?: number): Promise<number> {
    const env = { NODE_OPTIONS: preload, ...(killBefore && { KILL_BEFORE: String(killBefore) }) };
    const { status, stderr } = await runGenerator(['build', '--no-cache'], { cwd, env });
    expect(status).toBe(killBefore === undefined ? 0 : 'SIGKILL');
    return Number(/^(\d+) changes$/m.exec(stderr)?.[1]);
  }

  test('leaves the old release or its own complete release current, at each of 20 moments', async () => {
    const root = createProject();
    writeVersion(root, 0);
    await buildProject(root);
    writeVersion(root, 1);
    const changes = await build(root);
    // The last changes move the release and make it current.
    const moments = Array.from({ length: 20 }, (_, at) =>
      at < 10 ? 1 + Math.round((at * changes) / 10) : changes - 19 + at,
    );

    const published: number[] = [];
    for (const [at, moment] of moments.entries()) {
      const before = await readCurrent(join(root, 'dist'));
      writeVersion(root, 2 + at);
      await build(root, moment);
      const { id } = await verifyRelease(join(root, 'dist/current'));
      if (id !== before) published.push(moment);
      expect(await readCurrent(join(root, 'dist'))).toBe(id);
    }
    // Only the last moments come after the switch.
    expect(published.length).toBeGreaterThan(0);
    expect(published.length).toBeLessThan(10);

    ageLeftovers(root);
    expect((await buildProject(root, { noCache: true })).release).toBeDefined();
    expect(leftoversIn(root)).toEqual([]);
    await verifyAll(root);
  });

  test('is cleaned up by a build an hour later, which keeps recent stages', async () => {
    const root = createProject();
    await buildProject(root);
    const [abandoned, running] = ['.stage-0123456789abcdef', '.stage-fedcba9876543210'];
    mkdirSync(join(root, 'dist/releases', abandoned, 'v1'), { recursive: true });
    symlinkSync('releases/0123456789abcdef', join(root, `dist/releases/${abandoned}e`));
    ageLeftovers(root);
    mkdirSync(join(root, 'dist/releases', running, 'v1'), { recursive: true });
    await buildProject(root, { noCache: true });
    expect(leftoversIn(root)).toEqual([running]);
  });
});

test('a build switches the current release atomically', async () => {
  const root = createProject();
  await buildProject(root);
  const manifest = join(root, 'dist/current/manifest.json');
  let missing = 0;
  for (const version of [1, 2, 3]) {
    writeFiles(root, { 'content/blog/news/second.md': article({}, `Version ${version}.\n`) });
    const finished = new AbortController();
    const build = runGenerator(['build', '--no-cache'], { cwd: root }).finally(() => finished.abort());
    while (!finished.signal.aborted) {
      for (let attempt = 0; attempt < 500; attempt += 1) if (!existsSync(manifest)) missing += 1;
      await setImmediate();
    }
    expect((await build).status).toBe(0);
  }
  expect(missing).toBe(0);
  expect(readdirSync(join(root, 'dist/releases'))).toHaveLength(4);
});

describe('concurrent builds', () => {
  test('of different sources all publish, and readers never see a partial release', async () => {
    const roots = [1, 2, 3].map((version) => {
      const root = createProject();
      writeVersion(root, version);
      return root;
    });
    const dist = join(roots[0]!, 'dist');
    const before = await buildProject(roots[0]!);
    writeVersion(roots[0]!, 4);

    const finished = new AbortController();
    let reads = 0;
    const reader = (async () => {
      while (!finished.signal.aborted) {
        await verifyRelease(realpathSync(join(dist, 'current')));
        reads += 1;
      }
    })();
    const results = await Promise.all(
      roots.map((cwd) => runGenerator(['build', '--out', dist, '--format', 'json'], { cwd })),
    );
    finished.abort();
    await reader;
    expect(reads).toBeGreaterThan(0);
    expect(results.map(({ status }) => status)).toEqual([0, 0, 0]);
    const ids = results.map(({ stdout }) => (JSON.parse(stdout) as { release: string }).release);
    expect(readdirSync(join(dist, 'releases')).toSorted()).toEqual([before.release!.id, ...ids].toSorted());
    expect(ids).toContain(await readCurrent(dist));
    expect(leftoversIn(roots[0]!)).toEqual([]);
    await verifyAll(roots[0]!);
  });

  test('of the same sources publish one release', async () => {
    const root = createProject();
    const results = await Promise.all([1, 2, 3].map(() => runGenerator(['build'], { cwd: root })));
    expect(results.map(({ status }) => status)).toEqual([0, 0, 0]);
    const [id] = readdirSync(join(root, 'dist/releases'));
    expect((await verifyRelease(join(root, 'dist/current'))).id).toBe(id);
    expect(leftoversIn(root)).toEqual([]);
  });

  test('of the same sources repair a damaged release', async () => {
    const root = createProject();
    const { release } = await buildProject(root);
    for (let round = 0; round < 5; round += 1) {
      rmSync(join(root, 'dist/releases', release!.id, 'public/v1/plans.json'));
      await Promise.all([1, 2, 3, 4].map(() => buildProject(root)));
      await verifyAll(root);
    }
    expect(readdirSync(join(root, 'dist/releases'))).toEqual([release!.id]);
  });

  test('survive the removal of the previous release', async () => {
    const root = createProject();
    await buildProject(root);
    const former = join(root, 'dist/releases', (await readCurrent(join(root, 'dist')))!);
    writeVersion(root, 1);
    const { release } = await buildProject(root, { progress: () => rmSync(former, { recursive: true, force: true }) });
    await verifyRelease(join(root, 'dist/current'));
    expect(release!.id).toBe(await readCurrent(join(root, 'dist')));
  });

  test('of the same sources keep the first release', async () => {
    const root = createProject();
    const { release } = await buildProject(root);
    const path = join(root, 'dist/releases', release!.id);
    const [first, second] = [`${path}-first`, `${path}-second`];
    for (const stage of [first, second]) cpSync(path, stage, { recursive: true });
    rmSync(path, { recursive: true });
    const inode = statSync(first).ino;
    await moveIntoPlace(second, path, () => moveIntoPlace(first, path, async () => {}));
    expect(statSync(path).ino).toBe(inode);
    expect(readdirSync(join(root, 'dist/releases'))).toEqual([release!.id]);
    await verifyRelease(path);
  });
});

describe('a build that cannot be written', () => {
  test.each([2, 8, 24, 40])(
    'prints the error, ends with status 1 and leaves dist unchanged (file size limit of %i blocks)',
    async (blocks) => {
      const root = createProject();
      await buildProject(root);
      writeVersion(root, 1);
      const before = readTree(join(root, 'dist'));
      expect(await buildLimited(root, blocks, '--no-cache')).toEqual({
        status: 1,
        stdout: '',
        stderr:
          'the release could not be written, and the current release is unchanged: EFBIG: file too large, write\n',
      });
      expect(readTree(join(root, 'dist'))).toEqual(before);
      expect(leftoversIn(root)).toEqual([]);
      await verifyRelease(join(root, 'dist/current'));
    },
  );

  test('succeeds once there is space, with the memo of the failed build', async () => {
    const root = createProject();
    writeVersion(root, 1);
    expect((await buildLimited(root, 8)).status).toBe(1);
    const { release } = await buildProject(root);
    const other = createProject();
    writeVersion(other, 1);
    expect(release).toEqual((await buildProject(other)).release);
    expect(leftoversIn(root)).toEqual([]);
  });
});

test('another compression level gives another release, and does not change the first', async () => {
  const root = createProject();
  const build = async (level: string): Promise<Manifest> => {
    expect((await runIn(root, 'build', '--now', '2026-11-20', '--compress', level)).status).toBe(0);
    return verifyRelease(realpathSync(join(root, 'dist/current')));
  };
  const fast = await build('fast');
  const folder = join(root, 'dist/releases', fast.id);
  const before = readTree(folder);
  const best = await build('best');
  expect(best.id).not.toBe(fast.id);
  const isCompressed = (file: string): boolean => /\.(?:br|gz)$/.test(file);
  const plain = ({ files }: Manifest) => Object.entries(files).filter(([file]) => !isCompressed(file));
  expect(plain(best)).toEqual(plain(fast));
  const openApi = 'public/v1/openapi.json.br';
  expect(best.files[openApi]!.bytes).toBeLessThan(fast.files[openApi]!.bytes);
  expect(readTree(folder)).toEqual(before);
  // The release is the same with an empty memo.
  expect((await buildProject(createProject(), { compression: 'best' })).release).toEqual(best);
  expect(await build('fast')).toEqual(fast);
});

const rounds = 15;
/** A time when no release was current within the last hour. */
const tomorrow = new Date(Date.now() + 24 * 60 * 60 * 1000);

test('during concurrent prunes, lists and rollbacks, the reported current release exists', async () => {
  const root = createProject();
  const dist = join(root, 'dist');
  for (let number = 0; number < 8; number += 1) {
    writeFiles(root, { 'content/blog/news/second.md': article({}, `Number ${number}.\n`) });
    await buildProject(root);
  }
  const ids = (await listReleases(dist)).map(({ id }) => id);
  const [newest, oldest] = [ids[0]!, ids.at(-1)!];
  cpSync(join(dist, 'releases'), join(root, 'kept'), { recursive: true, preserveTimestamps: true });
  for (let round = 0; round < rounds; round += 1) {
    const prune = [pruneReleases(dist, 1, tomorrow), pruneReleases(dist, 1, tomorrow)];
    await sleep(round);
    const [back, ...others] = await Promise.allSettled([rollback(dist, oldest), listReleases(dist), ...prune]);
    expect(others.filter(({ status }) => status === 'rejected')).toEqual([]);
    if (back.status === 'rejected') expect(back.reason).toBeInstanceOf(CommandError);
    const { id } = await verifyRelease(join(dist, 'current'));
    expect(id).toBe(back.status === 'fulfilled' ? oldest : newest);
    rmSync(join(dist, 'releases'), { recursive: true });
    cpSync(join(root, 'kept'), join(dist, 'releases'), { recursive: true, preserveTimestamps: true });
    await rollback(dist, newest);
  }
});
