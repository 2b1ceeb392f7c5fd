import type { ServerName } from '#contract/api-keys.ts';
import { createLru } from '../lru.ts';
import type { Store } from '../store/types.ts';

/** Ignore actions older than this: no provider caches state longer. */
const recentMs = 10 * 60_000;
/** The clocks of two instances may differ by this much. */
const skewMs = 2000;

/** Tracks the last power action per server; actions by other instances get 2 s of clock skew. */
export function createPowerHistory(options: {
  readonly audit: Store['audit'];
  /** Wall clock in milliseconds since 1970, as in the audit log. */
  readonly now?: () => number;
  /** Monotonic clock in milliseconds. */
  readonly monotonic?: () => number;
}) {
  const { audit, now = Date.now, monotonic = () => performance.now() } = options;
  const own = createLru<ServerName, { readonly endedAt: number; readonly date: number }>(10_000);
  return {
    /** Runs a power action and records its end. */
    async follow(server: ServerName, act: () => Promise<void>): Promise<void> {
      try {
        await act();
      } finally {
        // A failed action may have taken effect.
        own.set(server, { endedAt: monotonic(), date: now() });
      }
    },
    /** Returns a lower bound of the time since the last power action; Infinity without a recent action. */
    async sinceLastAction(server: ServerName): Promise<number> {
      const loggedAt = await audit.lastPowerAction(server, now() - recentMs);
      const last = own.get(server);
      if (last && (loggedAt === undefined || loggedAt <= last.date)) return monotonic() - last.endedAt;
      return loggedAt === undefined ? Infinity : Math.max(0, now() - loggedAt - skewMs);
    },
  };
}
