import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Aliases } from '#contract/articles.ts';
import { endpoints, fileOf, matchFile } from '#contract/endpoints.ts';
import { Manifest, isCompressed } from '#contract/release.ts';
import { CommandError } from '../common/command-line.ts';
import { makeCurrent, readCurrent, readFolders, readSwitches, withLock } from './history.ts';
import { removeRelease, verifyRelease } from './publish.ts';

/** Lists the releases below `out`, the most recently current first. Skips folders without a readable manifest. */
export async function listReleases(out: string) {
  const currentId = await readCurrent(out);
  const entries = [];
  // Releases that are not in the history have the time of their folder and come last.
  const byId = Map.groupBy([...readFolders(out), ...readSwitches(out)].toReversed(), ({ id }) => id);
  for (const [id, [latest]] of byId) {
    const manifest = await readManifest(join(out, 'releases', id)).catch(() => undefined);
    if (!manifest) continue;
    const { blogArticles, knowledgeBaseArticles } = manifest.counts;
    const bytes = Object.values(manifest.files).reduce((sum, file) => sum + file.bytes, 0);
    const articles = blogArticles + knowledgeBaseArticles;
    entries.push({ id, madeCurrentAt: latest!.at, current: id === currentId, articles, bytes });
  }
  return entries;
}

type Releases = Awaited<ReturnType<typeof listReleases>>;

/**
 * Makes an earlier release current again: the given one, or the one before the current one. Throws a
 * {@link CommandError} if there is none or it does not verify.
 */
export function rollback(out: string, id?: string, now?: Date): Promise<string> {
  return withLock(out, async () => {
    const releases = await listReleases(out);
    const target = id === undefined ? await findBefore(out, releases) : find(releases, id);
    try {
      await verifyRelease(join(out, 'releases', target));
    } catch (error) {
      throw new CommandError(`release ${target} is broken: ${(error as Error).message}`, { cause: error });
    }
    await makeCurrent(out, target, now);
    return target;
  });
}

/**
 * Finds the release that was current before the current one and still exists. A rollback undoes all switches after its
 * target, so that a second rollback goes back further.
 */
async function findBefore(out: string, releases: Releases): Promise<string> {
  const trail: string[] = [];
  for (const { id } of readSwitches(out)) {
    const earlier = trail.indexOf(id);
    if (earlier < 0) trail.push(id);
    else trail.length = earlier + 1;
  }
  const before = (await readCurrent(out)) === undefined ? [] : trail.slice(0, -1);
  const target = before.findLast((id) => releases.some((release) => release.id === id));
  if (target === undefined) throw new CommandError('there is no earlier release to go back to');
  return target;
}

/** Compressed files are left out: they change with the files that they are made from. */
const namesOf = (files: Manifest['files']): string[] => Object.keys(files).filter((file) => !isCompressed(file));

/** Opens a release by its ID or the beginning of it: its folder, and its files. */
async function open(out: string, id: string) {
  const directory = join(out, 'releases', find(await listReleases(out), id));
  return { directory, files: (await readManifest(directory)).files };
}

/** Compares two releases, file by file. */
export async function diffReleases(out: string, from: string, to: string) {
  const [{ files: before }, { files: after }] = [await open(out, from), await open(out, to)];
  return {
    added: namesOf(after).filter((file) => !before[file]),
    removed: namesOf(before).filter((file) => !after[file]),
    changed: namesOf(after).filter((file) => before[file] && before[file].sha256 !== after[file]!.sha256),
  };
}

/**
 * Lists the URLs, without the host, whose answers differ between two releases, sorted, for a purge of caches. A cache may hold
 * an answer under each spelling that clients use, and the 404 of a file that was not there.
 */
export async function diffUrls(out: string, from: string, to: string): Promise<string[]> {
  const read = async (id: string): Promise<Aliases> =>
    Aliases.parse(JSON.parse(await readFile(join((await open(out, id)).directory, fileOf('aliases')), 'utf8')));
  const [before, after] = [await read(from), await read(to)];
  const targets = Object.values(await diffReleases(out, from, to))
    .flat()
    .flatMap(toTargets);
  const isChanged = new Set(targets);
  const former = Object.keys({ ...before, ...after }).filter(
    (path) => before[path] !== after[path] || isChanged.has(toArticle(path, after[path]!)),
  );
  const all = [...targets, ...former.map((path) => toArticle(path, path))];
  return [...new Set(all.flatMap(toSpellings))].toSorted();
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
  const [, start, value] = /^(\/media\/|[^=]*=)(.*)$/s.exec(target) ?? [];
  return value === undefined ? [target] : [target, start + encodeURIComponent(value)];
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

function find(releases: Releases, id: string): string {
  const matches = releases.filter((release) => release.id.startsWith(id));
  if (matches.length === 1) return matches[0]!.id;
  throw new CommandError(
    matches.length === 0 ? `there is no release ${id}` : `${id} matches ${matches.length} releases`,
  );
}

async function readManifest(directory: string): Promise<Manifest> {
  return Manifest.parse(JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8')));
}
