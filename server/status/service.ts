import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { replaceFile } from '#common/atomic-file.ts';
import { createFolder } from '#common/folder.ts';
import { StatusResponse } from '#contract/status.ts';
import { createPoller } from '../upstream/poller.ts';
import { initialState, isDue, knownStatus, toNextState, toPauseMs } from './status-state.ts';
import { UndecidedError } from './types.ts';
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
}

/** The state of the platform. */
export interface Status {
  /** Starts the background work: the monitors and the snapshot. */
  start(): void;
  /** Reads the state; undefined if unknown. Never rejects, and waits at most 5 s; concurrent calls share one read. */
  read(): Promise<PlatformStatus | undefined>;
  /** Closes the source, and waits for a running write; the last snapshot stays. */
  stop(): Promise<void>;
}

/** How often the state is read for the snapshot. */
const watchMs = 15_000;

/** An unchanged snapshot is rewritten after this time, so that its age shows whether it is maintained. */
const rewriteMs = 10_000;

/** How long a request waits for a read. */
const waitMs = 5000;

/** Creates the status service. With a file, it polls, so that the snapshot is fresh without requests. */
export function createStatus(options: StatusOptions): Status {
  const { source, file, onFileFailure, onSourceFailure, random } = options;
  const { now = Date.now, cacheMs = 15_000 } = options;
  const snapshot = file === undefined ? undefined : createSnapshot(file, { now, onFailure: onFileFailure });
  const restored = file === undefined ? undefined : readSnapshot(file);
  let state = restored ? toNextState(initialState, { kind: 'restored', ...restored }) : initialState;
  let isFailing = false;
  let stopped = false;

  const refresh = async (): Promise<void> => {
    try {
      const status = await source.read();
      state = toNextState(state, { kind: 'read', status, at: now() });
      isFailing = false;
      // After the stop the source is closed; the last snapshot stays.
      if (!stopped) snapshot?.write(JSON.stringify(status));
    } catch (error) {
      const kind = error instanceof UndecidedError ? 'undecided' : 'failed';
      state = toNextState(state, { kind, at: now() });
      if (kind === 'undecided') return;
      if (!isFailing && !stopped) onSourceFailure?.(error);
      isFailing = true;
    }
  };
  const poller = createPoller({ read: refresh, everyMs: () => Math.min(toPauseMs(state, cacheMs), watchMs), random });

  /** Reads if a read is due, and again while monitors are undecided. */
  const refreshIfDue = async (): Promise<void> => {
    const until = now() + waitMs;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one read at a time
      if (isDue(state, now(), cacheMs)) await poller.poll();
      if (state.phase !== 'starting' || stopped || now() >= until) return;
      // oxlint-disable-next-line no-await-in-loop
      await new Promise((resolve) => setTimeout(resolve, toPauseMs(state, cacheMs)));
    }
  };

  return {
    start() {
      source.start?.();
      if (snapshot) void poller.start();
    },
    async read() {
      const known = knownStatus(state, now());
      const refreshed = refreshIfDue();
      // A status that outlives a failure, or a restart, is not delayed by the next failure.
      if (known && state.phase !== 'known') return known;
      await waitFor(refreshed);
      return knownStatus(state, now());
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

/** Resolves when some work has ended, or after {@link waitMs}. */
async function waitFor(work: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMs);
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/** Reads the snapshot of an earlier process; undefined if there is none, or it holds no status. */
function readSnapshot(file: string): { status: PlatformStatus; at: number } | undefined {
  try {
    const status = StatusResponse.parse(JSON.parse(readFileSync(file, 'utf8')));
    return { status, at: statSync(file).mtimeMs };
  } catch {
    return undefined;
  }
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
