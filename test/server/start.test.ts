import { rmSync, unlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ReleaseError } from '../../server/releases/load.ts';
import { loadRelease, openReleases } from '../../server/releases/service.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { damages } from '../releases/damage.ts';
import { copyProject, sharedProject } from './shared.ts';
import { readManifest, servedFiles } from './targets.ts';

const keeping = { memoryBytes: 1_000_000, dataDir: '/nowhere' };
const events = { taken: () => undefined, refused: () => undefined };

async function failureOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: Error) => error,
  );
}

describe('a release is loaded', () => {
  test('whole, with every file that can be asked for', async () => {
    const root = await sharedProject();
    const { id, find } = await loadRelease(join(root, 'dist/current'), keeping);
    expect(id).toBe(readManifest(root).id);
    const served = servedFiles(root).map(({ target }) => target);
    expect(served.filter((target) => !find(target))).toEqual([]);
  });

  test.each(damages)('never where $name; the error names the file', async ({ file, apply }) => {
    const root = await copyProject();
    const folder = join(root, 'dist/releases', readManifest(root).id);
    const damaged = apply(folder) ?? folder;
    const error = await failureOf(loadRelease(damaged, keeping));
    expect(error).toBeInstanceOf(ReleaseError);
    expect(error.message).toContain(join('releases', basename(damaged), file));
    expect(error.message).not.toContain('\n');
  });
});

describe('the start fails, and names the link,', () => {
  test.each<[string, (dist: string) => void]>([
    ['there is no folder', (dist) => rmSync(dist, { recursive: true })],
    ['there is no current release', (dist) => unlinkSync(join(dist, 'current'))],
    ['the current release is gone', (dist) => rmSync(join(dist, 'releases'), { recursive: true })],
  ])('where %s', async (_, remove) => {
    const root = await copyProject();
    const dist = join(root, 'dist');
    remove(dist);
    const error = await failureOf(openReleases(dist, keeping, events));
    expect(error).toBeInstanceOf(ReleaseError);
    expect(error.message).toBe(`${dist}/current: there is no release; build one first`);
  });

  test('where the folder is empty', async () => {
    const dist = temporaryFolder();
    const error = await failureOf(openReleases(dist, keeping, events));
    expect(error.message).toBe(`${dist}/current: there is no release; build one first`);
  });
});
