import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Aliases } from '#contract/content.ts';
import { endpoints } from '#contract/endpoints.ts';
import { Manifest, isCompressed } from '#contract/release.ts';
import { fileOf, matchFile } from '#contract/static-files.ts';
import { makeCurrent, readCurrent, readFolders, readSwitches, withLock } from './history.ts';
import { removeRelease, verifyRelease } from './publish.ts';

/** A release in a list. */
export interface ReleaseEntry {
  readonly id: string;
  /** When it was last made the current one. */
  readonly madeCurrentAt: Date;
  readonly current: boolean;
  readonly articles: number;
  readonly bytes: number;
}

/** The differences between two releases, by file. */
export interface ReleaseDiff {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** A command on releases that cannot run as requested; the message is for the operator. */
export class ReleasesError extends Error {
  override readonly name = 'ReleasesError';
}

/** Lists the releases below `out`, the most recently current first. Skips folders without a readable manifest. */
export async function listReleases(out: string): Promise<ReleaseEntry[]> {
  const current = await readCurrent(out);
  const entries = new Map<string, ReleaseEntry>();
  // Releases that are not in the history have the time of their folder and come last.
  for (const { id, at } of [...readFolders(out), ...readSwitches(out)].toReversed()) {
    if (entries.has(id)) continue;
    const manifest = await readManifest(join(out, 'releases', id)).catch(() => undefined);
    if (!manifest) continue;
    const { blogArticles, knowledgeBaseArticles } = manifest.counts;
    entries.set(id, {
      id,
      madeCurrentAt: at,
      current: id === current,
      articles: blogArticles + knowledgeBaseArticles,
      bytes: Object.values(manifest.files).reduce((sum, file) => sum + file.bytes, 0),
    });
  }
  return [...entries.values()];
}

/**
 * Makes an earlier release current again: the given one, or the one before the current one. Throws a
 * {@link ReleasesError} if there is none or it does not verify.
 */
export function rollback(out: string, id?: string, now?: Date): Promise<string> {
  return withLock(out, async () => {
    const releases = await listReleases(out);
    const target = id === undefined ? await findBefore(out, releases) : find(releases, id);
    try {
      await verifyRelease(join(out, 'releases', target));
    } catch (error) {
      throw new ReleasesError(`release ${target} is broken: ${(error as Error).message}`, { cause: error });
    }
    await makeCurrent(out, target, now);
    return target;
  });
}

/**
 * Finds the release that was current before the current one and still exists. A rollback undoes all switches after its
 * target, so that a second rollback goes back further.
 */
async function findBefore(out: string, releases: readonly ReleaseEntry[]): Promise<string> {
  const trail: string[] = [];
  for (const { id } of readSwitches(out)) {
    const earlier = trail.indexOf(id);
    if (earlier < 0) trail.push(id);
    else trail.length = earlier + 1;
  }
  const before = (await readCurrent(out)) === undefined ? [] : trail.slice(0, -1);
  const target = before.findLast((id) => releases.some((release) => release.id === id));
  if (target === undefined) throw new ReleasesError('there is no earlier release to go back to');
  return target;
}

/** Compares two releases, file by file. */
export async function diffReleases(out: string, from: string, to: string): Promise<ReleaseDiff> {
  const releases = await listReleases(out);
  const read = async (id: string) => (await readManifest(join(out, 'releases', find(releases, id)))).files;
  return compare(await read(from), await read(to));
}

/** Lists the URLs whose answers differ between two releases, for a purge of caches. */
export async function diffUrls(out: string, from: string, to: string): Promise<string[]> {
  const releases = await listReleases(out);
  const read = async (id: string) => {
    const directory = join(out, 'releases', find(releases, id));
    const aliases = Aliases.parse(JSON.parse(await readFile(join(directory, fileOf('aliases')), 'utf8')));
    return { files: (await readManifest(directory)).files, aliases };
  };
  const [before, after] = [await read(from), await read(to)];
  const { added, removed, changed } = compare(before.files, after.files);
  return toUrls([...added, ...removed, ...changed], [before.aliases, after.aliases]);
}

/**
 * The URLs, without the host, whose answers change with these files of a release, sorted. A cache may hold an answer under
 * each spelling that clients use, and the 404 of a file that was not there. The aliases are those before and after.
 */
function toUrls(files: readonly string[], [before, after]: readonly [Aliases, Aliases]): string[] {
  const targets = files.flatMap((file) => toTargets(file));
  const changed = new Set(targets);
  const former = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((from) => {
    const isMoved = before[from] !== after[from];
    return isMoved || changed.has(toArticle(from, after[from]!));
  });
  const all = [...targets, ...former.map((from) => toArticle(from, from))];
  return [...new Set(all.flatMap((target) => toSpellings(target)))].toSorted();
}

/** The targets of a file; none if the world does not see it. */
function toTargets(file: string): string[] {
  // The server makes the list of TLDs from it.
  if (file === fileOf('domains')) return [endpoints.listDomainTlds.path];
  const { name, target } = matchFile(file) ?? {};
  if (target === undefined) return [];
  return name === 'getDocs' ? [target, `${target}/`] : [target];
}

/** The target of the article at a path; a former path of the same kind says which endpoint it is. */
function toArticle(former: string, path: string): string {
  const { path: endpoint } = former.startsWith('/blog/') ? endpoints.getBlogArticle : endpoints.getKnowledgeBaseArticle;
  return `${endpoint}?path=${path}`;
}

/** Browsers and generated clients encode slashes in a value of a query, and in the path of a media file. */
function toSpellings(target: string): string[] {
  const at = target.includes('=')
    ? target.indexOf('=') + 1
    : target.startsWith('/media/')
      ? '/media/'.length
      : undefined;
  return at === undefined ? [target] : [target, target.slice(0, at) + encodeURIComponent(target.slice(at))];
}

function compare(before: Manifest['files'], after: Manifest['files']): ReleaseDiff {
  return {
    added: namesOf(after).filter((file) => !before[file]),
    removed: namesOf(before).filter((file) => !after[file]),
    changed: namesOf(after).filter((file) => before[file] && before[file].sha256 !== after[file]!.sha256),
  };
}

/** Compressed files are left out: they change with the files that they are made from. */
function namesOf(files: Manifest['files']): string[] {
  return Object.keys(files).filter((file) => !isCompressed(file));
}

/** How long a running server may use a release after the switch to another. */
const graceMs = 60 * 60 * 1000;

/**
 * Removes all releases except the current one, the `keep` most recently current ones, and those that were current within
 * the last hour. Returns the IDs of the removed releases.
 */
export function pruneReleases(out: string, keep: number, now = new Date()): Promise<string[]> {
  return withLock(out, async () => {
    const switches = readSwitches(out);
    const inUse = new Set(
      switches
        .filter((_, index) => (switches[index + 1]?.at ?? now).getTime() >= now.getTime() - graceMs)
        .map(({ id }) => id),
    );
    const old = (await listReleases(out)).slice(keep).filter(({ id, current }) => !current && !inUse.has(id));
    for (const { id } of old) await removeRelease(join(out, 'releases', id));
    return old.map(({ id }) => id);
  });
}

function find(releases: readonly ReleaseEntry[], id: string): string {
  const matches = releases.filter((release) => release.id.startsWith(id));
  if (matches.length === 1) return matches[0]!.id;
  throw new ReleasesError(
    matches.length === 0 ? `there is no release ${id}` : `${id} matches ${matches.length} releases`,
  );
}

async function readManifest(directory: string): Promise<Manifest> {
  return Manifest.parse(JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8')));
}
