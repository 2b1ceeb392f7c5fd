import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import { isDeepStrictEqual } from 'node:util';
import type { StatusCatalog } from '#contract/status.ts';
import { createPoller } from '../upstream/poller.ts';
import type { Poller } from '../upstream/poller.ts';
import type { probe as probeOnce } from './probe.ts';
import { toPlatformStatus } from './platform.ts';
import type { Part } from './platform.ts';
import { UndecidedError } from './types.ts';
import type { StatusSource } from './types.ts';
import { isPlanned, toWindows } from './windows.ts';
import type { MaintenanceWindow } from './windows.ts';
import { toNextState, unchecked } from './monitor-state.ts';
import type { MonitorState } from './monitor-state.ts';

type MonitorSettings = StatusCatalog['monitors'][number];

/** Checks a target once. */
export type Probe = typeof probeOnce;

/** Dependencies of the built-in monitors. */
export interface MonitorsOptions {
  /** The catalog of the served release; the same object until it changes. */
  readonly catalog: () => StatusCatalog;
  /** The base of URLs that are only a path. */
  readonly ownUrl: () => string;
  readonly probe: Probe;
  /** Called when a monitor changes for visitors, with the reason if it goes down. */
  readonly onChange?: (name: string, up: boolean, reason: string | undefined) => void;
  readonly now?: () => number;
  readonly random?: () => number;
}

interface Monitor {
  readonly settings: MonitorSettings;
  readonly poller: Poller;
  /** Aborts the running check. */
  readonly controller: AbortController;
  state: MonitorState;
}

/** The maximum number of concurrent checks: hundreds of hanging monitors must not use up the sockets. */
const maxConcurrentChecks = 16;

/** The check interval of an undecided monitor, so that its status is soon known. */
const undecidedMs = 2000;

/**
 * Creates the source that checks the monitors of the catalog in the background. A read returns the results of the latest
 * checks. It throws until the first round has decided every monitor, and if there are no monitors.
 */
export function createMonitors(options: MonitorsOptions): StatusSource {
  const { catalog: currentCatalog, now = Date.now } = options;
  const limitChecks = pLimit(maxConcurrentChecks);
  let catalog: StatusCatalog | undefined;
  let windows: MaintenanceWindow[] = [];
  let monitors = new Map<string, Monitor>();
  let isRoundComplete = false;
  let closed = false;

  const isInMaintenance = (name: string): boolean => isPlanned(windows, name, now());

  /** Applies a new catalog, if there is one. */
  const updateCatalog = (): void => {
    const next = currentCatalog();
    if (closed || next === catalog) return;
    catalog = next;
    windows = toWindows(next.maintenance);
    monitors = toMonitors(next, monitors, shared);
    // A few new monitors are left out until they are decided; if all are new, a first round begins.
    isRoundComplete &&= monitors.values().some(({ state }) => state.up !== undefined);
    for (const { poller } of monitors.values()) void poller.start();
  };
  const shared: Shared = { ...options, limitChecks, updateCatalog, isInMaintenance };

  return {
    start: updateCatalog,
    // oxlint-disable-next-line require-await -- what it throws is a rejection
    async read() {
      updateCatalog();
      const parts = [...monitors].flatMap(([name, { state }]): Part[] => {
        if (isInMaintenance(name)) return [{ name, state: 'maintenance' }];
        return state.up === undefined ? [] : [{ name, state: state.up ? 'up' : 'disrupted' }];
      });
      isRoundComplete ||= parts.length === monitors.size;
      const hasFailingNew = monitors.values().some(({ state }) => state.up === undefined && state.streak < 0);
      if (closed || monitors.size === 0) throw new Error('no monitor has a result');
      if (!isRoundComplete) throw new UndecidedError('the first round of checks is not complete');
      const state = toPlatformStatus(parts);
      // While an undecided new monitor fails, the status is unknown, unless another monitor is disrupted.
      if (hasFailingNew && state.status !== 'disrupted') throw new Error('a new monitor fails');
      return state;
    },
    close() {
      closed = true;
      for (const monitor of monitors.values()) end(monitor);
      return Promise.resolve();
    },
  };
}

/** Creates the monitors of a new catalog. Unchanged ones continue, even in the middle of a check. */
function toMonitors(
  catalog: StatusCatalog,
  former: ReadonlyMap<string, Monitor>,
  shared: Shared,
): Map<string, Monitor> {
  const monitors = new Map<string, Monitor>();
  for (const settings of catalog.monitors) {
    const existing = former.get(settings.name);
    const isUnchanged = existing && isDeepStrictEqual(existing.settings, settings);
    const monitor = isUnchanged ? existing : createMonitor(settings, toInitialState(existing, settings), shared);
    monitors.set(settings.name, monitor);
  }
  for (const [name, monitor] of former) if (monitors.get(name) !== monitor) end(monitor);
  return monitors;
}

/** Dependencies of all monitors. */
interface Shared extends MonitorsOptions {
  readonly limitChecks: LimitFunction;
  readonly updateCatalog: () => void;
  readonly isInMaintenance: (name: string) => boolean;
}

/** Creates a monitor that is not started. */
function createMonitor(settings: MonitorSettings, state: MonitorState, shared: Shared): Monitor {
  const { name, url, tcp, interval_seconds: interval = 60, timeout_seconds: timeout = 5, failures = 2 } = settings;
  const { ownUrl, probe, onChange, random, limitChecks, updateCatalog, isInMaintenance } = shared;
  const intervalMs = interval * 1000;
  const controller = new AbortController();
  const { signal } = controller;

  const check = async (): Promise<void> => {
    updateCatalog();
    const reason = await limitChecks(async () =>
      signal.aborted
        ? undefined
        : await probe(
            { url: url?.startsWith('/') ? new URL(url, ownUrl()).href : url, tcp },
            { timeoutMs: timeout * 1000, signal },
          ),
    );
    if (signal.aborted) return;
    const { up: before } = monitor.state;
    const rule = { failures, intervalMs, inMaintenance: isInMaintenance(name) };
    monitor.state = toNextState(monitor.state, reason === undefined, rule);
    const { up } = monitor.state;
    if (up !== undefined && up !== (before ?? true)) onChange?.(name, up, reason);
  };
  const everyMs = (): number => (monitor.state.decided ? intervalMs : Math.min(intervalMs, undecidedMs));
  const monitor: Monitor = { settings, controller, state, poller: createPoller({ read: check, everyMs, random }) };
  return monitor;
}

/** The first state of a monitor. If its target changed, it keeps what visitors saw until a check decides. */
function toInitialState(former: Monitor | undefined, { url, tcp }: MonitorSettings): MonitorState {
  if (!former) return unchecked;
  const isSameTarget = former.settings.url === url && former.settings.tcp === tcp;
  return isSameTarget ? former.state : { ...unchecked, up: former.state.up };
}

function end({ controller, poller }: Monitor): void {
  void poller.stop();
  controller.abort();
}
