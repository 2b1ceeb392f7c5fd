/** How much may be taken from each bucket. */
export interface TokenBucketOptions {
  /** Its name in the RateLimit headers. */
  readonly name: string;
  /** Tokens a second, over time. */
  readonly rps: number;
  /** Tokens at once. */
  readonly burst: number;
  /** How long a key stays refused after it asked for more; not at all if left out. */
  readonly blockSeconds?: number;
  /** What Retry-After says after a refusal; the time until the next token if left out. */
  readonly retryAfterSeconds?: number;
}

/** The answer to one request for a token. */
export interface Verdict {
  readonly allowed: boolean;
  /** How many tokens are left now. */
  readonly left: number;
  /** Milliseconds until the next request may be allowed; 0 where this one was. */
  readonly waitMs: number;
  /** Whole seconds until the next request may be allowed, at least 1. */
  readonly retryAfter: number;
  /** RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers), names and values in turn. */
  readonly headers: readonly string[];
}

/** A token bucket for each key. It may answer now or soon, so that a store which several instances share can be one. */
export interface TokenBucket<Answer extends Verdict | Promise<Verdict> = Verdict | Promise<Verdict>> {
  /** Takes a token, if there is one. A refusal costs nothing: who wants to wait asks again after `waitMs`. */
  consume(key: string): Answer;
}

/** The buckets of this process, which answer at once. */
export type LocalBucket = TokenBucket<Verdict>;

/** What is known of a key, in milliseconds of the clock. */
interface Level {
  /** When it is full again. */
  fullAt: number;
  /** When its block ends. */
  blockedUntil: number;
}

/** The buckets are swept when there are so many, and then when there are twice as many as were left. */
const sweepAtLeast = 10_000;

/**
 * Creates a token bucket for each key (as the generic cell rate algorithm, ITU-T I.371): `burst` tokens at first, and
 * `rps` more a second. The clock is in milliseconds.
 */
export function createTokenBucket(
  { name, rps, burst, blockSeconds = 0, retryAfterSeconds }: TokenBucketOptions,
  now: () => number = () => performance.now(),
): LocalBucket {
  const perToken = 1000 / rps;
  const capacity = burst * perToken;
  const policy = `"${name}";q=${burst};w=${Math.ceil(burst / rps)}`;
  const levels = new Map<string, Level>();
  let sweepAt = sweepAtLeast;

  const sweep = (time: number): void => {
    for (const [key, { fullAt, blockedUntil }] of levels) {
      if (fullAt <= time && blockedUntil <= time) levels.delete(key);
    }
    sweepAt = Math.max(sweepAtLeast, levels.size * 2);
  };
  const toHeaders = (left: number, seconds: number): readonly string[] => [
    'RateLimit-Policy',
    policy,
    'RateLimit',
    `"${name}";r=${left};t=${seconds}`,
  ];
  // Clients that ask now and then all get the same headers, so that they are made once.
  let latest = { left: burst, seconds: 0, headers: toHeaders(burst, 0) };
  const toVerdict = (waitMs: number, fullMs: number): Verdict => {
    const left = Math.max(0, Math.floor((capacity - fullMs) / perToken + 1e-6));
    const seconds = Math.ceil(fullMs / 1000);
    if (left !== latest.left || seconds !== latest.seconds)
      latest = { left, seconds, headers: toHeaders(left, seconds) };
    const retryAfter = retryAfterSeconds ?? Math.max(1, Math.ceil(waitMs / 1000 - 1e-6));
    return { allowed: waitMs === 0, left, waitMs, retryAfter, headers: latest.headers };
  };

  return {
    consume(key) {
      const time = now();
      let level = levels.get(key);
      if (!level) {
        if (levels.size >= sweepAt) sweep(time);
        level = { fullAt: time, blockedUntil: time };
        levels.set(key, level);
      }
      // More than empty is only possible with a clock that was set back.
      const full = Math.min(Math.max(level.fullAt, time), time + capacity);
      const blocked = level.blockedUntil - time;
      if (blocked > 0) return toVerdict(blocked, capacity);
      // A thousandth of a millisecond, so that rounding never takes a token away.
      const wait = full + perToken - time - capacity - 1e-3;
      if (wait <= 0) {
        level.fullAt = full + perToken;
        return toVerdict(0, level.fullAt - time);
      }
      if (blockSeconds > 0) level.blockedUntil = time + blockSeconds * 1000;
      return toVerdict(Math.max(wait, blockSeconds * 1000), full - time);
    },
  };
}
