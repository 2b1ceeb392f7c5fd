import { rmSync, unlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { ReleaseError } from '../../server/releases/files.ts';
import { loadRelease } from '../../server/releases/service.ts';
import { damages } from '../releases/damage.ts';
import { copyProject, sharedProject } from './shared.ts';
import { readManifest, servedFiles } from './targets.ts';

test('a loaded release has every requestable file', async () => {
  const root = await sharedProject();
  const release = await loadRelease(join(root, 'dist/current'));
  expect(release.id).toBe(readManifest(root).id);
  const served = servedFiles(root).map(({ target }) => target);
  expect(served.filter((target) => !release.find(target))).toEqual([]);
});

test.each(damages)('$name: the release is refused, and the error names the file', async ({ file, apply }) => {
  const root = await copyProject();
  const folder = join(root, 'dist/releases', readManifest(root).id);
  const damaged = apply(folder) ?? folder;
  const error = (await loadRelease(damaged).catch((reason: unknown) => reason)) as Error;
  expect(error).toBeInstanceOf(ReleaseError);
  expect(error.message).toContain(join('releases', basename(damaged), file));
  expect(error.message).not.toContain('\n');
});

test.each<[string, (dist: string) => void]>([
  ['there is no folder', (dist) => rmSync(dist, { recursive: true })],
  ['there is no current release', (dist) => unlinkSync(join(dist, 'current'))],
  ['the current release is gone', (dist) => rmSync(join(dist, 'releases'), { recursive: true })],
  [
    'the folder is empty',
    (dist) => ['releases', 'current'].map((name) => rmSync(join(dist, name), { recursive: true })),
  ],
])('%s: the start fails and names the link', async (_, remove) => {
  const root = await copyProject();
  const dist = join(root, 'dist');
  remove(dist);
  const error = await loadRelease(join(dist, 'current')).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ReleaseError);
  const message = `DIST_DIR: there is no release at ${dist}/current; build one first`;
  expect(error).toHaveProperty('message', message);
});
