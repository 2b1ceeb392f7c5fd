import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  lutimesSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeCurrent, readCurrent } from '../../generator/release/history.ts';
import { verifyRelease } from '../../generator/release/publish.ts';
import { listReleases, pruneReleases, rollback } from '../../generator/release/releases.ts';
import { buildProject, createProject, writeFiles } from '../helpers/project.ts';
import { at, createReleases, readTree, runIn, sourcesOf, writeHistory } from './releases.ts';

const historyModule = new URL('../../generator/release/history.ts', import.meta.url).href;

function readHistory(dist: string): string[] {
  return readFileSync(join(dist, 'history'), 'utf8').split('\n');
}

const idsIn = (dist: string): string[] => readHistory(dist).map((line) => line.split(' ')[1] ?? '');

describe('the history', () => {
  test('gets a line for each build, republishing build and rollback', async () => {
    const root = createProject();
    const dist = join(root, 'dist');
    const started = Date.now();
    const [first, second] = [sourcesOf(1), sourcesOf(2)];
    const ids: string[] = [];
    for (const [files, noCache] of [
      [first, true],
      [second, false],
      [first, true],
      [second, false],
    ] as const) {
      writeFiles(root, files);
      ids.push((await buildProject(root, { noCache })).release!.id);
      expect(await readCurrent(dist)).toBe(ids.at(-1));
    }
    ids.push(await rollback(dist, ids[0]));
    expect(new Set(ids).size).toBe(2);
    expect(idsIn(dist)).toEqual([...ids, '']);
    for (const line of readHistory(dist).slice(0, -1)) {
      const [time = ''] = line.split(' ');
      expect(time).toBe(new Date(time).toISOString());
      expect(Date.parse(time)).toBeGreaterThanOrEqual(started);
      expect(Date.parse(time)).toBeLessThanOrEqual(Date.now());
    }
  });

  test('gets no line without a switch', async () => {
    const { root, dist, ids } = await createReleases(1);
    const before = readHistory(dist);
    await buildProject(root);
    await buildProject(root);
    await rollback(dist, ids[0]);
    writeFiles(root, { 'content/blog/news/second.md': 'x' });
    await buildProject(root);
    expect(readHistory(dist)).toEqual(before);
  });

  test('dates and orders releases by the last time they became current', async () => {
    const { dist, ids } = await createReleases(3);
    await rollback(dist, ids[0], at(90));
    expect((await listReleases(dist)).map(({ id, madeCurrentAt }) => [id, madeCurrentAt])).toEqual([
      [ids[0], at(90)],
      [ids[2], at(20)],
      [ids[1], at(10)],
    ]);
  });

  test('skips lines that cannot be parsed', async () => {
    const { dist, ids } = await createReleases(2);
    const [first, second] = readHistory(dist);
    const lines = ['', 'x', `2026-99-99T00:00:00.000Z ${ids[0]}`, first, `${first}x`, '\0\0\0', second, 'no line end'];
    writeFileSync(join(dist, 'history'), lines.join('\n'));
    expect((await listReleases(dist)).map(({ id }) => id)).toEqual([ids[1], ids[0]]);
    expect(await rollback(dist, undefined, at(30))).toBe(ids[0]);
    expect(readHistory(dist)).toEqual([...lines, `${at(30).toISOString()} ${ids[0]}`, '']);
  });

  test('that is not writable prevents a switch', async () => {
    const { root, dist, ids } = await createReleases(1);
    rmSync(join(dist, 'history'));
    symlinkSync('/nowhere/history', join(dist, 'history'));
    writeFiles(root, sourcesOf(7));
    await expect(buildProject(root)).rejects.toThrow('history');
    expect(await readCurrent(dist)).toBe(ids[0]);
  });
});

/** Only root may switch users and set the time of any link. */
describe.runIf(process.getuid?.() === 0)('a build by a user who does not own the link', () => {
  const otherUser = 65_534;

  /** Creates a release with an hour-old link owned by root, in folders of the given owner. */
  async function prepare(owner: number): Promise<string> {
    const { root, dist } = await createReleases(1);
    const hourAgo = Math.floor(Date.now() / 1000) - 3600;
    lutimesSync(join(dist, 'current'), hourAgo, hourAgo);
    for (const folder of [root, dist, join(dist, 'releases')]) chownSync(folder, owner, owner);
    chmodSync(root, 0o755);
    return dist;
  }

  /** Confirms the release as another user; returns the error code. */
  function confirm(dist: string): string {
    const code = `
      const { confirmCurrent } = await import(${JSON.stringify(historyModule)});
      process.seteuid(${otherUser});
      const failure = await confirmCurrent(${JSON.stringify(dist)}).catch((error) => error);
      console.log(failure?.code ?? 'confirmed');`;
    return execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' }).trim();
  }

  const ageOf = (dist: string): number => Date.now() - lstatSync(join(dist, 'current')).mtimeMs;

  test('replaces the link, which updates its time', async () => {
    const dist = await prepare(otherUser);
    const id = await readCurrent(dist);
    expect(confirm(dist)).toBe('confirmed');
    expect(ageOf(dist)).toBeLessThan(3_000_000);
    expect(await readCurrent(dist)).toBe(id);
  });

  test('fails if replacing fails, too', async () => {
    const dist = await prepare(0);
    expect(confirm(dist)).toBe('EACCES');
    expect(ageOf(dist)).toBeGreaterThan(3_500_000);
  });
});

