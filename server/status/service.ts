import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFile } from '#common/atomic-file.ts';
import type { PlatformStatus, StatusSource } from './types.ts';

/** What the status service needs. */
export interface StatusOptions {
  readonly source: StatusSource;
  /** Where the snapshot is written, for a CDN to carry. */
  readonly file?: string | undefined;
  /** Is told once when the file cannot be written, and not again before it could be. */
  readonly onFileFailure: (error: unknown) => void;
  /** Is told once when the state is not known, and not again before it was. */
  readonly onSourceFailure?: (error: unknown) => void;
  readonly now?: () => number;
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

/** A snapshot that did not change is still written every 30 s at least, so that its age tells whether anyone looks after it. */
const watchMs = 15_000;
const rewriteMs = 14_000;

/** Creates the status service. With a file, it reads by itself, so that the snapshot is fresh without any request. */
export function createStatus(options: StatusOptions): Status {
  const { source, file, onFileFailure, onSourceFailure } = options;
  const { now = Date.now, cacheMs = 15_000, unknownMs = 2000 } = options;
  const snapshot = file === undefined ? undefined : createSnapshot(file, { now, onFailure: onFileFailure });
  let latest: { readonly status: PlatformStatus | undefined; readonly readAt: number } | undefined;
  let reading: Promise<PlatformStatus | undefined> | undefined;
  let isFailing = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  const maxAge = (status: PlatformStatus | undefined): number => (status ? cacheMs : unknownMs);

  const publish = (status: PlatformStatus | undefined): void => {
    // A source that was closed knows nothing, but what was written last was true when this ended.
    if (!stopped) snapshot?.write(JSON.stringify(status ?? { status: 'error' }));
  };

  const refresh = async (): Promise<PlatformStatus | undefined> => {
    let status: PlatformStatus | undefined;
    try {
      status = await source.read();
      isFailing = false;
    } catch (error) {
      if (!isFailing && !stopped) onSourceFailure?.(error);
      isFailing = true;
    }
    latest = { status, readAt: now() };
    publish(status);
    return status;
  };

  const read = async (): Promise<PlatformStatus | undefined> => {
    const age = latest ? now() - latest.readAt : Infinity;
    // With a clock that was set back, an age below zero would last for hours.
    if (latest && age >= 0 && age < maxAge(latest.status)) return latest.status;
    return await (reading ??= refresh().finally(() => (reading = undefined)));
  };

  const watch = async (): Promise<void> => {
    if (stopped) return;
    const status = await read();
    publish(status);
    // A timer may run a moment before its time by the other clock, and would be answered from the cache once more.
    if (!stopped) timer = setTimeout(() => void watch(), Math.min(maxAge(status) + 5, watchMs)).unref();
  };
  return {
    start() {
      source.start?.();
      if (snapshot) void watch();
    },
    read,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await source.close();
      await reading;
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
  let wanted = '';
  let written: { readonly text: string; readonly at: number } | undefined;
  let writing: Promise<void> | undefined;
  let isFailing = false;

  const isWritten = (): boolean => written?.text === wanted && Math.abs(now() - written.at) < rewriteMs;

  const work = async (): Promise<void> => {
    while (!isWritten()) {
      const text = wanted;
      try {
        // One after the other: an older text must not land last.
        // oxlint-disable-next-line no-await-in-loop
        await mkdir(dirname(file), { recursive: true });
        // oxlint-disable-next-line no-await-in-loop
        await replaceFile(file, text, { flush: true });
        written = { text, at: now() };
        isFailing = false;
      } catch (error) {
        if (!isFailing) onFailure(error);
        isFailing = true;
        // The next read tries again.
        return;
      }
    }
  };
  return {
    write(text) {
      wanted = text;
      writing ??= work().finally(() => (writing = undefined));
    },
    async done() {
      await writing;
    },
  };
}
