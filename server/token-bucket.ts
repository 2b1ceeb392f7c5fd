import { crc32 } from 'node:zlib';
import { createEvent } from './events.ts';
import type { HeaderFields } from './problem.ts';

/** The rate and the capacity of each bucket. */
export interface TokenBucketOptions {
  /** The name in RateLimit headers and metrics; without a name, the bucket limits no request of a client. */
  readonly name?: string;
  readonly rps: number;
  /** The capacity, in tokens. */
  readonly burst: number;
  /** Retry-After of a refusal; default: the time until the next token. */
  readonly retryAfterSeconds?: number;
}

/** Publishes refusals by limit: a count of 0 for each new bucket, then 1 for each refusal. */
export const limitRefusals = createEvent<{ readonly limit: string; readonly count: 0 | 1 }>('limit-refused');

/** The result of consuming a token. */
export interface RateLimitResult {
  readonly allowed: boolean;
  readonly left: number;
  /** Milliseconds until the next token; 0 if the request was allowed. */
  readonly waitMs: number;
  /** Seconds until the next token, rounded up, at least 1. */
  readonly retryAfter: number;
  /** RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers). */
  readonly headers: HeaderFields;
}

/** A token bucket for each key: in memory, or asynchronous in a shared store. */
export interface TokenBucket {
  /** Consumes a token. A refusal consumes nothing; the caller may retry after `waitMs`. */
  consume(key: string): RateLimitResult | Promise<RateLimitResult>;
}

/** Token buckets in the memory of this process. */
export interface LocalBucket extends TokenBucket {
  consume(key: string): RateLimitResult;
}

/** Creates token buckets: in memory, or shared by all instances. */
export type CreateBucket = (options: TokenBucketOptions & { readonly name: string }) => TokenBucket;

/** The first sweep happens at this many buckets; later sweeps at twice the buckets that the previous sweep left. */
const minSweepSize = 10_000;
/** The pause between sweeps. A sweep of a full map takes about 5 ms. */
const sweepPauseMs = 1000;

/**
 * The maximum number of buckets, about 20 MB. While the map is full, further clients share a few more buckets. A bucket
 * stays until it is full again; removing it earlier would give its client a new burst.
 */
const maxBuckets = 100_000;
const sharedBuckets = 1000;

/** Returns a function from the wait for a token, and the time until the bucket is full, to a result. */
export function createToResult({ name, rps, burst, retryAfterSeconds }: TokenBucketOptions) {
  const perToken = 1000 / rps;
  const policy = `"${name}";q=${burst};w=${Math.ceil(burst / rps)}`;
  if (name !== undefined) limitRefusals.publish({ limit: name, count: 0 });
  return (waitMs: number, fullMs: number): RateLimitResult => {
    const left = Math.max(0, Math.floor(burst - fullMs / perToken + 1e-6));
    const seconds = Math.ceil(fullMs / 1000 - 1e-6);
    if (waitMs > 0 && name !== undefined) limitRefusals.publish({ limit: name, count: 1 });
    const retryAfter = retryAfterSeconds ?? Math.max(1, Math.ceil(waitMs / 1000 - 1e-6));
    const headers = { 'RateLimit-Policy': policy, RateLimit: `"${name}";r=${left};t=${seconds}` };
    return { allowed: waitMs === 0, left, waitMs, retryAfter, headers };
  };
}

/** Creates a token bucket for each key (generic cell rate algorithm, ITU-T I.371). The clock is in milliseconds. */
export function createTokenBucket(
  options: TokenBucketOptions,
  now: () => number = () => performance.now(),
): LocalBucket {
  const { rps, burst } = options;
  const perToken = 1000 / rps;
  const capacity = burst * perToken;
  const toResult = createToResult(options);
  /** The time at which each bucket is full again. */
  const buckets = new Map<string, number>();
  let sweepAt = minSweepSize;
  let sweptAt = Number.NEGATIVE_INFINITY;

  const sweep = (time: number): void => {
    for (const [key, fullAt] of buckets) if (fullAt <= time) buckets.delete(key);
    sweepAt = Math.min(Math.max(minSweepSize, buckets.size * 2), maxBuckets);
    sweptAt = time;
  };
  /** Picks the bucket of a client: the client's own, or a shared bucket while the map is full. */
  const pickBucket = (key: string, time: number): string => {
    if (buckets.has(key)) return key;
    if (buckets.size >= sweepAt && time - sweptAt >= sweepPauseMs) sweep(time);
    return buckets.size < maxBuckets ? key : `shared ${crc32(key) % sharedBuckets}`;
  };

  return {
    consume(client) {
      const time = now();
      const key = pickBucket(client, time);
      // Exceeds the capacity only after the clock was set back.
      const full = Math.min(Math.max(buckets.get(key) ?? time, time), time + capacity);
      // Tolerate 1 µs: rounding must not cost a token.
      const wait = full + perToken - time - capacity - 1e-3;
      if (wait > 0) return toResult(wait, full - time);
      buckets.set(key, full + perToken);
      return toResult(0, full + perToken - time);
    },
  };
}
