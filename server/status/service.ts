import { dirname } from 'node:path';
import { replaceFile } from '#common/atomic-file.ts';
import { createFolder } from '#common/folder.ts';
import { createPoller } from '../upstream/poller.ts';
import type { PlatformStatus, StatusSource } from './types.ts';

/** Dependencies of the status service. */
export interface StatusOptions {
  readonly source: StatusSource;
  /** The file of the snapshot, which a CDN can serve. */
  readonly file?: string | undefined;
  /** Called at the first of several failures in a row to write the file. */
  readonly onFileFailure: (error: unknown) => void;
  /** Called at the first of several failed reads in a row. */
  readonly onSourceFailure?: (error: unknown) => void;
  readonly now?: () => number;
  readonly random?: () => number;
  /** How long a state is cached. */
  readonly cacheMs?: number;
  /**
   * How long a failed read is cached. Short, so that a recovery is soon visible; not zero, so that a hanging source gets
   * no read from each visitor.
   */
  readonly unknownMs?: number;
}

/** The state of the platform. */
export interface Status {
  /** Starts the background work: the monitors and the snapshot. */
  start(): void;
  /** Reads the state; undefined if unknown. Never rejects; concurrent calls share one read. */
  read(): Promise<PlatformStatus | undefined>;
  /** Closes the source, and waits for a running write; the last snapshot stays. */
  stop(): Promise<void>;
}

/** How often the state is read for the snapshot. */
const watchMs = 15_000;

/** An unchanged snapshot is rewritten after this time, so that its age shows whether it is maintained. */
const rewriteMs = 10_000;

/** Creates the status service. With a file, it polls, so that the snapshot is fresh without requests. */
export function createStatus(options: StatusOptions): Status {
  const { source, file, onFileFailure, onSourceFailure, random } = options;
  const { now = Date.now, cacheMs = 15_000, unknownMs = 2000 } = options;
  const snapshot = file === undefined ? undefined : createSnapshot(file, { now, onFailure: onFileFailure });
  let latest: { readonly status: PlatformStatus | undefined; readonly readAt: number } | undefined;
  let isFailing = false;
  let stopped = false;

  const maxAge = (): number => (latest?.status ? cacheMs : unknownMs);

  const refresh = async (): Promise<void> => {
    let status: PlatformStatus | undefined;
    try {
      status = await source.read();
      isFailing = false;
    } catch (error) {
      if (!isFailing && !stopped) onSourceFailure?.(error);
      isFailing = true;
    }
    latest = { status, readAt: now() };
    // After the stop the source is closed; the last snapshot stays.
    if (!stopped) snapshot?.write(JSON.stringify(status ?? { status: 'error' }));
  };
  const poller = createPoller({ read: refresh, everyMs: () => Math.min(maxAge(), watchMs), random });

  return {
    start() {
      source.start?.();
      if (snapshot) void poller.start();
    },
    async read() {
      const age = latest ? now() - latest.readAt : Infinity;
      // A negative age means that the clock was set back.
      if (age < 0 || age >= maxAge()) await poller.poll();
      return latest?.status;
    },
    async stop() {
      stopped = true;
      const ended = poller.stop();
      await source.close();
      await ended;
      await snapshot?.done();
    },
  };
}

interface Snapshot {
  /** Writes the text in the background if it changed or the file is old; the latest text wins. */
  write(text: string): void;
  /** Resolves when no write is running. */
  done(): Promise<void>;
}

function createSnapshot(
  file: string,
  { now, onFailure }: { readonly now: () => number; readonly onFailure: (error: unknown) => void },
): Snapshot {
  let latest: { readonly text: string; readonly at: number } | undefined;
  let writing = Promise.resolve();
  let isFailing = false;

  const replace = async (text: string): Promise<void> => {
    try {
      createFolder(dirname(file));
      await replaceFile(file, text, { flush: true });
      isFailing = false;
    } catch (error) {
      if (!isFailing) onFailure(error);
      isFailing = true;
      // The next read retries.
      latest = undefined;
    }
  };
  return {
    write(text) {
      if (latest?.text === text && Math.abs(now() - latest.at) < rewriteMs) return;
      const current = (latest = { text, at: now() });
      // Sequential, and only if still the latest: an older text must not be written last.
      writing = writing.then(() => (latest === current ? replace(text) : undefined));
    },
    done: () => writing,
  };
}
