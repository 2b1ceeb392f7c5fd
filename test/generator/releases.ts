import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCurrent } from '../../generator/release/history.ts';
import { article, buildProject, createProject, sharedFolder } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';

/** A minute of the day, long ago, when these releases became current. */
export const at = (minute: number): Date => new Date(Date.UTC(2025, 0, 1, 0, minute));

/** The sources that differ between the releases. */
export const sourcesOf = (number: number): Files => ({
  'content/blog/news/second.md': article({}, `Number ${number}.\n`),
});

/** Writes the history of an output folder. */
export function writeHistory(dist: string, ...lines: [minute: number, id: string][]): void {
  writeFileSync(join(dist, 'history'), lines.map(([minute, id]) => `${at(minute).toISOString()} ${id}\n`).join(''));
}

let built: { readonly dist: string; readonly ids: readonly string[] } | undefined;

/** Builds four releases for all tests of a file. */
async function buildReleases() {
  const root = sharedFolder(() => (built = undefined));
  const ids: string[] = [];
  for (const number of [1, 2, 3, 4]) {
    createProject(sourcesOf(number), root);
    ids.push((await buildProject(root)).release!.id);
  }
  return { dist: join(root, 'dist'), ids };
}

/** Creates a project with some of the releases, which became current every ten minutes from 0:00. */
export async function createReleases(count: number): Promise<{ root: string; dist: string; ids: string[] }> {
  built ??= await buildReleases();
  const root = createProject(sourcesOf(count));
  const dist = join(root, 'dist');
  const ids = built.ids.slice(0, count);
  for (const id of ids) {
    const release = join('releases', id);
    cpSync(join(built.dist, release), join(dist, release), { recursive: true, preserveTimestamps: true });
  }
  await makeCurrent(dist, ids.at(-1)!);
  writeHistory(dist, ...ids.map((id, index): [number, string] => [index * 10, id]));
  return { root, dist, ids };
}
