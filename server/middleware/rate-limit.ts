import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

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
}

/** The limiter's word on one request. */
export interface Verdict {
  readonly allowed: boolean;
  /** RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers), names and values in turn. */
  readonly headers: readonly string[];
  /** Whole seconds until the next request may be allowed, at least 1. */
  readonly retryAfter: number;
}

/** Counts a request of a client and says whether it is allowed. */
export type RateLimit = (key: string) => Promise<Verdict>;

/** Creates a limit: `burst` requests in each window of burst / rps seconds, counted for each key by itself. */
export function createRateLimit({ name, rps, burst, blockSeconds }: RateLimitOptions): RateLimit {
  const window = burst / rps;
  const limiter = new RateLimiterMemory({ points: burst, duration: window, blockDuration: blockSeconds });
  const policy = `"${name}";q=${burst};w=${Math.ceil(window)}`;
  const toVerdict = (allowed: boolean, { remainingPoints, msBeforeNext }: RateLimiterRes): Verdict => {
    const retryAfter = Math.max(1, Math.ceil(msBeforeNext / 1000));
    const headers = ['RateLimit-Policy', policy, 'RateLimit', `"${name}";r=${remainingPoints};t=${retryAfter}`];
    return { allowed, headers, retryAfter };
  };
  return async (key) => {
    try {
      return toVerdict(true, await limiter.consume(key));
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return toVerdict(false, refusal);
      throw refusal;
    }
  };
}
