/** How much one client may ask for. */
export interface RateLimitOptions {
  /** Its name in the RateLimit headers. */
  readonly name: string;
  /** Requests a second, over time. */
  readonly rps: number;
  /** Requests at once. */
  readonly burst: number;
  /** How long a client stays refused after it asked for more. */
  readonly blockSeconds: number;
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

/** Counts a request of a client and says whether it is allowed, in one synchronous step. */
export type RateLimit = (key: string) => Verdict;

/** A map is swept when it has this many entries, and then when it has twice as many as were left. */
const sweepAtLeast = 10_000;

/**
 * Creates a token bucket for each key (as the generic cell rate algorithm, ITU-T I.371): `burst` tokens at first, and
 * `rps` more a second. The clock, in milliseconds, never goes back.
 */
export function createRateLimit(
  { name, rps, burst, blockSeconds, retryAfterSeconds }: RateLimitOptions,
  now: () => number = () => performance.now(),
): RateLimit {
  const perToken = 1000 / rps;
  const capacity = burst * perToken;
  const policy = `"${name}";q=${burst};w=${Math.ceil(burst / rps)}`;
  /** When the bucket of a key is full again, or when its block ends. A key that is not in it has a full bucket. */
  const fullAt = new Map<string, number>();
  const blockedUntil = new Map<string, number>();
  let sweepAt = sweepAtLeast;

  const sweep = (time: number): void => {
    for (const times of [fullAt, blockedUntil]) {
      for (const [key, until] of times) if (until <= time) times.delete(key);
    }
    sweepAt = Math.max(sweepAtLeast, fullAt.size * 2);
  };
  const toVerdict = (waitMs: number, fullMs: number): Verdict => {
    const left = Math.max(0, Math.floor((capacity - fullMs) / perToken + 1e-6));
    const headers = ['RateLimit-Policy', policy, 'RateLimit', `"${name}";r=${left};t=${Math.ceil(fullMs / 1000)}`];
    return {
      allowed: waitMs <= 0,
      headers,
      retryAfter: retryAfterSeconds ?? Math.max(1, Math.ceil(waitMs / 1000 - 1e-6)),
    };
  };

  return (key) => {
    const time = now();
    if (fullAt.size >= sweepAt) sweep(time);
    const full = Math.max(fullAt.get(key) ?? time, time);
    const blocked = (blockedUntil.get(key) ?? time) - time;
    if (blocked > 0) return toVerdict(blocked, capacity);
    // A thousandth of a millisecond, so that rounding never takes a token away.
    const wait = full + perToken - time - capacity - 1e-3;
    if (wait <= 0) {
      fullAt.set(key, full + perToken);
      return toVerdict(0, full + perToken - time);
    }
    if (blockSeconds > 0) blockedUntil.set(key, time + blockSeconds * 1000);
    return toVerdict(Math.max(wait, blockSeconds * 1000), full - time);
  };
}
