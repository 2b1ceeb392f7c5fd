import { once } from 'node:events';
import { connect } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import type { StatusCatalog } from '#contract/status.ts';
import { ownAgent } from '../log.ts';
import type { Logger } from '../log.ts';
import { formatError } from '../upstream/client.ts';
import { exchange } from '../upstream/exchange.ts';
import { createPoller } from '../upstream/poller.ts';
import { toPlatformStatus, toWindows } from './platform.ts';
import type { Part, StatusSource } from './platform.ts';

type MonitorSettings = StatusCatalog['monitors'][number];

interface MonitorsOptions {
  /** Returns the catalog of the served release, the same object until a change. */
  readonly catalog: () => StatusCatalog;
  readonly ownUrl: () => string;
  readonly log: Pick<Logger, 'info'>;
  readonly probe?: typeof probe;
}

/** Bounds the sockets of hundreds of hanging monitors. */
const maxConcurrentChecks = 16;
/** After this long without a failure, a monitor is up, even below its threshold of passes. */
const maxRecoveryMs = 30 * 60_000;

/**
 * Creates a source that checks the monitors of the catalog in the background. A read waits for the first round, and throws
 * without monitors. The first check decides; then a monitor goes down after N failures in a row, and up after 2N+1 passes
 * or 30 minutes of passes, which hides flapping.
 */
export function createMonitors(options: MonitorsOptions): StatusSource {
  const { catalog: currentCatalog, ownUrl, log, probe: check = probe } = options;
  const limitChecks = pLimit(maxConcurrentChecks);
  let catalog: StatusCatalog | undefined;
  let windows: ReturnType<typeof toWindows> = [];
  let monitors = new Map<string, ReturnType<typeof createMonitor>>();
  /** The first checks of monitors that are all new. */
  let firstRound: Promise<unknown> = Promise.resolve();
  let closed = false;

  const isInMaintenance = (name: string): boolean =>
    windows.some(({ start, end, monitors: names }) => start <= Date.now() && Date.now() < end && names.has(name));

  const createMonitor = (settings: MonitorSettings, isUp: boolean | undefined, initialStreak: number) => {
    const { name, url, tcp, interval_seconds: interval = 60, timeout_seconds: timeout = 5, failures = 2 } = settings;
    const passesNeeded = Math.min(2 * failures + 1, Math.ceil(maxRecoveryMs / (interval * 1000)));
    const controller = new AbortController();
    const { signal } = controller;
    const count = (reason: string | undefined): void => {
      const passed = reason === undefined;
      const { up: before = true, streak: last } = monitor;
      const streak = passed ? Math.max(last, 0) + 1 : Math.min(last, 0) - 1;
      // Visitors do not see a monitor in maintenance, so one pass is enough.
      const isUpAgain = streak >= passesNeeded || (passed && isInMaintenance(name));
      let up = passed;
      if (last !== 0) up = before ? -streak < failures : isUpAgain;
      monitor.up = up;
      monitor.streak = streak;
      if (up !== before) log.info({ name, reason }, up ? 'a monitor is up' : 'a monitor is down');
    };
    const run = async (): Promise<void> => {
      updateCatalog();
      const target = url?.startsWith('/') ? { url: new URL(url, ownUrl()).href, agent: ownAgent } : { tcp, url };
      await limitChecks(async () => {
        if (signal.aborted) return;
        const reason = await check(target, { timeoutMs: timeout * 1000, signal });
        if (!signal.aborted) count(reason);
      });
    };
    const poller = createPoller({ read: run, everyMs: () => interval * 1000 });
    const monitor = {
      settings,
      /** The state that visitors see; undefined before the first check. */
      up: isUp,
      /** Passes in a row; negative for failures. */
      streak: initialStreak,
      start: () => poller.start(),
      end(): void {
        void poller.stop();
        controller.abort();
      },
    };
    return monitor;
  };

  const toParts = (): Part[] =>
    [...monitors].flatMap(([name, { up }]): Part[] => {
      if (isInMaintenance(name)) return [{ name, state: 'maintenance' }];
      return up === undefined ? [] : [{ name, state: up ? 'up' : 'disrupted' }];
    });
  /** Applies a new catalog. Unchanged monitors continue, even during a check. */
  const updateCatalog = (): void => {
    const next = currentCatalog();
    if (closed || next === catalog) return;
    catalog = next;
    windows = toWindows(next.maintenance);
    const former = monitors;
    monitors = new Map(
      next.monitors.map((settings) => {
        const { name, url, tcp } = settings;
        const existing = former.get(name);
        if (existing && isDeepStrictEqual(existing.settings, settings)) return [name, existing];
        // A monitor with a new target keeps the visible state until the first check.
        const isSameTarget = existing?.settings.url === url && existing?.settings.tcp === tcp;
        return [name, createMonitor(settings, existing?.up, existing && isSameTarget ? existing.streak : 0)];
      }),
    );
    for (const [name, monitor] of former) if (monitors.get(name) !== monitor) monitor.end();
    const checks = [...monitors].map(([name, monitor]) => ({ name, done: monitor.start() }));
    // New monitors are left out until their first check, unless all are new.
    if (monitors.values().some(({ up }) => up !== undefined)) return;
    firstRound = Promise.all(checks.flatMap(({ name, done }) => (isInMaintenance(name) ? [] : done)));
  };

  return {
    start: updateCatalog,
    async read() {
      updateCatalog();
      await firstRound;
      if (closed || monitors.size === 0) throw new Error('no monitor has a result');
      return toPlatformStatus(toParts());
    },
    close() {
      closed = true;
      for (const monitor of monitors.values()) monitor.end();
      return Promise.resolve();
    },
  };
}

/**
 * Checks a URL or a `host:port` once; the timeout covers DNS and handshakes too. Resolves to undefined if the target is up,
 * else to the reason for the log. A URL is up below 400; its body is not read. Redirects are not followed: their target
 * may have a monitor too. Certificates must be publicly trusted.
 */
export async function probe(
  { url, tcp = '', agent = 'hosting-api' }: { readonly [name in 'url' | 'tcp' | 'agent']?: string | undefined },
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const ended = AbortSignal.any([timeout, signal]);
  try {
    if (url === undefined) {
      const colon = tcp.lastIndexOf(':');
      const socket = connect({ host: tcp.slice(0, colon), port: Number(tcp.slice(colon + 1)), signal: ended });
      await once(socket, 'connect');
      socket.destroy();
      return undefined;
    }
    const headers = { accept: '*/*', 'user-agent': agent };
    const response = await exchange(url, { headers, signal: ended });
    response.destroy();
    const status = response.statusCode!;
    return status !== 101 && status < 400 ? undefined : `status ${status}`;
  } catch (error) {
    if (timeout.aborted) return `no answer within ${timeoutMs} ms`;
    return formatError(error);
  }
}
