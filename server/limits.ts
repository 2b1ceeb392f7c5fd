import type { LimitName } from '#contract/endpoint.ts';
import type { Env } from './env.ts';
import type { KeyRoutesOptions } from './keys/routes.ts';
import { createTokenBucket } from './token-bucket.ts';
import type { CreateBucket, LocalBucket, TokenBucket } from './token-bucket.ts';

/** The rate limits; those of single endpoints by name. */
export interface Limits extends Readonly<Record<LimitName, TokenBucket>> {
  /** For each client, over all endpoints below /v1. */
  readonly client: LocalBucket;
  /** For the actions of each API key. */
  readonly actions: TokenBucket;
  /** For the reads of each API key. */
  readonly reads: TokenBucket;
}

/** The rate limits of each API key, as `GET /v1/key` describes them. */
export function toKeyLimits(env: Env): KeyRoutesOptions['keyLimits'] {
  return {
    power: { requests_per_second: env.POWER_RATELIMIT_RPS, burst: env.POWER_RATELIMIT_BURST },
    read: { requests_per_second: env.READ_RATELIMIT_RPS, burst: env.READ_RATELIMIT_BURST },
  };
}

/** Creates the limits. The one of a client is this instance's own: it is checked for each request. */
export function createLimits(env: Env, createBucket: CreateBucket): Limits {
  return {
    client: createTokenBucket({ name: 'default', rps: env.RATELIMIT_RPS, burst: env.RATELIMIT_BURST }),
    domains: createBucket({ name: 'domains', rps: env.DOMAIN_RATELIMIT_RPS, burst: env.DOMAIN_RATELIMIT_BURST }),
    feedback: createBucket({
      name: 'feedback',
      rps: 1 / env.FEEDBACK_RATELIMIT_WINDOW_SECONDS,
      burst: env.FEEDBACK_RATELIMIT_BURST,
      retryAfterSeconds: env.FEEDBACK_RATELIMIT_WINDOW_SECONDS,
    }),
    actions: createBucket({ name: 'actions', rps: env.POWER_RATELIMIT_RPS, burst: env.POWER_RATELIMIT_BURST }),
    reads: createBucket({ name: 'reads', rps: env.READ_RATELIMIT_RPS, burst: env.READ_RATELIMIT_BURST }),
  };
}