describe('a rollback without an id', () => {
  /** Rolls back until no release is left; returns the number of each release. */
  async function rollBackAll(root: string, ids: readonly string[]): Promise<number[]> {
    const seen: number[] = [];
    for (;;) {
      const { stdout, stderr } = await runIn(root, 'releases', 'rollback');
      const [, id] = /^release (\w+) is current\n$/.exec(stdout) ?? [];
      expect(stderr).toBe(id ? '' : 'there is no earlier release to roll back to\n');
      if (!id) return seen;
      expect(await readCurrent(join(root, 'dist'))).toBe(id);
      seen.push(ids.indexOf(id));
    }
  }

  test.each<[string, number[], number[]]>([
    ['each release was built once', [0, 1, 2, 3], [2, 1, 0]],
    ['there was a rollback before', [0, 1, 2, 3, 2], [1, 0]],
    ['a release was built after a rollback', [0, 1, 2, 1, 3], [1, 0]],
    ['a rollback was undone by its id', [0, 1, 2, 0, 2], [0]],
    ['a rolled-back release was built again', [0, 1, 2, 1, 2], [1, 0]],
  ])('goes one release further back each time if %s', async (_, history, expected) => {
    const { root, dist, ids } = await createReleases(4);
    await makeCurrent(dist, ids[history.at(-1)!]!);
    writeHistory(dist, ...history.map((number, index): [number, string] => [index, ids[number]!]));
    expect(await rollBackAll(root, ids)).toEqual(expected);
  });

  test('skips releases that no longer exist', async () => {
    const { dist, ids } = await createReleases(4);
    rmSync(join(dist, 'releases', ids[2]!), { recursive: true });
    renameSync(join(dist, 'releases', ids[1]!), join(dist, 'releases/.stage-x'));
    expect(await rollback(dist)).toBe(ids[0]);
  });
});

describe('prune', () => {
  /** Lists the numbers of the remaining releases. */
  const left = (dist: string, ids: readonly string[]): number[] =>
    readdirSync(join(dist, 'releases'))
      .map((id) => ids.indexOf(id))
      .toSorted((a, b) => a - b);

  test.each<[number, number, number[]]>([
    // The releases became current at 0:00, 0:10, 0:20 and 0:30.
    [1, 31, [0, 1, 2, 3]],
    [1, 70, [0, 1, 2, 3]],
    [1, 71, [1, 2, 3]],
    [1, 80, [1, 2, 3]],
    [1, 90, [2, 3]],
    [1, 91, [3]],
    [2, 91, [2, 3]],
    [3, 9999, [1, 2, 3]],
    [9, 9999, [0, 1, 2, 3]],
  ])(
    'with --keep %i at minute %i also keeps releases current within the last hour: %j',
    async (keep, minute, expected) => {
      const { dist, ids } = await createReleases(4);
      const removed = await pruneReleases(dist, keep, at(minute));
      expect(left(dist, ids)).toEqual(expected);
      expect(new Set(removed)).toEqual(new Set(ids.filter((_, number) => !expected.includes(number))));
    },
  );

  test('keeps a release that was rolled back within the last hour', async () => {
    const { dist, ids } = await createReleases(4);
    await rollback(dist, ids[0], at(300));
    await pruneReleases(dist, 1, at(360));
    expect(left(dist, ids)).toEqual([0, 3]);
    await pruneReleases(dist, 1, at(361));
    expect(left(dist, ids)).toEqual([0]);
  });

  test('keeps all releases if the clock was set back', async () => {
    const { dist, ids } = await createReleases(3);
    expect(await pruneReleases(dist, 1, at(-9999))).toEqual([]);
    expect(left(dist, ids)).toEqual([0, 1, 2]);
  });
});

test.each<[string, string, (file: string) => void, RegExp]>([
  ['a file is empty', 'private/status.json', (file) => writeFileSync(file, ''), /^private\/status\.json has been/],
  ['the manifest is missing', 'manifest.json', (file) => rmSync(file), /ENOENT.*manifest\.json/],
  ['the manifest is truncated', 'manifest.json', (file) => writeFileSync(file, '{"id":'), /JSON/],
])('a build of the same sources repairs a damaged release if %s', async (_, file, damage, reason) => {
  const root = createProject();
  const { release } = await buildProject(root);
  const sound = readTree(join(root, 'dist/releases'));
  damage(join(root, 'dist/releases', release!.id, file));
  await expect(verifyRelease(join(root, 'dist/current'))).rejects.toThrow(reason);
  expect((await buildProject(root)).release).toEqual(release);
  expect(await verifyRelease(join(root, 'dist/current'))).toEqual(release);
  expect(readTree(join(root, 'dist/releases'))).toEqual(sound);
});
