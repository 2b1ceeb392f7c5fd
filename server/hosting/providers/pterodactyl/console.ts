import { unknownStats } from '#contract/console-stream.ts';
import type { Client } from '../../../upstream/client.ts';
import type { Logger } from '../../../log.ts';
import { readGrant } from './grant.ts';
import { createSession } from './session.ts';
import type { Session } from './session.ts';
import type { ConsoleTimings } from './session-types.ts';
import type { CreateBucket } from '../../../token-bucket.ts';
import { notAvailable } from '../../../upstream/reply.ts';
import type { ConsoleEvents, ConsoleSource } from '../types.ts';

/** The consoles of a panel. */
export interface ConsoleConnector {
  /** Follows the console of a server by its path in the panel's API; if that is undefined, the console ends at once. */
  open(ref: string, path: string | undefined, events: ConsoleEvents): ConsoleSource;
  /** Ends all consoles, and opens no more, since the credential is not read-only. */
  lock(): void;
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
}

/**
 * A panel issues 5 tokens a minute for a server, to all its users together. A burst of three and two more a minute are at
 * most four in any minute, which leaves one for the owner or a renewal. Renewals are not counted: default tokens need one
 * in 8 minutes, and panels with shorter ones have other limits.
 */
const attempts = { burst: 3, perWindow: 2 };

/** Creates the connector of a panel's consoles. */
export function createConsoleConnector(options: ConsoleConnectorOptions): ConsoleConnector {
  const { client, origin, log } = options;
  const timings = { ...defaultTimings, ...options.timings };
  const rps = (attempts.perWindow * 1000) / timings.windowMs;
  const budget = options.createBucket({ name: 'panel', rps, burst: attempts.burst });
  const sessions = new Set<Session>();
  let isLocked = false;
  const endAll = (type: 'locked' | 'closed'): void => {
    isLocked = true;
    for (const session of sessions) session.dispatch({ type });
    sessions.clear();
  };
  return {
    open(ref, path, events) {
      if (isLocked || !client || path === undefined) return endAtOnce(events);
      const session = createSession({
        async ask() {
          const { allowed, waitMs } = await budget.consume(origin + path);
          return allowed ? await readGrant(client, path) : { type: 'rateLimited', waitMs };
        },
        renew: () => readGrant(client, path),
        origin,
        timings,
        events: {
          ...events,
          ended(reason) {
            sessions.delete(session);
            events.ended(reason);
          },
        },
        log: log.child({ ref }),
      });
      sessions.add(session);
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
    lock: () => endAll('locked'),
    close: () => endAll('closed'),
  };
}

function endAtOnce(events: ConsoleEvents): ConsoleSource {
  const later = setImmediate(() => events.ended(notAvailable));
  return { stats: () => Promise.resolve(unknownStats), close: () => clearImmediate(later) };
}
