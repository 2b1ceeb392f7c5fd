import { z } from 'zod';
import { bodyLimits, rateLimits } from '#contract/endpoint.ts';
import type { LimitName } from '#contract/endpoint.ts';
import type { Base } from './lifecycle.ts';
import { integer } from './settings.ts';
import type { Store } from './store/types.ts';
import { withTimeout } from './timeout.ts';
import { createTokenBucket, createToResult } from './token-bucket.ts';
import type { CreateBucket, LocalBucket, TokenBucket } from './token-bucket.ts';

const optional = (meaning: string) => integer(1, 1_000_000).optional().describe(meaning);
const positive = (preset: number, meaning: string) => integer(1, 1_000_000).default(preset).describe(meaning);

/** The settings of rate limits and of the size of votes. */
export const LimitSettings = z.object({
  RATELIMIT_RPS: positive(
    rateLimits.client.refill,
    'Requests a second for each client IP (IPv6: each /64) below `/v1`, except for content.',
  ),
  RATELIMIT_BURST: positive(rateLimits.client.burst, 'The burst of these requests for each client IP.'),
  CONTENT_RATELIMIT_RPS: optional(
    `Requests a second for each client IP over content: files of the release, \`/v1/status\` and \`/v1/domains/tlds\`. The default is ${rateLimits.content.refill}, or RATELIMIT_RPS if higher. \`npm run dev\` has no limit.`,
  ),
  CONTENT_RATELIMIT_BURST: optional(
    `The burst of requests for content. The default is ${rateLimits.content.burst}, or RATELIMIT_BURST if higher.`,
  ),
  POWER_RATELIMIT_RPS: positive(rateLimits.actions.refill, 'Actions and console commands a second for each API key.'),
  POWER_RATELIMIT_BURST: positive(
    rateLimits.actions.burst,
    'The burst of actions and console commands for each API key.',
  ),
  READ_RATELIMIT_RPS: positive(
    rateLimits.reads.refill,
    'GET requests with an API key a second: logs, console addresses, states, actions, and the key itself.',
  ),
  READ_RATELIMIT_BURST: positive(rateLimits.reads.burst, 'The burst of GET requests for each API key.'),
  FEEDBACK_RATELIMIT_WINDOW_SECONDS: integer(1, 86_400)
    .default(rateLimits.feedback.seconds)
    .describe('Seconds until a client IP may vote again.'),
  FEEDBACK_RATELIMIT_BURST: positive(rateLimits.feedback.burst, 'The burst of votes for each client IP.'),
  MAX_FEEDBACK_BODY_BYTES: integer(1, 1_048_576).default(bodyLimits.feedback).describe('The largest vote, in bytes.'),
  DOMAIN_RATELIMIT_RPS: positive(rateLimits.domains.refill, 'Domain searches a second for each client IP.'),
  DOMAIN_RATELIMIT_BURST: positive(rateLimits.domains.burst, 'The burst of domain searches for each client IP.'),
});
export type LimitSettings = z.infer<typeof LimitSettings>;

/** The rate limits of endpoints, of clients below /v1, and of the actions and reads of keys. */
export type Limits = Readonly<Record<LimitName | 'actions' | 'reads', TokenBucket>> &
  Readonly<Record<'client' | 'content', LocalBucket>>;

/**
 * Opens the rate limits: in PostgreSQL for all instances, else in memory. The limits of a client are checked at every
 * request, so they stay in memory. `GET /v1/key` shows `keyLimits`.
 */
export function openLimits({
  env,
  opened,
  store,
  report,
}: Base<LimitSettings> & { readonly store: Pick<Store, 'limits'> }) {
  let createBucket: CreateBucket = createTokenBucket;
  if (store.limits) {
    const onFailure = report('database too slow for rate limits; falling back to local limits');
    const shared = createSharedBuckets(store.limits, onFailure);
    opened.defer(shared.close);
    createBucket = shared.create;
  }
  const limits: Limits = {
    client: createTokenBucket({ name: 'default', rps: env.RATELIMIT_RPS, burst: env.RATELIMIT_BURST }),
    content: createTokenBucket({
      name: 'content',
      rps: env.CONTENT_RATELIMIT_RPS ?? Math.max(rateLimits.content.refill, env.RATELIMIT_RPS),
      burst: env.CONTENT_RATELIMIT_BURST ?? Math.max(rateLimits.content.burst, env.RATELIMIT_BURST),
    }),
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
  const keyLimits = {
    power: { requests_per_second: env.POWER_RATELIMIT_RPS, burst: env.POWER_RATELIMIT_BURST },
    read: { requests_per_second: env.READ_RATELIMIT_RPS, burst: env.READ_RATELIMIT_BURST },
  };
  return { limits, keyLimits, createBucket };
}

/** How long a request waits for the database. */
export const waitMs = 200;
const toLate = (): never => {
  throw new Error(`the database did not answer within ${waitMs} ms`);
};
/** How long this instance then uses local limits. */
const aloneMs = 10_000;
const reportIntervalMs = 30_000;
const purgeIntervalMs = 3_600_000;

/** Creates token buckets shared by all instances; falls back to local buckets while the database is slow. */
export function createSharedBuckets(
  limits: NonNullable<Store['limits']>,
  onFailure: (error: unknown) => void,
  now = () => performance.now(),
) {
  let aloneUntil = Number.NEGATIVE_INFINITY;
  let reportedAt = Number.NEGATIVE_INFINITY;
  const fail = (error: unknown): void => {
    aloneUntil = now() + aloneMs;
    if (now() - reportedAt < reportIntervalMs) return;
    reportedAt = now();
    onFailure(error);
  };
  const purging = setInterval(() => void limits.purge().catch(fail), purgeIntervalMs).unref();

  const create: CreateBucket = (options) => {
    const { name, rps, burst } = options;
    const tokenUs = Math.max(1, Math.floor(1_000_000 / rps));
    const rate = { tokenUs, capacityUs: burst * tokenUs };
    const own = createTokenBucket(options, now);
    const toResult = createToResult(options);
    return {
      async consume(key) {
        if (now() < aloneUntil) return own.consume(key);
        try {
          const { allowed, fullUs } = await withTimeout(limits.consume(name, key, rate), waitMs, toLate);
          return toResult(allowed ? 0 : Math.max(1, fullUs + tokenUs - rate.capacityUs) / 1000, fullUs / 1000);
        } catch (error) {
          fail(error);
          return own.consume(key);
        }
      },
    };
  };
  return { create, close: () => clearInterval(purging) };
}
