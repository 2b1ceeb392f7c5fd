import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Aliases } from '#contract/articles.ts';
import { endpoints, fileOf, matchFile } from '#contract/endpoints.ts';
import { Manifest, isCompressed } from '#contract/release.ts';
import { CommandError } from '../common/command-line.ts';
import { makeCurrent, readCurrent, readFolders, readSwitches, withLock } from './history.ts';
import { removeRelease, verifyRelease } from './publish.ts';

/** Lists the releases below `out`, most recently current first. Skips folders without a readable manifest. */
export async function listReleases(out: string) {
  const currentId = await readCurrent(out);
  const entries = [];
  // Releases missing from the history have the time of their folder, and come last.
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

type ReleaseList = Awaited<ReturnType<typeof listReleases>>;

/** Makes a given or the previous release current. Throws a {@link CommandError} if it is missing or damaged. */
export function rollback(out: string, id?: string, now?: Date): Promise<string> {
  return withLock(out, async () => {
    const releases = await listReleases(out);
    const target = id === undefined ? await findBefore(out, releases) : findById(releases, id);
    try {
      await verifyRelease(join(out, 'releases', target));
    } catch (error) {
      throw new CommandError(`release ${target} is broken: ${(error as Error).message}`, { cause: error });
    }
    await makeCurrent(out, target, now);
    return target;
  });
}

/** Finds the previous release. A rollback undoes all switches after its target, so a second one goes further back. */
async function findBefore(out: string, releases: ReleaseList): Promise<string> {
  const trail: string[] = [];
  for (const { id } of readSwitches(out)) {
    const earlier = trail.indexOf(id);
    if (earlier < 0) trail.push(id);
    else trail.length = earlier + 1;
  }
  const before = (await readCurrent(out)) === undefined ? [] : trail.slice(0, -1);
  const target = before.findLast((id) => releases.some((release) => release.id === id));
  if (target === undefined) throw new CommandError('there is no earlier release to roll back to');
  return target;
}

/** Lists files without their compressed forms, which change with them. */
const namesOf = (files: Manifest['files']): string[] => Object.keys(files).filter((file) => !isCompressed(file));

/** Finds the folder and the files of a release by its ID or a prefix. */
async function openById(out: string, id: string) {
  const directory = join(out, 'releases', findById(await listReleases(out), id));
  return { directory, files: (await readManifest(directory)).files };
}

/** Compares two releases, file by file. */
export async function diffReleases(out: string, from: string, to: string) {
  const [{ files: before }, { files: after }] = [await openById(out, from), await openById(out, to)];
  return {
    added: namesOf(after).filter((file) => !before[file]),
    removed: namesOf(before).filter((file) => !after[file]),
    changed: namesOf(after).filter((file) => before[file] && before[file].sha256 !== after[file]!.sha256),
  };
}

/** Lists the URLs to purge from caches: changed answers in every spelling, and former 404s. */
export async function diffUrls(out: string, from: string, to: string): Promise<string[]> {
  const read = async (id: string): Promise<Aliases> =>
    Aliases.parse(JSON.parse(await readFile(join((await openById(out, id)).directory, fileOf('aliases')), 'utf8')));
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

/** Lists the request targets of a file; private files have none. */
function toTargets(file: string): string[] {
  // The server derives the list of TLDs from this file.
  if (file === fileOf('domains')) return [endpoints.listDomainTlds.path];
  const { name, target } = matchFile(file) ?? {};
  if (target === undefined) return [];
  return name === 'getDocs' ? [target, `${target}/`] : [target];
}

/** Builds the request target of an article; the former path has the same kind, and the same endpoint. */
function toArticle(former: string, path: string): string {
  const { path: endpoint } = former.startsWith('/blog/') ? endpoints.getBlogArticle : endpoints.getKnowledgeBaseArticle;
  return `${endpoint}?path=${path}`;
}

/** Adds the spellings with encoded slashes, as of browsers and generated clients, and with a slash at the end of a path. */
function toSpellings(target: string): string[] {
  const [, start, value] = /^(\/media\/|[^=]*=)(.*)$/s.exec(target) ?? [];
  if (start === undefined || value === undefined) return [target];
  const values = start.endsWith('?path=') ? [value, `${value}/`] : [value];
  return values.flatMap((each) => [start + encodeURI(each), start + encodeURIComponent(each)]);
}

/** A running server may use a release for this long after it was replaced. */
const graceMs = 60 * 60 * 1000;

/**
 * Removes old releases, and returns their IDs. Keeps the current release, the `keep` latest, and all of the last hour.
 */
export function pruneReleases(out: string, keep: number, now = new Date()): Promise<string[]> {
  return withLock(out, async () => {
    const switches = readSwitches(out);
    const used = switches.filter((_, index) => (switches[index + 1]?.at ?? now).getTime() >= now.getTime() - graceMs);
    const inUse = new Set(used.map(({ id }) => id));
    const old = (await listReleases(out)).slice(keep).filter(({ id, current }) => !current && !inUse.has(id));
    for (const { id } of old) await removeRelease(join(out, 'releases', id));
    return old.map(({ id }) => id);
  });
}

function findById(releases: ReleaseList, id: string): string {
  const matches = releases.filter((release) => release.id.startsWith(id));
  if (matches.length === 1) return matches[0]!.id;
  throw new CommandError(
    matches.length === 0 ? `there is no release ${id}` : `${id} matches ${matches.length} releases`,
  );
}

async function readManifest(directory: string): Promise<Manifest> {
  return Manifest.parse(JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8')));
}
