/** How much one client may ask for. */
export interface RateLimitOptions {
  /** Its name in the RateLimit headers. */
  readonly name: string;
  /** Requests a second, over time. */
  readonly rps: number;
  /** Requests at once. */
  readonly burst: number;
  /** How long a client stays refused after it asked for more; not at all if left out. */
  readonly blockSeconds?: number;
  /** What Retry-After says to whoever is refused; the time until the next request may be allowed if left out. */
  readonly retryAfterSeconds?: number;
}

/** The limiter's word on one request. */
export interface Verdict {
  readonly allowed: boolean;
  /** RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers), names and values in turn. */
  readonly headers: readonly string[];
  /** Whole seconds until the next request may be allowed, at least 1. */
  readonly retryAfter: number;
}

/**
 * Counts a request of a client and says whether it is allowed, in one synchronous step. Whoever has read the clock
 * already tells the time.
 */
export type RateLimit = (key: string, time?: number) => Verdict;

/** What is known of a key, in milliseconds of the clock. */
interface Bucket {
  /** When it is full again. */
  fullAt: number;
  /** When its block ends. */
  blockedUntil: number;
}

/** The buckets are swept when there are so many, and then when there are twice as many as were left. */
const sweepAtLeast = 10_000;

/**
 * Creates a token bucket for each key (as the generic cell rate algorithm, ITU-T I.371): `burst` tokens at first, and
 * `rps` more a second. The clock, in milliseconds, never goes back.
 */
export function createRateLimit(
  { name, rps, burst, blockSeconds = 0, retryAfterSeconds }: RateLimitOptions,
  now: () => number = () => performance.now(),
): RateLimit {
  const perToken = 1000 / rps;
  const capacity = burst * perToken;
  const policy = `"${name}";q=${burst};w=${Math.ceil(burst / rps)}`;
  const buckets = new Map<string, Bucket>();
  let sweepAt = sweepAtLeast;

  const sweep = (time: number): void => {
    for (const [key, { fullAt, blockedUntil }] of buckets) {
      if (fullAt <= time && blockedUntil <= time) buckets.delete(key);
    }
    sweepAt = Math.max(sweepAtLeast, buckets.size * 2);
  };
  const toHeaders = (left: number, seconds: number): readonly string[] => [
    'RateLimit-Policy',
    policy,
    'RateLimit',
    `"${name}";r=${left};t=${seconds}`,
  ];
  // Clients that ask now and then are all told the same.
  let told = { left: burst, seconds: 0, headers: toHeaders(burst, 0) };
  const toVerdict = (waitMs: number, fullMs: number): Verdict => {
    const left = Math.max(0, Math.floor((capacity - fullMs) / perToken + 1e-6));
    const seconds = Math.ceil(fullMs / 1000);
    if (left !== told.left || seconds !== told.seconds) told = { left, seconds, headers: toHeaders(left, seconds) };
    return {
      allowed: waitMs <= 0,
      headers: told.headers,
      retryAfter: retryAfterSeconds ?? Math.max(1, Math.ceil(waitMs / 1000 - 1e-6)),
    };
  };

  return (key, time = now()) => {
    let bucket = buckets.get(key);
    if (!bucket) {
      if (buckets.size >= sweepAt) sweep(time);
      bucket = { fullAt: time, blockedUntil: time };
      buckets.set(key, bucket);
    }
    const full = Math.max(bucket.fullAt, time);
    const blocked = bucket.blockedUntil - time;
    if (blocked > 0) return toVerdict(blocked, capacity);
    // A thousandth of a millisecond, so that rounding never takes a token away.
    const wait = full + perToken - time - capacity - 1e-3;
    if (wait <= 0) {
      bucket.fullAt = full + perToken;
      return toVerdict(0, full + perToken - time);
    }
    if (blockSeconds > 0) bucket.blockedUntil = time + blockSeconds * 1000;
    return toVerdict(Math.max(wait, blockSeconds * 1000), full - time);
  };
}
