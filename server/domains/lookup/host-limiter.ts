import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import { createTokenBucket } from '../../token-bucket.ts';
import type { CreateBucket, TokenBucket } from '../../token-bucket.ts';
import type { Deadline } from './deadline.ts';
import type { Rate, RegistryLimits } from './limits.ts';

/** Returned by work that should be retried once, since the host was unavailable. */
export const retry = Symbol('retry');

/** Limits the rate and concurrency of the queries to each host. */
export interface HostLimiter {
  /**
   * Runs some work within the limits of a host, and once more if it returns {@link retry}. Resolves to undefined if it
   * cannot start before the deadline, the host is backed off, or both attempts return {@link retry}.
   */
  run<Result>(
    host: string,
    deadline: Deadline,
    work: () => Promise<Result | typeof retry>,
  ): Promise<Result | undefined>;
  /** Stops the queries to a host for some time; waiting and new ones resolve to undefined. */
  backOff(host: string, ms: number): void;
}

/** Dependencies of the queries to registries. */
export interface QueryContext {
  readonly limiter: HostLimiter;
  readonly limits: RegistryLimits;
  /** Called with an unexpected behaviour of a host, for the operator; it never names the queried domain. */
  readonly onAnomaly: (host: string, description: string) => void;
}

/** Options of the limiter. */
export interface HostLimiterOptions {
  /** Concurrent queries to each host. */
  readonly concurrency: number;
  /** The rate of a host; hosts with the same rate must get the same object. */
  readonly rateOf: (host: string) => Rate;
  /** In milliseconds. */
  readonly now: () => number;
  /** Creates the buckets of the hosts; default in memory. */
  readonly createBucket?: CreateBucket | undefined;
}

interface HostState {
  readonly slots: LimitFunction;
  backOffUntil: number;
  /** Aborts the waits for a token when the host is backed off. */
  waiting: AbortController;
}

/** A query with less time left is not started, since it would time out. */
const minRemainingMs = 50;

/** From this many hosts on, idle ones are removed. */
const maxIdleHosts = 500;

/** Creates the limiter. A query waits for a concurrency slot, and then for a token of the host's bucket. */
export function createHostLimiter({
  concurrency,
  rateOf,
  now,
  createBucket = (options) => createTokenBucket(options, now),
}: HostLimiterOptions): HostLimiter {
  const hosts = new Map<string, HostState>();
  const buckets = new Map<Rate, TokenBucket>();
  const stateOf = (host: string): HostState => {
    let state = hosts.get(host);
    if (!state) {
      if (hosts.size >= maxIdleHosts) removeIdle(hosts, now());
      state = { slots: pLimit(concurrency), backOffUntil: 0, waiting: new AbortController() };
      hosts.set(host, state);
    }
    return state;
  };
  const bucketOf = (rate: Rate): TokenBucket => {
    let bucket = buckets.get(rate);
    if (!bucket) buckets.set(rate, (bucket = createBucket({ name: 'registry', ...rate })));
    return bucket;
  };

  /** Waits for a token of a host; false if there is none before the deadline. */
  const consumeToken = async (host: string, state: HostState, deadline: Deadline): Promise<boolean> => {
    const { signal } = state.waiting;
    for (;;) {
      if (now() < state.backOffUntil || deadline.remainingMs() < minRemainingMs) return false;
      const { allowed, waitMs } = await bucketOf(rateOf(host)).consume(host);
      if (allowed || waitMs >= deadline.remainingMs()) return allowed;
      await sleep(waitMs, undefined, { signal: AbortSignal.any([deadline.signal, signal]) }).catch(() => undefined);
      if (deadline.signal.aborted) return false;
    }
  };

  return {
    async run(host, deadline, work) {
      const state = stateOf(host);
      const attempt = async () => {
        // No more queries wait than the rate lets start before the deadline.
        const maxWaiting = (rateOf(host).rps * deadline.remainingMs()) / 1000;
        if (state.slots.pendingCount >= maxWaiting) return undefined;
        return await state.slots(async () => ((await consumeToken(host, state, deadline)) ? await work() : undefined));
      };
      const first = await attempt();
      const result = first === retry ? await attempt() : first;
      return result === retry ? undefined : result;
    },
    backOff(host, ms) {
      const state = stateOf(host);
      state.backOffUntil = Math.max(state.backOffUntil, now() + ms);
      state.waiting.abort();
      state.waiting = new AbortController();
    },
  };
}

function removeIdle(hosts: Map<string, HostState>, at: number): void {
  for (const [host, { slots, backOffUntil }] of hosts) {
    if (slots.activeCount + slots.pendingCount === 0 && at >= backOffUntil) hosts.delete(host);
  }
}
