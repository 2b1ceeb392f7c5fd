/** A rate limit: `burst` requests at once, and then `refill` more in `seconds`. */
interface RateLimit {
  readonly burst: number;
  readonly refill: number;
  readonly seconds: number;
  /** What counts, in words for people. */
  readonly requests: string;
  readonly countedFor: string;
}

const client = 'each client address';
const key = 'each API key';

/** The rate limits of a service whose operator has set no others. An IPv6 client is counted by its /64 network. */
export const rateLimits = {
  client: {
    burst: 100,
    refill: 50,
    seconds: 1,
    requests: 'All requests below /v1, refused ones too',
    countedFor: client,
  },
  domains: { burst: 10, refill: 2, seconds: 1, requests: 'Domain searches', countedFor: client },
  feedback: { burst: 1, refill: 1, seconds: 30, requests: 'Votes on articles', countedFor: client },
  actions: { burst: 5, refill: 1, seconds: 1, requests: 'Power actions and console commands', countedFor: key },
  reads: {
    burst: 20,
    refill: 2,
    seconds: 1,
    requests: 'Other requests with a key, such as for a log',
    countedFor: key,
  },
} as const satisfies Record<string, RateLimit>;

/** The largest bodies of requests, in bytes. */
export const bodyLimits = { feedback: 32_768, others: 16_384 } as const;
