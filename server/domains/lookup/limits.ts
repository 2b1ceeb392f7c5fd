import type { TokenBucketOptions } from '../../token-bucket.ts';

/** The query rate of a host. */
export type Rate = Pick<TokenBucketOptions, 'rps' | 'burst'>;

/** The default limits and timeouts of queries. */
export const defaultLimits = {
  /** For one query, from the connection to the last byte. */
  answerMs: 3000,
  /** For the whole lookup of a name. */
  lookupMs: 6000,
  /** For one DNS query, and the number of concurrent ones. */
  dnsMs: 800,
  dnsConcurrency: 64,
  /** Concurrent queries to one host. */
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
