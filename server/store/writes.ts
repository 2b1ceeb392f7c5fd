import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createEvent } from '../events.ts';
import { withTimeout } from '../timeout.ts';
import { StoreError, StoreUnreachableError } from './database.ts';
import type { Query } from './database.ts';

/** Logs a loss of records. */
export type LossReport = (fields: object, message: string) => void;

/** The store has lost records that it had taken. */
export const wentBack = createEvent<void>('store-went-back');

/** A write that may be repeated; resolves to true if it changed something. */
type Write = () => Promise<boolean>;

/** Votes on an article on a day (in UTC, YYYY-MM-DD). */
export interface Vote {
  readonly path: string;
  readonly day: string;
  readonly helpful: number;
  readonly unhelpful: number;
}

/** An end of an action has two writes: audit log and Idempotency-Key. */
const maxWrites = 20_000;
const maxVotes = 10_000;
const retryMs = 1000;
/** How long a stop waits for the store. */
const closeMs = 5000;
/** How long writes are remembered, in case the store goes back. */
const recentMs = 5 * 60_000;
const lookMs = 10_000;
/** After an outage, all instances have this time to write again what the store has lost. */
const holdMs = 5000;
/** Rows of hosting_health: when the store went back; above `firstId`, a row for each instance, kept for a week. */
export const wentBackId = 4;
const firstId = 1000;
const keptMs = 7 * 24 * 3_600_000;

const wentBackMessage =
  'changes of keys and servers in that time are lost, and up to this number of votes; actions through this instance ' +
  'are written again; see docs/runbook.md, "The store went back"';

/** Returns true if a failed call may succeed later. */
const mayWait = (error: unknown): boolean => error instanceof StoreError && error.fault !== 'statement';

const countOf = ({ helpful, unhelpful }: Vote): number => helpful + unhelpful;

/** The answered writes of a store, and its outages. */
export type Writes = ReturnType<typeof createWrites>;

/**
 * Keeps answered writes in memory until the store takes them, in order. After each outage, finds out whether the store
 * went back, for instance to a standby that lagged, and then repeats the writes of the last minutes. Only a store that is
 * shared refuses claims for some time then: other instances repeat their writes too.
 */
