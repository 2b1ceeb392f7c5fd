import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { withTimeout } from '../timeout.ts';
import { StoreError } from './database.ts';

/** Logs a loss of records. */
export type LossReport = (fields: object, message: string) => void;

/** Votes on an article on a day (in UTC, YYYY-MM-DD). */
export interface Votes {
  readonly path: string;
  readonly day: string;
  helpful: number;
  unhelpful: number;
}

interface Batch {
  readonly votes: Votes;
  /** Settled by the first attempt; rejects if the votes can never be counted. */
  readonly tried: PromiseWithResolvers<void>;
}

/** An end of an action has two writes: audit log and Idempotency-Key. */
const maxEnds = 20_000;
const maxBatches = 10_000;
const retryMs = 1000;
/** How long a stop waits for the store. */
const closeMs = 5000;

/** Returns true if a failed call may succeed later. */
const mayWait = (error: unknown): boolean =>
  error instanceof StoreError && !['statement', 'duplicate'].includes(error.fault);

/** The answered writes of a store. */
export type Writes = ReturnType<typeof createWrites>;

/**
 * Keeps answered writes in memory until the store takes them, in order. Votes are added by one batch after the other, each
 * with a turn, by which the store ignores a repeated batch: the answer to an attempt may be lost.
 */
export function createWrites(addVotes: (votes: Votes, turn: number) => Promise<unknown>, report: LossReport) {
  const line = pLimit(1);
  const ends = new Set<object>();
  /** Votes by day and path; a batch that is sent grows no more. */
  const batches = new Map<string, Batch>();
  let sent: Batch | undefined;
  let turn = 0;
  let isFailing = false;
  const closed = new AbortController();

  /** Runs a repeatable write each second until the store takes it. The health of the store logs failures. */
  const runUntilTaken = async (write: () => Promise<unknown>): Promise<void> => {
    while (!closed.signal.aborted) {
      try {
        await write();
        isFailing = false;
        return;
      } catch (error) {
        if (!mayWait(error)) throw error;
      }
      isFailing = true;
      for (const { tried } of [...batches.values()].concat(sent ?? [])) tried.resolve();
      await delay(retryMs, undefined, { ref: false });
    }
  };
  const loseEnd = (end: object, error: unknown): void =>
    report({ ...end, reason: (error as Error).message }, 'the end of an action is lost');
  const loseVotes = (lost: readonly Batch[], error: unknown): void => {
    const votes = lost.reduce((sum, { votes: { helpful, unhelpful } }) => sum + helpful + unhelpful, 0);
    if (votes > 0) report({ votes, reason: (error as Error).message }, 'votes are lost');
  };
  const send = async (name: string): Promise<void> => {
    const batch = batches.get(name)!;
    batches.delete(name);
    [sent, turn] = [batch, turn + 1];
    const own = turn;
    try {
      await runUntilTaken(() => addVotes(batch.votes, own));
      batch.tried.resolve();
    } catch (error) {
      loseVotes([batch], error);
      batch.tried.reject(error);
    }
    sent = undefined;
  };
  return {
    /** Writes the end of an action, now or when the store takes it. Never rejects. */
    async settle(end: object, write: () => Promise<unknown>): Promise<void> {
      let failure: unknown = new Error('too many ends of actions wait for the store');
      try {
        if (ends.size === 0) return void (await write());
      } catch (error) {
        if (!mayWait(error)) return loseEnd(end, error);
        failure = error;
      }
      if (ends.size >= maxEnds) return loseEnd(end, failure);
      ends.add(end);
      void line(runUntilTaken, write)
        .catch((error: unknown) => loseEnd(end, error))
        .finally(() => ends.delete(end));
    },
    /** Counts a vote, now or when the store takes it. Rejects if the vote can never be counted. */
    async count({ path, day, helpful, unhelpful }: Votes): Promise<void> {
      const name = `${day} ${path}`;
      let batch = batches.get(name);
      if (!batch) {
        if (batches.size >= maxBatches) throw new StoreError('too many votes wait for the store', 'lost');
        batch = { votes: { path, day, helpful: 0, unhelpful: 0 }, tried: Promise.withResolvers() };
        batches.set(name, batch);
        void line(send, name);
      }
      batch.votes.helpful += helpful;
      batch.votes.unhelpful += unhelpful;
      if (!isFailing) await batch.tried.promise;
    },
    /** Waits up to 5 s for the store, and reports the writes that it does not take. */
    async close(): Promise<void> {
      const written = line(async () => undefined);
      await withTimeout(written, closeMs, () => undefined);
      closed.abort();
      const stop = new Error('the server stops');
      // The two writes of an end have the same fields.
      for (const end of new Set([...ends].map((each) => JSON.stringify(each))))
        loseEnd(JSON.parse(end) as object, stop);
      loseVotes([...batches.values()].concat(sent ?? []), stop);
    },
  };
}
