import pLimit from 'p-limit';
import { isDeepStrictEqual } from 'node:util';
import type { StatusCatalog } from '#contract/status.ts';
import { toPlatformStatus } from './platform.ts';
import type { Part } from './platform.ts';
import type { StatusSource } from './types.ts';
import { toWindows } from './windows.ts';
import type { MaintenanceWindow } from './windows.ts';
import { toNextState, unchecked } from './monitor-state.ts';
import type { MonitorState } from './monitor-state.ts';

type MonitorSettings = StatusCatalog['monitors'][number];

/** Checks once: resolves to the reason where it failed, for the log, and to undefined where it passed. */
export type Probe = (
  target: Pick<MonitorSettings, 'url' | 'tcp'>,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
) => Promise<string | undefined>;

/** What the built-in monitors need. */
export interface MonitorsOptions {
  /** The catalog of the release that is being served; the same object while that does not change. */
  readonly catalog: () => StatusCatalog;
  readonly probe: Probe;
  /** Is told what changes for visitors, with the reason where a monitor goes down. */
  readonly onChange?: (name: string, up: boolean, reason: string | undefined) => void;
  readonly now?: () => number;
  readonly random?: () => number;
}

/** A monitor that is being checked. */
interface Monitor {
  readonly settings: MonitorSettings;
  readonly ending: AbortController;
  state: MonitorState;
  timer?: NodeJS.Timeout;
}

/** Checks that run at one time: hundreds of monitors that hang must not use up this machine's sockets. */
const checksAtOnce = 16;

/** How soon a check is repeated while nothing is decided: a status that is not known should soon be. */
const undecidedMs = 5000;

/**
 * Checks the monitors of the catalog, and goes on by itself. A read tells the latest, without a check of its own;
 * it throws until the first round of checks has decided about every monitor, and where there is none.
 */
export function createMonitors(options: MonitorsOptions): StatusSource {
  const { catalog: currentCatalog, probe, onChange } = options;
  const { now = Date.now, random = Math.random } = options;
  const takeTurn = pLimit(checksAtOnce);
  let catalog: StatusCatalog | undefined;
  let windows: MaintenanceWindow[] = [];
  let monitors = new Map<string, Monitor>();
  let isRoundComplete = false;
  let closed = false;

  const isInMaintenance = (name: string): boolean => {
    const at = now();
    return windows.some((window) => window.start <= at && at < window.end && window.monitors.has(name));
  };

  /** Looks whether there is a new catalog: what it leaves as it was goes on undisturbed, in the middle of a check too. */
  const takeUpCatalog = (): void => {
    if (closed) return;
    const next = currentCatalog();
    if (next === catalog) return;
    catalog = next;
    windows = toWindows(next.maintenance);
    const former = monitors;
    monitors = new Map();
    for (const settings of next.monitors) {
      const known = former.get(settings.name);
      if (known && isDeepStrictEqual(known.settings, settings)) monitors.set(settings.name, known);
      else monitors.set(settings.name, { settings, state: carryOver(known, settings), ending: new AbortController() });
    }
    for (const [name, monitor] of former) if (monitors.get(name) !== monitor) end(monitor);
    // Of one monitor that is new nothing is known, and it is left out for a moment; where all are, this is a first round.
    isRoundComplete &&= monitors.values().some(({ state }) => state.up !== undefined);
    for (const [name, monitor] of monitors) if (former.get(name) !== monitor) void run(monitor);
  };

  const run = async (monitor: Monitor): Promise<void> => {
    takeUpCatalog();
    const { settings, ending } = monitor;
    const { name, url, tcp, interval_seconds: interval = 60, timeout_seconds: timeout = 5, failures = 2 } = settings;
    const reason = await takeTurn(async () => {
      if (ending.signal.aborted) return undefined;
      return await probe({ url, tcp }, { timeoutMs: timeout * 1000, signal: ending.signal });
    });
    if (ending.signal.aborted) return;
    const { up: before } = monitor.state;
    const intervalMs = interval * 1000;
    const rule = { failures, intervalMs, inMaintenance: isInMaintenance(name) };
    monitor.state = toNextState(monitor.state, reason === undefined, rule);
    const { up, settled } = monitor.state;
    if (up !== undefined && up !== (before ?? true)) onChange?.(name, up, reason);
    // Without the jitter, all monitors of one interval would be checked at the same moment for ever.
    const delay = (settled ? intervalMs : Math.min(intervalMs, undecidedMs)) * (0.9 + 0.2 * random());
    monitor.timer = setTimeout(() => void run(monitor), delay).unref();
  };

  return {
    start: takeUpCatalog,
    // oxlint-disable-next-line require-await -- what it throws is a rejection
    async read() {
      takeUpCatalog();
      const known = [...monitors].map(([name, { state }]): Part | undefined => {
        if (isInMaintenance(name)) return { name, state: 'maintenance' };
        return state.up === undefined ? undefined : { name, state: state.up ? 'up' : 'disrupted' };
      });
      const parts = known.filter((part) => part !== undefined);
      isRoundComplete ||= parts.length === known.length;
      const doubtful = monitors.values().some(({ state }) => state.up === undefined && state.run < 0);
      if (closed || parts.length === 0) throw new Error('no monitor has told anything');
      if (!isRoundComplete) throw new Error('the first round of checks is not complete');
      const state = toPlatformStatus(parts);
      // One that is new is left out until its first check; while it fails and does not count yet, nobody can say that all is well.
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

/** What is still true of a monitor whose settings changed: what visitors were told of it, until the next check decides. */
function carryOver(former: Monitor | undefined, { url, tcp }: MonitorSettings): MonitorState {
  if (!former) return unchecked;
  const isSameTarget = former.settings.url === url && former.settings.tcp === tcp;
  return isSameTarget ? former.state : { ...unchecked, up: former.state.up };
}

function end({ ending, timer }: Monitor): void {
  clearTimeout(timer);
  ending.abort();
}
