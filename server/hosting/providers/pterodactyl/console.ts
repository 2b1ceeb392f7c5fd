import { unknownStats } from '#contract/console-stream.ts';
import type { Logger } from '../../../log.ts';
import type { CreateBucket } from '../../../token-bucket.ts';
import type { Client } from '../../../upstream/client.ts';
import { notAvailable } from '../../../upstream/client.ts';
import type { ConsoleEvents, ConsoleSource, GameState, StateReport } from '../types.ts';
import { openSession } from './session.ts';
import type { ConsoleTimings, Session } from './session.ts';

/** The consoles of a panel. */
export interface ConsoleConnector {
  /** Follows the console of a server by its path in the panel's API; if that is undefined, the console ends at once. */
  open(ref: string, path: string | undefined, events: ConsoleEvents, isResumed: boolean): ConsoleSource;
  /** The state that an open console of a server proves; undefined if there is none. */
  state(ref: string, maxAgeMs: number): StateReport | undefined;
  /** Ends all consoles and opens no more while the credential is not read-only, and opens them again once it is. */
  lock(isLocked: boolean): void;
  /** Ends all consoles without an event. */
  close(): void;
}

const defaultTimings: ConsoleTimings = {
  pingMs: 30_000,
  authMs: 15_000,
  throttleMs: 5500,
  loadMs: 500,
  statsMs: 3000,
  quietMs: 15_000,
  windowMs: 60_000,
};

/** Dependencies of the consoles. */
export interface ConsoleConnectorOptions {
  /** The client of the read-only credential, if there is one. */
  readonly client: Client | undefined;
  readonly origin: string;
  readonly log: Logger;
  readonly timings?: Partial<ConsoleTimings> | undefined;
  readonly createBucket: CreateBucket;
  /** How long after an action a state from before may still be reported. */
  readonly lagMs: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/**
 * A panel issues 5 tokens a minute for a server, to all its users together. A burst of three and two more a minute are at
 * most four in any minute, which leaves one for the owner or a renewal. Renewals are not counted: default tokens need one
 * in 8 minutes, and panels with shorter ones have other limits.
 */
const attempts = { burst: 3, perWindow: 2 };

type Report = ReturnType<typeof followState>['report'];

/** Creates the connector of a panel's consoles. */
export function createConsoleConnector(options: ConsoleConnectorOptions): ConsoleConnector {
  const { client, origin, log, now } = options;
  const timings = { ...defaultTimings, ...options.timings };
  const rps = (attempts.perWindow * 1000) / timings.windowMs;
  const budget = options.createBucket({ name: 'panel', rps, burst: attempts.burst });
  const sessions = new Map<Session, { readonly ref: string; readonly report: Report }>();
  let isLocked = false;
  let isClosed = false;
  return {
    open(ref, path, events, isResumed) {
      if (isLocked || isClosed || !client || path === undefined) return endAtOnce(events);
      const { report, onHeard, events: followed } = followState(events, options);
      const session = openSession({
        client,
        path,
        origin,
        timings,
        isResumed,
        onHeard,
        consume: () => budget.consume(origin + path),
        events: {
          ...followed,
          ended(...ended) {
            sessions.delete(session);
            events.ended(...ended);
          },
        },
        log: log.child({ ref }),
      });
      sessions.set(session, { ref, report });
      return {
        stats: () => session.stats(),
        close() {
          sessions.delete(session);
          session.close();
        },
      };
    },
    state(ref, maxAgeMs) {
      const after = now() - maxAgeMs;
      const open = sessions.values().filter((session) => session.ref === ref);
      return open.map(({ report }) => report(after)).find((report) => report !== undefined);
    },
    lock(next) {
      isLocked = next;
      if (isLocked) for (const session of sessions.keys()) session.refuse(notAvailable);
    },
    close() {
      isClosed = true;
      for (const session of sessions.keys()) session.close();
      sessions.clear();
    },
  };
}

function endAtOnce(events: ConsoleEvents): ConsoleSource {
  const later = setImmediate(() => events.ended(notAvailable));
  return { stats: () => Promise.resolve(unknownStats), close: () => clearImmediate(later) };
}

/** How long a silent connection is trusted: one ping, and some time for its answer. */
const silenceMs = 35_000;

/** Follows the state of a server by the events of its console, which are passed on. */
function followState(events: ConsoleEvents, { now, lagMs }: Pick<ConsoleConnectorOptions, 'now' | 'lagMs'>) {
  /** Undefined until the first status, and after a gap, since a status may be missing too. */
  let status: { readonly state: GameState; readonly changedAt: number } | undefined;
  /** The last sign of life, also in milliseconds since 1970. */
  let heard = { at: Number.NEGATIVE_INFINITY, date: 0 };
  return {
    events: {
      ...events,
      status(state: GameState): void {
        status = { state, changedAt: now() };
        events.status(state);
      },
      gap(reason: string): void {
        status = undefined;
        events.gap(reason);
      },
    },
    onHeard: (): void => void (heard = { at: now(), date: Date.now() }),
    /**
     * The state that the console proves; undefined if it proves none. After an action at `after`, this is the status that
     * followed it, or the one that still holds `lagMs` later.
     */
    report: (after: number): StateReport | undefined => {
      if (!status || now() - heard.at > silenceMs) return undefined;
      const counts = status.changedAt > after || heard.at > after + lagMs;
      return counts ? { state: status.state, checkedAt: heard.date } : undefined;
    },
  };
}
