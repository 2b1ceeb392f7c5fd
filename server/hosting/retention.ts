import type { Store } from '../store/types.ts';
import { createPoller } from '../upstream/poller.ts';
import type { Poller } from '../upstream/poller.ts';

/** Options of the retention. */
export interface RetentionOptions {
  readonly store: Pick<Store, 'audit' | 'idempotency' | 'streamTokens'>;
  /** How long entries of the audit log are kept; without it, they are never removed. */
  readonly auditDays: number | undefined;
  readonly onFailure: (error: unknown) => void;
  readonly now?: () => number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Creates a poller that removes old records of the store, at its start and every hour. */
export function createRetention({ store, auditDays, onFailure, now = Date.now }: RetentionOptions): Poller {
  return createPoller({
    async read() {
      await store.idempotency.purge(now() - dayMs);
      // An expired token is still recognised for an hour, so that its client learns why it is refused.
      await store.streamTokens.purge(now() - hourMs);
      if (auditDays !== undefined) await store.audit.purge(now() - auditDays * dayMs);
    },
    onFailure,
    everyMs: () => hourMs,
    retryMs: 60_000,
  });
}