export function createWrites(
  query: Query,
  addVotes: (vote: Vote) => Promise<unknown>,
  isShared: boolean,
  report: LossReport,
) {
  /** Writes, with the fields of the log for the end of an action. */
  const waiting: { readonly run: Write; readonly end?: object }[] = [];
  const waitingVotes = new Map<string, Vote>();
  const recent: { readonly at: number; readonly run?: Write; readonly votes?: number }[] = [];
  const id = randomInt(firstId + 1, 2 ** 47);
  let [counter, writtenAt, outages] = [0, Date.now(), 0];
  let isDown = false;
  let [nextLookAt, heldUntil] = [0, 0];
  let looking: Promise<void> | undefined;
  let flushing: Promise<void> | undefined;

  const reportEnd = (end: object, { message: reason }: Error): void =>
    report({ ...end, reason }, 'the end of an action is lost');
  const reportVotes = (votes: number, reason: string): void => report({ votes, reason }, 'votes are lost');
  /** Remembers a write that succeeded, or a number of votes. */
  const remember = (done: Omit<(typeof recent)[number], 'at'>): void => {
    const at = Date.now();
    while (recent.length > 2 * maxWrites || (recent[0] && recent[0].at < at - recentMs)) recent.shift();
    recent.push({ at, ...done });
  };
  const set = `INSERT INTO hosting_health (id, written_at, counter) VALUES ($1, $2, $3)
    ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at, counter = excluded.counter`;
  /** If records are missing, reports and repeats the writes since then. */
  const repeatLost = async (): Promise<void> => {
    const [row] = await query('SELECT counter, written_at FROM hosting_health WHERE id = $1', [id]);
    const isOlder = Number(row?.['counter'] ?? 0) < counter;
    // The last write changes nothing unless it is missing.
    if (!isOlder && !(await recent.findLast(({ run }) => run)?.run!())) return;
    const since = isOlder ? Number(row?.['written_at'] ?? recent[0]?.at ?? writtenAt) : writtenAt;
    await query(set, [wentBackId, Date.now(), null]);
    const lost = recent.filter(({ at }) => at > since - lookMs);
    const votes = lost.reduce((sum, { votes: count = 0 }) => sum + count, 0);
    const seconds = Math.ceil(((recent.at(-1)?.at ?? writtenAt) - since) / 1000);
    report({ seconds, votes }, `the store went back by ${seconds} s: ${wentBackMessage}`);
    wentBack.publish();
    waiting.unshift(...lost.flatMap(({ run }) => (run ? [{ run }] : [])));
  };
  const look = async (): Promise<void> => {
    const [before, now] = [outages, Date.now()];
    if (counter === 0)
      await query('DELETE FROM hosting_health WHERE id > $1 AND written_at < $2', [firstId, now - keptMs]);
    else if (isDown) await repeatLost();
    await query(set, [id, now, counter + 1]);
    [counter, writtenAt, nextLookAt] = [counter + 1, now, performance.now() + lookMs];
    if (isShared && isDown) heldUntil = performance.now() + holdMs;
    // Another outage may have begun meanwhile.
    isDown &&= before !== outages;
    void flush();
  };
  const lookOnce = (): Promise<void> => (looking ??= look().finally(() => (looking = undefined)));
  const recover = async (): Promise<void> => (isDown ? await lookOnce() : undefined);
  const writeAll = async (): Promise<void> => {
    await recover();
    for (let next = waiting[0]; next; next = waiting[0]) {
      const { run, end } = next;
      try {
        await run();
        if (end) remember({ run });
      } catch (error) {
        if (mayWait(error)) throw error;
        if (end) reportEnd(end, error as Error);
      }
      waiting.splice(waiting.indexOf(next), 1);
    }
    for (const [name, vote] of waitingVotes) {
      waitingVotes.delete(name);
      try {
        await addVotes(vote);
        remember({ votes: countOf(vote) });
      } catch (error) {
        if (!mayWait(error)) reportVotes(countOf(vote), (error as Error).message);
        else keepVotes(vote);
        if (mayWait(error)) throw error;
      }
    }
  };
  /** Writes what waits, and tries again each second while the store does not take it. */
  const flush = (): Promise<void> => (flushing ??= writeWaiting().finally(() => (flushing = undefined)));
  const writeWaiting = async (): Promise<void> => {
    // The health of the store logs a failure.
    while (waiting.length + waitingVotes.size > 0)
      await writeAll().catch(() => delay(retryMs, undefined, { ref: false }));
  };
  const keepVotes = (vote: Vote): void => {
    const name = `${vote.day} ${vote.path}`;
    const { helpful = 0, unhelpful = 0 } = waitingVotes.get(name) ?? {};
    if (waitingVotes.size >= maxVotes && !waitingVotes.has(name))
      throw new StoreUnreachableError('too many votes wait for the store');
    waitingVotes.set(name, { ...vote, helpful: helpful + vote.helpful, unhelpful: unhelpful + vote.unhelpful });
    void flush();
  };
  return {
    /** Notes that the store may have been replaced. */
    noteOutage(): void {
      outages += 1;
      isDown = true;
    },
    isLookDue: (): boolean => isDown || performance.now() >= nextLookAt,
    /** Finds out whether the store went back, and writes. Rejects if the store takes no writes. */
    look: lookOnce,
    /** Rejects during an outage, and while other instances may have claims that the store has lost. */
    async assertOver(): Promise<void> {
      await recover();
      if (performance.now() < heldUntil) throw new StoreUnreachableError('the store was away until a moment ago');
    },
    remember,
    /** Writes the end of an action, now or when the store takes it. Never rejects. */
    async settle(end: object, run: Write): Promise<void> {
      let failure = new Error('too many ends of actions wait for the store');
      try {
        if (waiting.length === 0 && !isDown) {
          await run();
          return remember({ run });
        }
      } catch (error) {
        if (!mayWait(error)) return reportEnd(end, error as Error);
        failure = error as Error;
      }
      if (waiting.length >= maxWrites) return reportEnd(end, failure);
      waiting.push({ run, end });
      void flush();
    },
    /** Counts a vote, now or when the store takes it. Rejects if the vote is not counted. */
    async count(vote: Vote): Promise<void> {
      if (isDown) return keepVotes(vote);
      try {
        await addVotes(vote);
        remember({ votes: 1 });
      } catch (error) {
        if (!mayWait(error)) throw error;
        keepVotes(vote);
      }
    },
    /** Waits up to 5 s for the store, and reports the writes that it does not take. */
    async close(): Promise<void> {
      await withTimeout(flush(), closeMs, () => undefined);
      // The two writes of an end have the same fields.
      const ends = new Set(waiting.splice(0).flatMap(({ end }) => (end ? JSON.stringify(end) : [])));
      for (const end of ends) reportEnd(JSON.parse(end) as object, new Error('the server stops'));
      const votes = [...waitingVotes.values()].reduce((sum, vote) => sum + countOf(vote), 0);
      waitingVotes.clear();
      if (votes > 0) reportVotes(votes, 'the server stops');
    },
  };
}
