import type { TokenBucketOptions } from '../../token-bucket.ts';

/** How often a host may be asked: so many times a second in the long run, and at once after a pause. */
export type Rate = Pick<TokenBucketOptions, 'rps' | 'burst'>;

/** How much registries are asked, and for how long. */
export const usualLimits = {
  /** For one answer, from the connection to its last byte. */
  answerMs: 3000,
  /** For all that one name needs. */
  lookupMs: 6000,
  /** For one answer of DNS, and how many questions there are at once. */
  dnsMs: 800,
  dnsConcurrency: 64,
  /** How many questions one host has at once. */
  concurrency: 4,
  rate: { rps: 5, burst: 5 } as Rate,
  /** For servers that neither IANA nor our table lists. */
  unlistedRate: { rps: 1, burst: 5 } as Rate,
  /** How long a host is left alone that asks for it without saying how long. */
  coolDownMs: 10_000,
  /** How long the proof holds that a server runs a TLD. */
  canaryMs: 6 * 60 * 60 * 1000,
  refreshMs: 24 * 60 * 60 * 1000,
  maxBytes: 256 * 1024,
};

/** The limits as a test may change them. */
export type RegistryLimits = Readonly<typeof usualLimits>;
