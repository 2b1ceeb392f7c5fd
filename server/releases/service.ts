import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { readReleaseFile, streamReleaseFile } from './files.ts';
import type { ReleaseFile } from './files.ts';
import { createPoller } from '../upstream/poller.ts';
import { loadRelease } from './load.ts';
import type { LoadOptions, Release } from './load.ts';

/** What releases are opened with. */
export interface ReleasesOptions {
  /** The output folder of the generator. */
  readonly dist: string;
  /** The most bytes of files that are kept in memory. */
  readonly cacheBytes: number;
  /** Throws where this machine cannot use the monitors and maintenance of a release. */
  readonly checkStatus: LoadOptions['checkStatus'];
  /** Called when a new release is served. */
  readonly onLoaded: (release: Release) => void;
  /** Called when a new release is not served; the one before still is. */
  readonly onRejected: (error: unknown) => void;
}

/** The release that is being served. */
export interface Releases {
  current(): Release;
  /** Ends the watch for new releases. */
  stop(): void;
}

/** How often `current` is compared; with the time to verify, a new release is served well within 2 s. */
const pollMs = 250;

/** How long a release that was rejected is left alone: what kept it from being read may pass. */
const retryMs = 30_000;

/** Media that are longer are streamed: a few videos would push all articles out of memory. */
const longMediaBytes = 1024 * 1024;

/**
 * Loads the current release, and then each new one by itself: verified as a whole beside the requests, then switched to
 * in one step. Throws a {@link ReleaseError} where there is none that can be served.
 */
export async function openReleases(options: ReleasesOptions): Promise<Releases> {
  const { dist, cacheBytes, checkStatus, onLoaded, onRejected } = options;
  const link = join(dist, 'current');
  const readers = createReaders(cacheBytes);
  const load = (): Promise<Release> => loadRelease(link, { checkStatus, readers });
  let seen = await identify(link);
  let release = await load();
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
    stop() {
      stopped = true;
      void watch.stop();
    },
  };
}

/** Tells a release folder from any other, and from what stood at its place before. */
async function identify(link: string): Promise<string | undefined> {
  try {
    const directory = await realpath(link);
    const { ino, mtimeMs } = await stat(directory);
    return `${directory} ${ino} ${mtimeMs}`;
  } catch {
    return undefined;
  }
}

/** Creates the ways to the bytes of releases: an LRU by bytes over the folder, which serves releases old and new. */
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
    usual: { inMemory, read },
    media: { inMemory, read: (file) => (file.bytes > longMediaBytes ? streamReleaseFile(file) : read(file)) },
  };
}
