import { readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createFolder, replaceFile } from '#common/files.ts';
import { StatusResponse } from '#contract/status.ts';
import type { StatusCatalog } from '#contract/status.ts';
import type { Base } from '../lifecycle.ts';
import { withTimeout } from '../timeout.ts';
import { createPoller } from '../upstream/poller.ts';
import { createMonitors } from './monitors.ts';
import type { PlatformStatus, StatusSource } from './platform.ts';
import { createUptimeKuma } from './uptime-kuma.ts';

/** Dependencies of the status service. */
export interface StatusOptions {
  readonly source: StatusSource;
  readonly file?: string | undefined;
  /** Called at the first of several failures in a row to write the file. */
  readonly onFileFailure: (error: unknown) => void;
  readonly onSourceFailure?: (error: unknown) => void;
  readonly now?: () => number;
  readonly random?: () => number;
  readonly cacheMs?: number;
}

/** The state of the platform. */
export type Status = ReturnType<typeof createStatus>;

/** How often the state is read for the snapshot. */
const watchMs = 15_000;
/** An unchanged snapshot is rewritten after this time, so that its age shows that it is maintained. */
const rewriteMs = 10_000;
/** How long a request waits for a read, and the timeout of Uptime Kuma. */
const waitMs = 5000;
/** The maximum age of a status. Visitors must not see an old one as the current one. */
const maxAgeMs = 10 * 60_000;
/** How long the last status is shown after reads began to fail. */
const graceMs = 60_000;
/** The pause after a failed read: a recovery is soon visible, but a hanging source gets no read from each visitor. */
const failedMs = 2000;

type StatusSettings = {
  readonly [name in 'UPTIME_KUMA_URL' | 'UPTIME_KUMA_STATUS_PAGE' | 'STATUS_FILE']?: string | undefined;
};

/** What the status needs of the server. */
interface StatusBase extends Base<StatusSettings> {
  readonly releases: { current(): { readonly status: StatusCatalog } };
  /** The base of the URLs of monitors that are only a path. */
  readonly ownUrl: () => string;
}

/** Opens the status: from Uptime Kuma if configured, else from the monitors of the catalog. */
export function openStatus({ env, log, opened, releases, ownUrl }: StatusBase): Status {
  const { UPTIME_KUMA_URL: url, UPTIME_KUMA_STATUS_PAGE: page } = env;
  const catalog = (): StatusCatalog => releases.current().status;
  const onChange = (name: string, up: boolean, reason: string | undefined): void =>
    log.info({ name, reason }, up ? 'a monitor is up' : 'a monitor is down');
  const status = createStatus({
    ...(url !== undefined && page !== undefined
      ? { source: createUptimeKuma({ url, page }, { timeoutMs: waitMs }) }
      : { source: createMonitors({ catalog, ownUrl, onChange }), cacheMs: 1000 }),
    file: env.STATUS_FILE,
    onFileFailure: (error) => log.error({ err: error }, 'the status cannot be written to STATUS_FILE'),
    onSourceFailure: (error) => log.warn({ err: error }, 'the status of the platform cannot be determined'),
  });
  opened.defer(() => status.stop());
  status.start();
  return status;
}

/** Creates the status service. With a file, it polls, so that the snapshot is fresh without requests. */
export function createStatus(options: StatusOptions) {
  const { source, file, onSourceFailure, random, now = Date.now, cacheMs = 15_000 } = options;
  const snapshot = file === undefined ? undefined : createSnapshot(file, options.onFileFailure, now);
  let last = snapshot?.restored();
  // `starting` until the first read of this process has ended.
  let phase: 'starting' | 'known' | 'failing' = 'starting';
  let failingSince = 0;
  let checkedAt = -Infinity;
  let stopped = false;

  const refresh = async (): Promise<void> => {
    try {
      const status = await source.read();
      last = { status, at: now() };
      phase = 'known';
      // After the stop the source is closed; the last snapshot stays.
      if (!stopped) snapshot?.write(JSON.stringify(status));
    } catch (error) {
      if (phase !== 'failing') {
        phase = 'failing';
        failingSince = now();
        if (!stopped) onSourceFailure?.(error);
      }
    }
    checkedAt = now();
  };
  const pauseMs = (): number => (phase === 'failing' ? failedMs : cacheMs);
  const poller = createPoller({ read: refresh, everyMs: () => Math.min(pauseMs(), watchMs), random });

  const known = (): PlatformStatus | undefined => {
    if (!last || now() - last.at > maxAgeMs) return undefined;
    return phase === 'failing' && now() - failingSince >= graceMs ? undefined : last.status;
  };
  return {
    start(): void {
      source.start?.();
      if (snapshot) void poller.start();
    },
    /** Reads the state; undefined if unknown. Never rejects, waits at most 5 s, and shares one read. */
    async read(): Promise<PlatformStatus | undefined> {
      const before = known();
      const age = now() - checkedAt;
      // A negative age means that the clock was set back.
      const refreshed = age < 0 || age >= pauseMs() ? poller.poll() : Promise.resolve();
      // A status that outlives a failure, or a restart, is not delayed by the next failure.
      if (before && phase !== 'known') return before;
      await withTimeout(refreshed, waitMs, () => undefined);
      return known();
    },
    /** Closes the source, and waits for a running write; the last snapshot stays. */
    async stop(): Promise<void> {
      stopped = true;
      const ended = poller.stop();
      await source.close();
      await ended;
      await snapshot?.done();
    },
  };
}

function createSnapshot(file: string, onFailure: (error: unknown) => void, now: () => number) {
  let latest: { readonly text: string; readonly at: number } | undefined;
  let writing = Promise.resolve();
  let isReported = false;

  const replace = async (text: string): Promise<void> => {
    try {
      createFolder(dirname(file));
      await replaceFile(file, text, { flush: true });
      isReported = false;
    } catch (error) {
      if (!isReported) onFailure(error);
      isReported = true;
      // The next read retries.
      latest = undefined;
    }
  };
  try {
    // What a process that was killed while it wrote has left; a younger one may be of another instance.
    for (const name of readdirSync(dirname(file))) {
      const path = join(dirname(file), name);
      const isOwn = name.startsWith(`${basename(file)}.`) && name.endsWith('.tmp');
      if (isOwn && now() - statSync(path).mtimeMs > 60_000) rmSync(path);
    }
  } catch {
    // The folder may be missing, or another instance may have removed it.
  }
  return {
    /** What an earlier process wrote; undefined if there is no status. */
    restored() {
      try {
        const status = StatusResponse.parse(JSON.parse(readFileSync(file, 'utf8')));
        return { status, at: statSync(file).mtimeMs };
      } catch {
        return undefined;
      }
    },
    /** Writes the text in the background if it changed or the file is old; the latest text wins. */
    write(text: string): void {
      if (latest?.text === text && Math.abs(now() - latest.at) < rewriteMs) return;
      const current = (latest = { text, at: now() });
      // An older text must not be written last.
      writing = writing.then(() => (latest === current ? replace(text) : undefined));
    },
    done: () => writing,
  };
}
