import { lstat, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { maxWholeBytes, readReleaseFile, streamReleaseFile } from './files.ts';
import type { ReleaseFile } from './files.ts';
import type { Logger } from '../log.ts';
import { createPoller } from '../upstream/poller.ts';
import { loadRelease } from './load.ts';
import type { LoadOptions, Release } from './load.ts';

/** Options of the releases. */
export interface ReleasesOptions {
  /** The output folder of the generator. */
  readonly dist: string;
  /** The maximum size of the file cache in memory. */
  readonly cacheBytes: number;
  /** Throws if this machine cannot use the monitors and maintenance of a release. */
  readonly checkStatus: LoadOptions['checkStatus'];
  /** Called when a new release is served. */
  readonly onLoaded: (release: Release) => void;
  /** Called when a new release is rejected; the previous one is still served. */
  readonly onRejected: (error: unknown) => void;
}

/** The release that is being served. */
export interface Releases {
  current(): Release;
  /** Finds the current path of a knowledge base article by a current or former path. */
  findArticle(path: string): string | undefined;
  /** When a build last made or confirmed this release, in milliseconds since 1970: the time of the link `current`. */
  confirmedAt(): Promise<number>;
  /** Stops watching for new releases. */
  stop(): void;
}

/** How often `current` is checked; including verification, a new release is served within 2 s. */
const pollMs = 250;

const articleTarget = '/v1/kb/article?path=';

/** The pause before a rejected release is loaded again: the cause may be temporary. */
const retryMs = 30_000;

/** What the releases need of the server. */
export interface ReleasesBase {
  readonly env: { readonly DIST_DIR: string; readonly RELEASE_CACHE_BYTES: number };
  readonly log: Logger;
  readonly opened: AsyncDisposableStack;
  /** Creates what logs an error. */
  readonly report: (message: string) => (error: unknown) => void;
}

/** Opens the releases of a server, which logs each new one; they are closed with it. Throws a {@link ReleaseError}. */
export async function serveReleases(
  { env, log, opened, report }: ReleasesBase,
  checkStatus: LoadOptions['checkStatus'],
): Promise<Releases> {
  const releases = await openReleases({
    dist: env.DIST_DIR,
    cacheBytes: env.RELEASE_CACHE_BYTES,
    checkStatus,
    onLoaded: ({ id }) => log.info({ release: id }, 'new release'),
    onRejected: report('new release rejected; the previous one is still served'),
  });
  opened.defer(() => releases.stop());
  return releases;
}

/**
 * Loads the current release, and then watches for new ones. A new release is verified in the background, and then
 * replaces the old one atomically. Throws a {@link ReleaseError} if no release can be served.
 */
export async function openReleases(options: ReleasesOptions): Promise<Releases> {
  const { dist, cacheBytes, checkStatus, onLoaded, onRejected } = options;
  const link = join(dist, 'current');
  const readers = createReaders(cacheBytes);
  const load = (): Promise<Release> => loadRelease(link, { checkStatus, readers });
  let seen = await identify(link);
  let release = await load();
  let loaded = seen;
  let confirmedAt = (await lstat(link)).mtimeMs;
  let retryAt = Infinity;
  let stopped = false;

  const poll = async (): Promise<void> => {
    const found = await identify(link);
    if (found === undefined || (found === seen && performance.now() < retryAt)) return;
    seen = found;
    try {
      const next = await load();
      retryAt = Infinity;
      if (stopped) return;
      release = next;
      loaded = found;
      onLoaded(release);
    } catch (error) {
      retryAt = performance.now() + retryMs;
      if (!stopped) onRejected(error);
    }
  };
  const watch = createPoller({ read: poll, everyMs: () => pollMs });
  void watch.start();
  return {
    current: () => release,
    findArticle(path) {
      const file = release.find(articleTarget + path);
      return file && (file.location?.slice(articleTarget.length) ?? path);
    },
    async confirmedAt() {
      // While a new release is rejected, the time of the link is not that of the release that is served.
      if ((await identify(link)) === loaded) confirmedAt = (await lstat(link)).mtimeMs;
      return confirmedAt;
    },
    stop() {
      stopped = true;
      void watch.stop();
    },
  };
}

/** Identifies a release folder: a replaced folder at the same path gets another identity. */
async function identify(link: string): Promise<string | undefined> {
  try {
    const directory = await realpath(link);
    const { ino, mtimeMs } = await stat(directory);
    return `${directory} ${ino} ${mtimeMs}`;
  } catch {
    return undefined;
  }
}

/** Creates the readers of release files. They share one LRU cache, which outlives a switch of releases. */
function createReaders(cacheBytes: number): LoadOptions['readers'] {
  const cache = new LRUCache<string, Buffer, ReleaseFile>({
    // Zero would mean no limit.
    maxSize: Math.max(1, cacheBytes),
    sizeCalculation: ({ length }) => Math.max(1, length),
    fetchMethod: (_hash, _stale, { context }) => readReleaseFile(context),
  });
  const inMemory = ({ sha256 }: ReleaseFile): Buffer | undefined => cache.get(sha256);
  const read = async (file: ReleaseFile): Promise<Buffer> => (await cache.fetch(file.sha256, { context: file }))!;
  return {
    default: { inMemory, read },
    media: {
      inMemory,
      read: (file, range) => (file.bytes > maxWholeBytes ? streamReleaseFile(file, range) : read(file)),
    },
  };
}
