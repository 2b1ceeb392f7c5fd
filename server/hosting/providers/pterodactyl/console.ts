import { unknownStats } from '#contract/console-stream.ts';
import type { Client } from '../../../upstream/client.ts';
import type { Logger } from '../../../log.ts';
import { readGrant } from './grant.ts';
import { createSession } from './session.ts';
import type { Session } from './session.ts';
import type { ConsoleTimings } from './session-types.ts';
import type { CreateBucket } from '../../../token-bucket.ts';
import { notAvailable } from '../../../upstream/reply.ts';
import type { ConsoleEvents, ConsoleSource, StateReport } from '../types.ts';
import { followState, toReport } from './followed-state.ts';
import type { FollowedConsole } from './followed-state.ts';

/** The consoles of a panel. */
export interface ConsoleConnector {
  /** Follows the console of a server by its path in the panel's API; if that is undefined, the console ends at once. */
  open(ref: string, path: string | undefined, events: ConsoleEvents): ConsoleSource;
  /** The state that an open console of a server proves; undefined if there is none. See {@link toReport}. */
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
  backoffMs: 1000,
  maxBackoffMs: 60_000,
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

/** Creates the connector of a panel's consoles. */
export function createConsoleConnector(options: ConsoleConnectorOptions): ConsoleConnector {
  const { client, origin, log, lagMs, now } = options;
  const timings = { ...defaultTimings, ...options.timings };
  const rps = (attempts.perWindow * 1000) / timings.windowMs;
  const budget = options.createBucket({ name: 'panel', rps, burst: attempts.burst });
  const sessions = new Map<Session, { ref: string; followed: FollowedConsole }>();
  let isLocked = false;
  let isClosed = false;
  const endAll = (type: 'locked' | 'closed'): void => {
    for (const session of sessions.keys()) session.dispatch({ type });
    sessions.clear();
  };
  return {
    open(ref, path, events) {
      if (isLocked || isClosed || !client || path === undefined) return endAtOnce(events);
      const followed = followState(events, now);
      const session = createSession({
        async ask() {
          const { allowed, waitMs } = await budget.consume(origin + path);
          return allowed ? await readGrant(client, path) : { type: 'rateLimited', waitMs };
        },
        renew: () => readGrant(client, path),
        origin,
        timings,
        events: {
          ...followed.events,
          ended(reason) {
            sessions.delete(session);
            events.ended(reason);
          },
        },
        onHeard: followed.onHeard,
        log: log.child({ ref }),
      });
      sessions.set(session, { ref, followed });
      // Deferred, since the caller expects no event before this function returns.
      setImmediate(() => session.dispatch({ type: 'retryDue' }));
      return {
        stats: () => session.stats(),
        close() {
          sessions.delete(session);
          session.dispatch({ type: 'closed' });
        },
      };
    },
    state(ref, maxAgeMs) {
      const at = { now: now(), after: now() - maxAgeMs, lagMs };
      const open = sessions.values().filter((session) => session.ref === ref);
      return open.map(({ followed }) => toReport(followed.state(), at)).find((report) => report !== undefined);
    },
    lock(next) {
      isLocked = next;
      if (isLocked) endAll('locked');
    },
    close() {
      isClosed = true;
      endAll('closed');
    },
  };
}

function endAtOnce(events: ConsoleEvents): ConsoleSource {
  const later = setImmediate(() => events.ended(notAvailable));
  return { stats: () => Promise.resolve(unknownStats), close: () => clearImmediate(later) };
}
