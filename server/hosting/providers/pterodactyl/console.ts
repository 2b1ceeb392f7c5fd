import type { Client } from '../../../upstream/client.ts';
import type { Logger } from '../../../log.ts';
import { readGrant } from './grant.ts';
import { createSession } from './session.ts';
import type { ConsoleTimings, SessionEvent, SessionState } from './session-types.ts';
import { createTokenBucket } from '../../../token-bucket.ts';
import { notAvailable } from '../../../upstream/reply.ts';
import type { Machine } from '../../state-table.ts';
import type { ConsoleEvents, ConsoleSource } from '../types.ts';

/** The consoles of a panel. */
export interface ConsoleConnector {
  /** Follows the console of the server at a path of the panel's API; undefined ends it at once. */
  open(ref: string, path: string | undefined, events: ConsoleEvents): ConsoleSource;
  /** Ends all consoles, and opens none from now on: the credential turned out to be more than read-only. */
  lock(): void;
  /** Ends all consoles without a word. */
  close(): void;
}

const usualTimings: ConsoleTimings = {
  pingMs: 30_000,
  authMs: 15_000,
  throttleMs: 5500,
  backoffMs: 1000,
  longestBackoffMs: 60_000,
  quietMs: 15_000,
  windowMs: 60_000,
};

/** What consoles need. */
export interface ConsoleConnectorOptions {
  /** Of the read-only credential, and no other; undefined where there is none. */
  readonly client: Client | undefined;
  readonly origin: string;
  readonly log: Logger;
  readonly timings?: Partial<ConsoleTimings> | undefined;
}

/**
 * A panel gives 5 tokens a minute for a server, to all its users together. Three at once and two more a minute are never
 * more than four in any minute: the fifth is the owner's, or a renewal's. Renewals are not counted: stock tokens need
 * one in 8 minutes, and a panel with shorter ones has other limits too.
 */
const attempts = { burst: 3, perWindow: 2 };

/** Creates the connector of a panel's consoles. */
export function createConsoleConnector(options: ConsoleConnectorOptions): ConsoleConnector {
  const { client, origin, log } = options;
  const timings = { ...usualTimings, ...options.timings };
  const rps = (attempts.perWindow * 1000) / timings.windowMs;
  const budget = createTokenBucket({ name: 'panel', rps, burst: attempts.burst });
  const sessions = new Set<Machine<SessionState, SessionEvent>>();
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
          const { allowed, waitMs } = budget.consume(path);
          return allowed ? await readGrant(client, path) : { type: 'held', waitMs };
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
      // The caller expects no event before this has returned.
      setImmediate(() => session.dispatch({ type: 'retryDue' }));
      return {
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
  return { close: () => clearImmediate(later) };
}
