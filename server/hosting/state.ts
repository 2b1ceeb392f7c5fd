import { LRUCache } from 'lru-cache';
import type { ServerName } from '#contract/api-keys.ts';
import type { Store } from '../store/types.ts';

/** Knows when the last power action on a server ended, on any instance: a state from before must not be reported. */
export interface PowerHistory {
  /** Runs a power action, and notes its end, whatever its outcome: it may have taken effect. */
  follow(server: ServerName, act: () => Promise<void>): Promise<void>;
  /** How many milliseconds ago the last power action ended, at least; Infinity if none is recent. */
  sinceLastAction(server: ServerName): Promise<number>;
}

/** For how long an action matters. No provider reports what it knew longer ago than this. */
const recentMs = 10 * 60_000;

/** How much the clocks of instances may differ. */
const skewMs = 2000;

/** The maximum number of servers whose actions are remembered; for the others the audit log decides. */
const maxServers = 10_000;

/** Options of the history. */
export interface PowerHistoryOptions {
  readonly audit: Store['audit'];
  /** Milliseconds since 1970, as in the audit log. */
  readonly now?: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic?: () => number;
}

/**
 * Creates {@link PowerHistory}. An action of this instance is timed exactly. One of another instance is found in the audit
 * log, where it counts for some seconds longer, since clocks differ.
 */
export function createPowerHistory({
  audit,
  now = Date.now,
  monotonic = () => performance.now(),
}: PowerHistoryOptions): PowerHistory {
  const own = new LRUCache<ServerName, { readonly endedAt: number; readonly date: number }>({ max: maxServers });
  return {
    async follow(server, act) {
      try {
        await act();
      } finally {
        own.set(server, { endedAt: monotonic(), date: now() });
      }
    },
    async sinceLastAction(server) {
      const loggedAt = await audit.lastPowerAction(server, now() - recentMs);
      const last = own.get(server);
      if (last && (loggedAt === undefined || loggedAt <= last.date)) return monotonic() - last.endedAt;
      return loggedAt === undefined ? Number.POSITIVE_INFINITY : Math.max(0, now() - loggedAt - skewMs);
    },
  };
}
