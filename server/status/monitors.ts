import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import { isDeepStrictEqual } from 'node:util';
import type { StatusCatalog } from '#contract/status.ts';
import { createPoller } from '../upstream/poller.ts';
import type { Poller } from '../upstream/poller.ts';
import type { probe as probeOnce } from './probe.ts';
import { toPlatformStatus } from './platform.ts';
import type { Part } from './platform.ts';
import type { StatusSource } from './types.ts';
import { isPlanned, toWindows } from './windows.ts';
import type { MaintenanceWindow } from './windows.ts';
import { toNextState, unchecked } from './monitor-state.ts';
import type { MonitorState } from './monitor-state.ts';

type MonitorSettings = StatusCatalog['monitors'][number];

/** Checks a part of the platform once. */
export type Probe = typeof probeOnce;

/** What the built-in monitors need. */
export interface MonitorsOptions {
  /** The catalog of the release that is being served; the same object while that does not change. */
  readonly catalog: () => StatusCatalog;
  readonly probe: Probe;
  /** Is called with what changes for visitors, with the reason where a monitor goes down. */
  readonly onChange?: (name: string, up: boolean, reason: string | undefined) => void;
  readonly now?: () => number;
  readonly random?: () => number;
}

/** A monitor that is being checked. */
interface Monitor {
  readonly settings: MonitorSettings;
  readonly poller: Poller;
  /** Ends the check that is running. */
  readonly ending: AbortController;
  state: MonitorState;
}

/** Checks that run at one time: hundreds of monitors that hang must not use up this machine's sockets. */
const checksAtOnce = 16;

/** How soon a check is repeated while nothing is decided: a status that is not known should soon be. */
const undecidedMs = 5000;

/**
 * Checks the monitors of the catalog, and goes on by itself. A read is of the latest checks, without one of its own;
 * it throws until the first round of checks has decided about every monitor, and where there is none.
 */
export function createMonitors(options: MonitorsOptions): StatusSource {
  const { catalog: currentCatalog, now = Date.now } = options;
  const takeTurn = pLimit(checksAtOnce);
  let catalog: StatusCatalog | undefined;
  let windows: MaintenanceWindow[] = [];
  let monitors = new Map<string, Monitor>();
  let isRoundComplete = false;
  let closed = false;

  const isInMaintenance = (name: string): boolean => isPlanned(windows, name, now());

  /** Looks whether there is a new catalog. */
  const takeUpCatalog = (): void => {
    const next = currentCatalog();
    if (closed || next === catalog) return;
    catalog = next;
    windows = toWindows(next.maintenance);
    monitors = toMonitors(next, monitors, shared);
    // Of one monitor that is new nothing is known, and it is left out for a moment; where all are, this is a first round.
    isRoundComplete &&= monitors.values().some(({ state }) => state.up !== undefined);
    for (const { poller } of monitors.values()) void poller.start();
  };
  const shared: Shared = { ...options, takeTurn, takeUpCatalog, isInMaintenance };

  return {
    start: takeUpCatalog,
    // oxlint-disable-next-line require-await -- what it throws is a rejection
    async read() {
      takeUpCatalog();
      const parts = [...monitors].flatMap(([name, { state }]): Part[] => {
        if (isInMaintenance(name)) return [{ name, state: 'maintenance' }];
        return state.up === undefined ? [] : [{ name, state: state.up ? 'up' : 'disrupted' }];
      });
      isRoundComplete ||= parts.length === monitors.size;
      const doubtful = monitors.values().some(({ state }) => state.up === undefined && state.run < 0);
      if (closed || parts.length === 0) throw new Error('no monitor has told anything');
      if (!isRoundComplete) throw new Error('the first round of checks is not complete');
      const state = toPlatformStatus(parts);
      // One that is new is left out until its first check; while it fails and does not count yet, it cannot be said that all is well.
      if (doubtful && state.status !== 'disrupted') throw new Error('a monitor that is new fails');
      return state;
    },
    close() {
      closed = true;
      for (const monitor of monitors.values()) end(monitor);
      return Promise.resolve();
    },
  };
}

/** The monitors of a new catalog: what it leaves as it was goes on undisturbed, in the middle of a check too. */
function toMonitors(
  catalog: StatusCatalog,
  former: ReadonlyMap<string, Monitor>,
  shared: Shared,
): Map<string, Monitor> {
  const monitors = new Map<string, Monitor>();
  for (const settings of catalog.monitors) {
    const known = former.get(settings.name);
    const isKept = known && isDeepStrictEqual(known.settings, settings);
    monitors.set(settings.name, isKept ? known : createMonitor(settings, carryOver(known, settings), shared));
  }
  for (const [name, monitor] of former) if (monitors.get(name) !== monitor) end(monitor);
  return monitors;
}

/** What all monitors share. */
interface Shared extends MonitorsOptions {
  readonly takeTurn: LimitFunction;
  readonly takeUpCatalog: () => void;
  readonly isInMaintenance: (name: string) => boolean;
}

/** Creates a monitor, which is checked from its start on until its end. */
function createMonitor(settings: MonitorSettings, state: MonitorState, shared: Shared): Monitor {
  const { name, url, tcp, interval_seconds: interval = 60, timeout_seconds: timeout = 5, failures = 2 } = settings;
  const { probe, onChange, random, takeTurn, takeUpCatalog, isInMaintenance } = shared;
  const intervalMs = interval * 1000;
  const ending = new AbortController();
  const { signal } = ending;

  const check = async (): Promise<void> => {
    takeUpCatalog();
    const reason = await takeTurn(async () =>
      signal.aborted ? undefined : await probe({ url, tcp }, { timeoutMs: timeout * 1000, signal }),
    );
    if (signal.aborted) return;
    const { up: before } = monitor.state;
    const rule = { failures, intervalMs, inMaintenance: isInMaintenance(name) };
    monitor.state = toNextState(monitor.state, reason === undefined, rule);
    const { up } = monitor.state;
    if (up !== undefined && up !== (before ?? true)) onChange?.(name, up, reason);
  };
  const everyMs = (): number => (monitor.state.settled ? intervalMs : Math.min(intervalMs, undecidedMs));
  const monitor: Monitor = { settings, ending, state, poller: createPoller({ read: check, everyMs, random }) };
  return monitor;
}

/** What is still true of a monitor whose settings changed: what visitors saw of it, until the next check decides. */
function carryOver(former: Monitor | undefined, { url, tcp }: MonitorSettings): MonitorState {
  if (!former) return unchecked;
  const isSameTarget = former.settings.url === url && former.settings.tcp === tcp;
  return isSameTarget ? former.state : { ...unchecked, up: former.state.up };
}

function end({ ending, poller }: Monitor): void {
  void poller.stop();
  ending.abort();
}
