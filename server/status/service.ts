import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFile } from '#common/atomic-file.ts';
import { createPoller } from '../upstream/poller.ts';
import type { PlatformStatus, StatusSource } from './types.ts';

/** What the status service needs. */
export interface StatusOptions {
  readonly source: StatusSource;
  /** Where the snapshot is written, for a CDN to carry. */
  readonly file?: string | undefined;
  /** Is called once when the file cannot be written, and not again before it could be. */
  readonly onFileFailure: (error: unknown) => void;
  /** Is called once when the state is not known, and not again before it was. */
  readonly onSourceFailure?: (error: unknown) => void;
  readonly now?: () => number;
  readonly random?: () => number;
  /** How long a state is answered without another read. */
  readonly cacheMs?: number;
  /**
   * How long it is answered that the state is not known: short, so that the end of a failure soon shows; not zero, so that
   * a source that hangs is asked by one read at a time with a pause between, and not by each visitor again.
   */
  readonly unknownMs?: number;
}

/** The state of the platform, for everyone at once. */
export interface Status {
  /** Begins what goes on by itself: the monitors, and the snapshot. */
  start(): void;
  /** Undefined where it is not known. Never rejects; concurrent calls share one read. */
  read(): Promise<PlatformStatus | undefined>;
  /** Closes the source, and finishes what is being written; the last snapshot stays. */
  stop(): Promise<void>;
}

/** How often the state is read for the snapshot. */
const watchMs = 15_000;

/** A snapshot that did not change is still written every 30 s at least, so that its age shows whether it is kept up. */
const rewriteMs = 10_000;

/** Creates the status service. With a file, it reads by itself, so that the snapshot is fresh without any request. */
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
    // A source that was closed knows nothing, but what was written last was true when this ended.
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
      // With a clock that was set back, an age below zero would last for hours.
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

/** A file that always holds one whole snapshot. */
interface Snapshot {
  /** Writes the text where it changed, or was written a while ago; in the background, the latest text last. */
  write(text: string): void;
  /** Resolves when nothing is being written. */
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
      await mkdir(dirname(file), { recursive: true });
      await replaceFile(file, text, { flush: true });
      isFailing = false;
    } catch (error) {
      if (!isFailing) onFailure(error);
      isFailing = true;
      // The next read tries again.
      latest = undefined;
    }
  };
  return {
    write(text) {
      if (latest?.text === text && Math.abs(now() - latest.at) < rewriteMs) return;
      const own = (latest = { text, at: now() });
      // One after the other, and only what is still the latest then: an older text must not land last.
      writing = writing.then(() => (latest === own ? replace(text) : undefined));
    },
    done: () => writing,
  };
}
