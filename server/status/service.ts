import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { createFolder, replaceFile } from '#common/files.ts';
import { StatusResponse } from '#contract/status.ts';
import type { StatusCatalog } from '#contract/status.ts';
import type { Base } from '../lifecycle.ts';
import type { Logger } from '../log.ts';
import { checkStatusFile } from '../settings.ts';
import { withTimeout } from '../timeout.ts';
import { OpenUpstreamUrl } from '../upstream/address.ts';
import { createPoller } from '../upstream/poller.ts';
import { createMonitors } from './monitors.ts';
import { statusWaitMs } from './platform.ts';
import type { PlatformStatus, StatusSource } from './platform.ts';
import { createUptimeKuma } from './uptime-kuma.ts';

type StatusLog = Pick<Logger, 'error' | 'warn' | 'info'>;

/** The status service. */
export type Status = ReturnType<typeof createStatus>;

/** How often the state is read for the snapshot. */
const watchMs = 15_000;
/** An unchanged snapshot is rewritten this often, to show that a server maintains the file. */
const rewriteMs = 10_000;
/** The maximum age of a status that visitors see. */
const maxAgeMs = 10 * 60_000;
/** How long the last status is shown while reads fail. */
const graceMs = 60_000;
/** The pause after a failed read: short enough for recoveries, long enough to spare a hanging source. */
const failedMs = 2000;

/** The settings of the status. */
export const StatusSettings = z.object({
  UPTIME_KUMA_URL: OpenUpstreamUrl.optional().describe(
    'The base URL of Uptime Kuma; the default is the monitors of the catalog.',
  ),
  UPTIME_KUMA_STATUS_PAGE: z
    .string()
    .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/i, 'must be the slug of a status page')
    // Uptime Kuma stores slugs in lower case, and 1.23 never responds to others.
    .toLowerCase()
    .optional()
    .describe('The slug of the status page of Uptime Kuma.'),
  STATUS_FILE: z.string().optional().describe('A file to which the status is written, too.'),
});

interface StatusBase extends Base<z.infer<typeof StatusSettings>> {
  readonly releases: { current(): { readonly status: StatusCatalog } };
  /** Returns the base URL for monitors of a path. */
  readonly ownUrl: () => string;
}

/** Opens the status service with Uptime Kuma if configured, else with the monitors of the catalog. */
export function openStatus({ env, log, opened, releases, ownUrl }: StatusBase): Status {
  const { UPTIME_KUMA_URL: url, UPTIME_KUMA_STATUS_PAGE: page } = env;
  checkStatusFile(env.STATUS_FILE);
  const catalog = (): StatusCatalog => releases.current().status;
  const warn = (message: string): void => log.warn(`Uptime Kuma: ${message}`);
  const status =
    url !== undefined && page !== undefined
      ? createStatus(createUptimeKuma({ url, page }, warn), log, 15_000, env.STATUS_FILE)
      : createStatus(createMonitors({ catalog, ownUrl, log }), log, 1000, env.STATUS_FILE);
  opened.defer(() => status.stop());
  return status;
}

/** Creates the status service. With a file it polls, to keep the snapshot fresh without requests. */
export function createStatus(source: StatusSource, log: StatusLog, cacheMs: number, file?: string) {
  const snapshot = file === undefined ? undefined : createSnapshot(file, log);
  let last = snapshot?.restored();
  // `starting` until the first read of this process ends.
  let phase: 'starting' | 'known' | 'failing' = 'starting';
  let failingSince = 0;
  let checkedAt = -Infinity;
  let stopped = false;

  const refresh = async (): Promise<void> => {
    try {
      const status = await source.read();
      last = { status, at: performance.now() };
      if (phase === 'failing' && !stopped) log.info('the status of the platform is known again');
      phase = 'known';
      // After the stop the source is closed; keep the last snapshot.
      if (!stopped) snapshot?.write(JSON.stringify(status));
    } catch (error) {
      if (phase !== 'failing') {
        phase = 'failing';
        failingSince = performance.now();
        if (!stopped) log.warn({ err: error }, 'the status of the platform cannot be determined');
      }
    }
    checkedAt = performance.now();
  };
  const pauseMs = (): number => (phase === 'failing' ? failedMs : cacheMs);
  const poller = createPoller({ read: refresh, everyMs: () => Math.min(pauseMs(), watchMs) });

  const known = (): PlatformStatus | undefined => {
    if (!last || performance.now() - last.at > maxAgeMs) return undefined;
    return phase === 'failing' && performance.now() - failingSince >= graceMs ? undefined : last.status;
  };
  return {
    start(): void {
      source.start?.();
      if (snapshot) void poller.start();
    },
    /** Reads the state; undefined if unknown. Waits at most 5 s, shares one read, never rejects. */
    async read(): Promise<PlatformStatus | undefined> {
      const before = known();
      const refreshed = performance.now() - checkedAt >= pauseMs() ? poller.poll() : Promise.resolve();
      // During failures, and after a restart, the last known status is returned without waiting.
      if (before && phase !== 'known') return before;
      await withTimeout(refreshed, statusWaitMs, () => undefined);
      return known();
    },
    /** Closes the source and waits for a running write; keeps the last snapshot. */
    async stop(): Promise<void> {
      stopped = true;
      const ended = poller.stop();
      await source.close();
      await ended;
      await snapshot?.done();
    },
  };
}

function createSnapshot(file: string, log: StatusLog) {
  let latest: { readonly text: string; readonly at: number } | undefined;
  let writing = Promise.resolve();
  let isReported = false;

  const replace = async (text: string): Promise<void> => {
    try {
      createFolder(dirname(file));
      await replaceFile(file, text, { flush: true });
      isReported = false;
    } catch (error) {
      // Only the first of several failures in a row.
      if (!isReported) log.error({ err: error }, 'the status cannot be written to STATUS_FILE');
      isReported = true;
      // The next read retries.
      latest = undefined;
    }
  };
  return {
    /** Returns the status of an earlier process; undefined without a valid file. */
    restored() {
      try {
        const status = StatusResponse.parse(JSON.parse(readFileSync(file, 'utf8')));
        // A time in the future, after the clock was set back, counts as now.
        return { status, at: performance.now() - Math.max(0, Date.now() - statSync(file).mtimeMs) };
      } catch {
        return undefined;
      }
    },
    /** Writes a changed text, or an old one again, in the background; the latest text wins. */
    write(text: string): void {
      if (latest?.text === text && performance.now() - latest.at < rewriteMs) return;
      const current = (latest = { text, at: performance.now() });
      // Skip outdated texts: the latest must be written last.
      writing = writing.then(() => (latest === current ? replace(text) : undefined));
    },
    done: () => writing,
  };
}
