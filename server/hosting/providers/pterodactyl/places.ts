import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { withTimeout } from '../../../timeout.ts';
import { BusyError } from '../types.ts';
import { toShortRef } from './answers.ts';
import type { listServers } from './check.ts';

/** The state reads of a panel under way: each takes one of its PHP workers, for 15 s if the node hangs. */
const maxReads = 3;
/** A read gives up without a place after this time. */
const placeMs = 1000;
/** The node of a slower read is slow. */
const slowMs = 4000;
/** A panel gives up on a node after this time, also for a request that we gave up before. */
const panelMs = 15_000;
const pauses = { firstMs: 30_000, maxMs: 300_000 };
/** The minimum time between two reads of the list of servers. */
const listMs = 600_000;

/** Creates the places of a panel's reads. The servers of a slow node share one, and each pauses after a slow read. */
export function createPlaces(list: () => ReturnType<typeof listServers>, now: () => number) {
  const all = pLimit(maxReads);
  const slow = pLimit(1);
  /** Reads under way that are not known to be slow yet. */
  const running = new Map<symbol, { readonly ref: string; readonly startedAt: number }>();
  /** Servers of slow nodes. */
  const paused = new Map<string, { readonly until: number; readonly ms: number }>();
  let servers: Awaited<ReturnType<typeof list>>['servers'] = new Map();
  let listedAt = -Infinity;

  const nodeOf = (ref: string): string => servers.get(toShortRef(ref))?.node ?? ref;
  const isSlow = (ref: string): boolean => [...paused.keys()].some((other) => nodeOf(other) === nodeOf(ref));
  const pause = (ref: string): void => {
    const ms = Math.min((paused.get(ref)?.ms ?? pauses.firstMs / 2) * 2, pauses.maxMs);
    paused.set(ref, { until: now() + ms, ms });
    if (now() - listedAt < listMs) return;
    listedAt = now();
    void list().then(
      (listed) => ({ servers } = listed),
      () => undefined,
    );
  };
  /** Ends the pauses of all servers of a node that answers. */
  const resume = (ref: string): void => {
    const node = nodeOf(ref);
    for (const other of paused.keys()) if (nodeOf(other) === node) paused.delete(other);
  };
  /** Follows a read, until the panel has given up too. */
  const follow = async (ref: string, value: Promise<unknown>): Promise<void> => {
    const id = Symbol(ref);
    const startedAt = now();
    running.set(id, { ref, startedAt });
    const [{ status }] = await Promise.allSettled([value]);
    const isAnswered = status === 'fulfilled';
    const ms = now() - startedAt;
    // A read that was found slow while it was under way has its pause.
    if (running.delete(id)) {
      if (ms >= slowMs) pause(ref);
      else if (isAnswered) resume(ref);
    }
    if (!isAnswered && ms >= slowMs && ms < panelMs) await sleep(panelMs - ms, undefined, { ref: false });
  };
  return {
    resume,
    /** Runs the read of a state in a place; without one, throws a {@link BusyError}. Logs need places of slow nodes only. */
    async read<Value>(ref: string, kind: 'state' | 'log', work: () => Promise<Value>): Promise<Value> {
      for (const [id, { ref: other, startedAt }] of running) {
        if (now() - startedAt >= slowMs && running.delete(id)) pause(other);
      }
      const waitMs = (paused.get(ref)?.until ?? -Infinity) - now();
      if (waitMs > 0) throw new BusyError(waitMs);
      // In an object: the wait ends when the read starts.
      const started = Promise.withResolvers<{ readonly value: Promise<Value> }>();
      let isLate = false;
      const run = async (): Promise<void> => {
        if (isLate) return;
        const value = work();
        started.resolve({ value });
        await follow(ref, value);
      };
      void (isSlow(ref) ? slow(() => all(run)) : kind === 'log' ? run() : all(run));
      const { value } = await withTimeout(started.promise, placeMs, () => {
        isLate = true;
        throw new BusyError();
      });
      return await value;
    },
  };
}
