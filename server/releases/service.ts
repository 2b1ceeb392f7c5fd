import { fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, readSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DomainCatalog } from '#contract/domains.ts';
import type { StatusCatalog } from '#contract/status.ts';
import { createFilePack, createMemoryPack, openSpool } from './pack.ts';
import type { Pack } from './pack.ts';
import { ReleaseError, readContents, readManifest } from './load.ts';
import type { PackedFile, ReleaseContents } from './load.ts';

/** Where the bytes of releases are kept. */
export interface Keeping {
  /** A release of at most so many bytes, all encodings counted, is kept in memory; of a larger one, what was asked for of late. */
  readonly memoryBytes: number;
  /** Where a larger one is kept, in a file without a name. */
  readonly dataDir: string;
}

/** Bytes that are served as they are, mostly those of a file of a release. */
export interface StoredFile extends Omit<PackedFile, 'name'> {
  /** What kind of file of the release it is, where it is one. */
  readonly name?: PackedFile['name'];
  /**
   * Creates the function that lends the bytes of one of its spans. It may be called while the release is served, and in
   * the turn of the event loop in which the file was found: later the release may be gone.
   */
  readonly reader: Pack['reader'];
}

/** A release that was verified: what happens to its folder no longer matters to it. */
export interface Release {
  readonly id: string;
  /** The domain catalog, which only the server reads. */
  readonly domains: DomainCatalog;
  /** The monitors, likewise. */
  readonly status: StatusCatalog;
  /** Finds a file by what it is: a path, and a query value as it is meant. */
  readonly find: (target: string) => StoredFile | undefined;
  /** Gives up its bytes. */
  readonly close: () => void;
}

/** What the operator is told of releases. */
export interface ReleaseEvents {
  /** A new release is served. */
  taken(release: Release): void;
  /** A new release is not served, and the one before it still is. */
  refused(error: unknown): void;
}

/** The release that is being served. */
export interface Releases {
  current(): Release;
  /** Ends the watch for new releases. */
  stop(): void;
}

/** How often `current` is looked at; with the time to verify, a new release is served well within 2 s. */
const pollMs = 250;

/** How long a release that was refused is left alone: what kept it from being read may pass. */
const retryMs = 30_000;

/**
 * Loads the current release of `dist`, and takes up each new one by itself: verified as a whole beside the requests,
 * then switched to in one step. Throws a {@link ReleaseError} where there is none that can be served.
 */
export async function openReleases(dist: string, keeping: Keeping, events: ReleaseEvents): Promise<Releases> {
  const link = join(dist, 'current');
  let seen = await identify(link);
  let release = await loadRelease(link, keeping);

  let retryAt = Infinity;
  let stopped = false;
  const take = (next: Release): void => {
    const { close } = release;
    release = next;
    // Not before the requests that found a file of it in this turn have read it.
    setImmediate(close);
    events.taken(release);
  };
  const look = async (): Promise<void> => {
    const found = await identify(link);
    if (found === undefined || (found === seen && performance.now() < retryAt)) return;
    seen = found;
    try {
      const next = await loadRelease(link, keeping);
      retryAt = Infinity;
      if (stopped) next.close();
      else take(next);
    } catch (error) {
      retryAt = performance.now() + retryMs;
      if (!stopped) events.refused(error);
    }
  };
  let timer: NodeJS.Timeout | undefined;
  const watch = (): void => {
    timer = setTimeout(() => void look().finally(() => stopped || watch()), pollMs).unref();
  };
  watch();
  return {
    current: () => release,
    stop() {
      stopped = true;
      clearTimeout(timer);
      release.close();
    },
  };
}

/** What tells a release folder from any other, and from what stood at its place before. */
async function identify(link: string): Promise<string | undefined> {
  try {
    const directory = await realpath(link);
    const { ino, mtimeMs } = await stat(directory);
    return `${directory} ${ino} ${mtimeMs}`;
  } catch {
    return undefined;
  }
}

/** A manifest that is longer, of about a thousand articles, takes memory that a process would not give back. */
const longManifestBytes = 400_000;

/** Loads a release; throws a {@link ReleaseError} that names the first wrong file. */
export async function loadRelease(link: string, { memoryBytes, dataDir }: Keeping): Promise<Release> {
  const directory = await realpath(link).catch(() => {
    throw new ReleaseError(`${link}: there is no release; build one first`);
  });
  const { size } = await stat(join(directory, 'manifest.json')).catch(() => ({ size: 0 }));
  const manifest = size > longManifestBytes ? undefined : readManifest(directory);
  const total = Object.values(manifest?.files ?? {}).reduce((sum, { bytes }) => sum + bytes, 0);
  if (manifest && total <= memoryBytes) {
    const memory = new ArrayBuffer(total);
    return toRelease(await readContents(directory, manifest, memory), createMemoryPack(memory));
  }
  const file = openSpool(dataDir);
  try {
    return toRelease(await readBeside(directory, file), createFilePack(file, memoryBytes));
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** What the process that reads a release says of it. */
type Report =
  | { readonly contents: Omit<ReleaseContents, 'index'>; readonly index: { offset: number; size: number } }
  | { readonly refused: string; readonly cause: unknown };

/** Reads a release in a process of its own: the event loop is left to the requests, and all memory is given back. */
async function readBeside(directory: string, file: number): Promise<ReleaseContents> {
  const child = fork(join(import.meta.dirname, 'process.ts'), [directory], {
    // It needs none of our secrets.
    env: {},
    stdio: ['ignore', 'ignore', 'inherit', file, 'ipc'],
    serialization: 'advanced',
  });
  const ended = once(child, 'close').then(([code, signal]) => {
    throw new Error(`the process that reads the release ended by itself (${signal ?? code})`);
  });
  const [report] = (await Promise.race([once(child, 'message'), ended])) as [Report];
  if ('refused' in report) throw new ReleaseError(report.refused, { cause: report.cause });
  const index = Buffer.allocUnsafeSlow(report.index.size);
  readSync(file, index, 0, index.length, report.index.offset);
  return { ...report.contents, index: index.toString() };
}

function toRelease({ index, ...contents }: ReleaseContents, pack: Pack): Release {
  const files = toMap(index);
  return {
    ...contents,
    find(target) {
      const known = files.get(target);
      return known === undefined ? undefined : { ...(JSON.parse(known) as PackedFile), reader: pack.reader };
    },
    close: pack.close,
  };
}

/** The lines of an index by what stands before their tab; they are no copies, but parts of its text. */
function toMap(index: string): Map<string, string> {
  const files = new Map<string, string>();
  for (let start = 0; start < index.length;) {
    const tab = index.indexOf('\t', start);
    const end = index.indexOf('\n', tab);
    files.set(index.slice(start, tab), index.slice(tab + 1, end));
    start = end + 1;
  }
  return files;
}
