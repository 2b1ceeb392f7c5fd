import { crc32 } from 'node:zlib';
import { createEvent } from './events.ts';

/** The rate and size of each bucket. */
export interface TokenBucketOptions {
  /** The name in the RateLimit headers, under which refusals are published; one without limits no request. */
  readonly name?: string;
  readonly rps: number;
  /** The capacity, in tokens. */
  readonly burst: number;
  /** Retry-After after a refusal; default the time until the next token. */
  readonly retryAfterSeconds?: number;
}

/** New refusals of the limit with a name; none when one of its buckets is created. */
export const limitRefusals = createEvent<{ readonly limit: string; readonly count: 0 | 1 }>('limit-refused');

/** The result of consuming a token. */
export interface RateLimitResult {
  readonly allowed: boolean;
  readonly left: number;
  /** Milliseconds until the next request may be allowed; 0 if this one was. */
  readonly waitMs: number;
  /** Whole seconds until the next request may be allowed, at least 1. */
  readonly retryAfter: number;
  /** RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers), as alternating names and values. */
  readonly headers: readonly string[];
}

/** A token bucket for each key. It may be asynchronous: a store that several instances share implements it too. */
export interface TokenBucket {
  /** Consumes a token if there is one. A refusal consumes nothing; the caller may retry after `waitMs`. */
  consume(key: string): RateLimitResult | Promise<RateLimitResult>;
}

/** The synchronous buckets of this process. */
export interface LocalBucket extends TokenBucket {
  consume(key: string): RateLimitResult;
}

/** Creates a token bucket for each key: of this process, or shared by all instances. */
export type CreateBucket = (options: TokenBucketOptions & { readonly name: string }) => TokenBucket;

/** The first sweep happens at this many buckets, the next ones when the number left by the last has doubled. */
const minSweepSize = 10_000;
/** The pause between sweeps. A sweep of a full map takes about 5 ms. */
const sweepPauseMs = 1000;

/**
 * The maximum number of buckets, about 20 MB. While the map is full, each further client shares one of a few more. None
 * is removed before it is full again, since its client could then start over.
 */
const maxBuckets = 100_000;
const sharedBuckets = 1000;

/** Creates the function that turns the wait for a token and the time until a bucket is full into a result. */
export function createToResult({ name, rps, burst, retryAfterSeconds }: TokenBucketOptions) {
  const perToken = 1000 / rps;
  const policy = `"${name}";q=${burst};w=${Math.ceil(burst / rps)}`;
  if (name !== undefined) limitRefusals.publish({ limit: name, count: 0 });
  const toHeaders = (left: number, seconds: number) => {
    return ['RateLimit-Policy', policy, 'RateLimit', `"${name}";r=${left};t=${seconds}`];
  };
  // Most clients get the same headers as the previous one, so the last headers are reused.
  let last = { left: burst, seconds: 0, headers: toHeaders(burst, 0) };
  return (waitMs: number, fullMs: number): RateLimitResult => {
    const left = Math.max(0, Math.floor(burst - fullMs / perToken + 1e-6));
    const seconds = Math.ceil(fullMs / 1000 - 1e-6);
    if (left !== last.left || seconds !== last.seconds) last = { left, seconds, headers: toHeaders(left, seconds) };
    if (waitMs > 0 && name !== undefined) limitRefusals.publish({ limit: name, count: 1 });
    const retryAfter = retryAfterSeconds ?? Math.max(1, Math.ceil(waitMs / 1000 - 1e-6));
    return { allowed: waitMs === 0, left, waitMs, retryAfter, headers: last.headers };
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
  /** When each bucket is full again, in milliseconds of the clock. */
  const buckets = new Map<string, number>();
  let sweepAt = minSweepSize;
  let sweptAt = Number.NEGATIVE_INFINITY;

  const sweep = (time: number): void => {
    for (const [key, fullAt] of buckets) if (fullAt <= time) buckets.delete(key);
    sweepAt = Math.min(Math.max(minSweepSize, buckets.size * 2), maxBuckets);
    sweptAt = time;
  };
  /** The key of a client's bucket: its own, or a shared one while the map is full. */
  const place = (key: string, time: number): string => {
    if (buckets.has(key)) return key;
    if (buckets.size >= sweepAt && time - sweptAt >= sweepPauseMs) sweep(time);
    return buckets.size < maxBuckets ? key : `shared ${crc32(key) % sharedBuckets}`;
  };

  return {
    consume(client) {
      const time = now();
      const key = place(client, time);
      // The value exceeds the capacity only if the clock was set back.
      const full = Math.min(Math.max(buckets.get(key) ?? time, time), time + capacity);
      // A tolerance of 1 µs, so that rounding never costs a token.
      const wait = full + perToken - time - capacity - 1e-3;
      if (wait > 0) return toResult(wait, full - time);
      buckets.set(key, full + perToken);
      return toResult(0, full + perToken - time);
    },
  };
}
