import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import { createTokenBucket } from '../../token-bucket.ts';
import type { CreateBucket, TokenBucket, TokenBucketOptions } from '../../token-bucket.ts';

/** Whether a domain can be registered. `free` and `taken` are proved; all else is `unknown`. */
export type Availability = 'taken' | 'free' | 'unknown';

/** The deadline of a lookup. */
export interface Deadline {
  readonly signal: AbortSignal;
  remainingMs(): number;
}

/** The query rate of a host. */
export type Rate = Pick<TokenBucketOptions, 'rps' | 'burst'>;

/** The default limits and timeouts of queries. */
export const defaultLimits = {
  /** For one query, from the connection to the last byte. */
  answerMs: 3000,
  lookupMs: 6000,
  /** For one DNS query, and the number of concurrent ones. */
  dnsMs: 800,
  dnsConcurrency: 64,
  concurrency: 4,
  rate: { rps: 5, burst: 5 } as Rate,
  /** For servers that are neither in IANA's list nor in our table. */
  unlistedRate: { rps: 1, burst: 5 } as Rate,
  /** The pause after a refusal without Retry-After. */
  backOffMs: 10_000,
  /** How long it counts that a server knew a name that exists, or denied one. */
  canaryMs: 60 * 60 * 1000,
  refreshMs: 24 * 60 * 60 * 1000,
  maxBytes: 256 * 1024,
};

/** The limits; tests may change them. */
export type RegistryLimits = Readonly<typeof defaultLimits>;

/** Dependencies of the queries to registries. */
export interface QueryContext {
  readonly limiter: ReturnType<typeof createHostLimiter>;
  readonly limits: RegistryLimits;
  /** Called with what is wrong with a host, for the operator; never with the queried domain. */
  readonly onAnomaly: (host: string, description: string) => void;
}

/** Returned by work that should be retried once, since the host was unavailable. */
export const retry = Symbol('retry');

interface HostLimiterOptions {
  readonly concurrency: number;
  /** The rate of a host; hosts with the same rate must get the same object. */
  readonly rateOf: (host: string) => Rate;
  readonly now: () => number;
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

/** Creates what limits the queries to each host: one waits for a slot, and then for a token of the host's bucket. */
export function createHostLimiter(options: HostLimiterOptions) {
  const { concurrency, rateOf, now, createBucket = (bucket) => createTokenBucket(bucket, now) } = options;
  const hosts = new Map<string, HostState>();
  const buckets = new Map<Rate, TokenBucket>();

  const removeIdle = (): void => {
    for (const [host, { slots, backOffUntil }] of hosts) {
      const isIdle = slots.activeCount === 0 && slots.pendingCount === 0;
      if (isIdle && now() >= backOffUntil) hosts.delete(host);
    }
  };
  const stateOf = (host: string): HostState => {
    const found = hosts.get(host);
    if (found) return found;
    if (hosts.size >= maxIdleHosts) removeIdle();
    const state = { slots: pLimit(concurrency), backOffUntil: 0, waiting: new AbortController() };
    hosts.set(host, state);
    return state;
  };
  const bucketOf = (rate: Rate): TokenBucket => {
    const bucket = buckets.get(rate) ?? createBucket({ name: 'registry', ...rate });
    buckets.set(rate, bucket);
    return bucket;
  };
  const consumeToken = async (host: string, state: HostState, deadline: Deadline): Promise<boolean> => {
    const { signal } = state.waiting;
    while (!deadline.signal.aborted && now() >= state.backOffUntil && deadline.remainingMs() >= minRemainingMs) {
      const { allowed, waitMs } = await bucketOf(rateOf(host)).consume(host);
      if (allowed || waitMs >= deadline.remainingMs()) return allowed;
      await sleep(waitMs, undefined, { signal: AbortSignal.any([deadline.signal, signal]) }).catch(() => undefined);
    }
    return false;
  };
  return {
    /**
     * Runs some work within the limits of a host, and once more if it returns {@link retry}. Resolves to undefined if
     * it cannot start before the deadline, the host is backed off, or both attempts fail.
     */
    async run<Result>(host: string, deadline: Deadline, work: () => Promise<Result | typeof retry>) {
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
    /** Stops the queries to a host for some time; waiting and new ones resolve to undefined. */
    backOff(host: string, ms: number): void {
      const state = stateOf(host);
      state.backOffUntil = Math.max(state.backOffUntil, now() + ms);
      state.waiting.abort();
      state.waiting = new AbortController();
    },
  };
}
