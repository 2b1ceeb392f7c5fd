import { existsSync, readdirSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Manifest, isCompressed } from '#contract/release.ts';
import { makeCurrent, readCurrent } from './current.ts';
import { inTurn } from './lock.ts';
import { removeRelease, verifyRelease } from './publish.ts';

/** A release that is kept. */
export interface ReleaseEntry {
  readonly id: string;
  /** When it was last published. */
  readonly publishedAt: Date;
  readonly current: boolean;
  readonly articles: number;
  readonly bytes: number;
}

/** What another release has more, less or otherwise. */
export interface ReleaseDiff {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** A request about releases that cannot be met; the message is for the operator. */
export class ReleasesError extends Error {
  override readonly name = 'ReleasesError';
}

/** Lists the releases below `out`, the last published first. A folder without a readable manifest is left out. */
export async function listReleases(out: string): Promise<ReleaseEntry[]> {
  const root = join(out, 'releases');
  const current = await readCurrent(out);
  const entries: ReleaseEntry[] = [];
  for (const id of existsSync(root) ? readdirSync(root) : []) {
    const manifest = id.startsWith('.') ? undefined : await readManifest(join(root, id)).catch(() => undefined);
    // One that is being removed may go at any moment.
    const stats = statSync(join(root, id), { throwIfNoEntry: false });
    if (!manifest || !stats) continue;
    const { blogArticles, knowledgeBaseArticles } = manifest.counts;
    entries.push({
      id,
      publishedAt: stats.mtime,
      current: id === current,
      articles: blogArticles + knowledgeBaseArticles,
      bytes: Object.values(manifest.files).reduce((sum, file) => sum + file.bytes, 0),
    });
  }
  return entries.toSorted((a, b) => b.publishedAt.getTime() - a.publishedAt.getTime());
}

/**
 * Makes an earlier release current again: the one named, or the one published before the current one. Throws a
 * {@link ReleasesError} where there is none or it does not verify.
 */
export function rollback(out: string, id?: string): Promise<string> {
  return inTurn(out, () => goBack(out, id));
}

async function goBack(out: string, id: string | undefined): Promise<string> {
  const releases = await listReleases(out);
  const at = releases.findIndex(({ current }) => current);
  const target = id === undefined ? releases[at + 1]?.id : find(releases, id);
  if (target === undefined || (id === undefined && at < 0))
    throw new ReleasesError('there is no earlier release to go back to');
  try {
    await verifyRelease(join(out, 'releases', target));
  } catch (error) {
    throw new ReleasesError(`release ${target} is broken: ${(error as Error).message}`, { cause: error });
  }
  await makeCurrent(out, target);
  return target;
}

/** Compares two releases, file by file. */
export async function diffReleases(out: string, from: string, to: string): Promise<ReleaseDiff> {
  const releases = await listReleases(out);
  const read = async (id: string) => (await readManifest(join(out, 'releases', find(releases, id)))).files;
  const [before, after] = [await read(from), await read(to)];
  return {
    added: namesOf(after).filter((file) => !before[file]),
    removed: namesOf(before).filter((file) => !after[file]),
    changed: namesOf(after).filter((file) => before[file] && before[file].sha256 !== after[file]!.sha256),
  };
}

/** Compressed forms follow the files they are made from, and say nothing new. */
function namesOf(files: Manifest['files']): string[] {
  return Object.keys(files).filter((file) => !isCompressed(file));
}

/** Removes all but the last published `keep` releases and the current one; answers the ids of the removed. */
export function pruneReleases(out: string, keep: number): Promise<string[]> {
  return inTurn(out, async () => {
    const old = (await listReleases(out)).slice(keep).filter(({ current }) => !current);
    for (const { id } of old) await removeRelease(join(out, 'releases', id));
    return old.map(({ id }) => id);
  });
}

function find(releases: readonly ReleaseEntry[], id: string): string {
  const matches = releases.filter((release) => release.id.startsWith(id));
  if (matches.length === 1) return matches[0]!.id;
  throw new ReleasesError(
    matches.length === 0 ? `there is no release ${id}` : `${id} stands for ${matches.length} releases`,
  );
}

async function readManifest(directory: string): Promise<Manifest> {
  return Manifest.parse(JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8')));
}
