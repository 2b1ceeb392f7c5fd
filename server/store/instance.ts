import { randomInt } from 'node:crypto';
import { createEvent } from '../events.ts';
import type { AuditEntry } from './audit.ts';
import type { Query } from './database.ts';
import type { LossReport } from './writes.ts';

/** The store has lost records that it had taken. */
export const wentBack = createEvent<void>('store-went-back');

/** Rows of hosting_health: when the store went back; above `firstId`, two rows for each instance, kept for a week. */
export const wentBackId = 4;
const firstId = 1000;
const keptMs = 7 * 24 * 3_600_000;
const lookMs = 10_000;

const lostMessage =
  'actions, votes and changes of keys and servers are lost; see docs/runbook.md, "The store went back"';

type Entry = Pick<AuditEntry, 'actionId' | 'phase'>;

/**
 * Counts in a row of the store. Each look finds out whether the store went back, for instance to a standby that lagged: then
 * the count is lower, or the last entry of this instance in the audit log is missing.
 */
export function createInstanceRow(query: Query, report: LossReport) {
  const id = randomInt(firstId, 2 ** 46) * 2;
  const startedAt = Date.now();
  let [count, dueAt] = [0, 0];
  /** The last entry since the last count. */
  let last: Entry | undefined;
  /** The first failure since the last count, and the last entry before it. */
  let failure: { readonly at: number; readonly last: Entry | undefined } | undefined;
  const set = (...values: [id: number, writtenAt: number, counter: number | null]) =>
    query(
      `INSERT INTO hosting_health (id, written_at, counter) VALUES ($1, $2, $3)
        ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at, counter = excluded.counter`,
      values,
    );
  return {
    /** The row of the turns of votes. */
    turnsId: id + 1,
    noteEntry: (entry: Entry): void => void (last = entry),
    /** Notes that the store may have been replaced. */
    noteFailure: (): void => void (failure ??= { at: Date.now(), last }),
    /** Reads the row; counts each 10 s, after a failure, and if it must write. */
    async look(mustWrite: boolean): Promise<void> {
      const [now, seen] = [Date.now(), failure];
      const entry = seen ? seen.last : last;
      const [row] = await query(
        `SELECT counter, written_at, (SELECT COUNT(*) FROM hosting_audit WHERE action_id = $2 AND phase = $3) AS entries
          FROM hosting_health WHERE id = $1`,
        [id, entry?.actionId ?? null, entry?.phase ?? null],
      );
      const { counter = 0, written_at: since = startedAt, entries = 0 } = row ?? {};
      const isBack = count > 0 && (Number(counter) < count || (entry !== undefined && entries === 0));
      if (!isBack && !seen && !mustWrite && performance.now() < dueAt) return;
      if (isBack) {
        await set(wentBackId, now, null);
        const seconds = Math.ceil(((seen?.at ?? now) - Number(since)) / 1000);
        report({ seconds }, `the store went back by up to ${seconds} s: ${lostMessage}`);
        wentBack.publish();
      }
      if (count === 0)
        await query('DELETE FROM hosting_health WHERE id > $1 AND written_at < $2', [firstId, now - keptMs]);
      await set(id, now, count + 1);
      count += 1;
      dueAt = performance.now() + lookMs;
      if (last === entry) last = undefined;
      if (failure === seen) failure = undefined;
    },
  };
}
