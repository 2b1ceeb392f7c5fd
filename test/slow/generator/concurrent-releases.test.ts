import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { verifyRelease } from '../../../generator/release/publish.ts';
import { ReleasesError, listReleases, pruneReleases, rollback } from '../../../generator/release/releases.ts';
import { article, buildProject, createProject, writeFiles } from '../../helpers/project.ts';

const rounds = 15;
/** A time at which no release was current within the last hour. */
const tomorrow = new Date(Date.now() + 24 * 60 * 60 * 1000);

test('during concurrent prunes, lists and rollbacks, the current release exists and is the reported one', async () => {
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
    if (back.status === 'rejected') expect(back.reason).toBeInstanceOf(ReleasesError);
    const { id } = await verifyRelease(join(dist, 'current'));
    expect(id).toBe(back.status === 'fulfilled' ? oldest : newest);
    rmSync(join(dist, 'releases'), { recursive: true });
    cpSync(join(root, 'kept'), join(dist, 'releases'), { recursive: true, preserveTimestamps: true });
    await rollback(dist, newest);
  }
});
