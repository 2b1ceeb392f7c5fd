import { Counter } from '@prometheus-io/client';
import type { Registry } from '@prometheus-io/client';
import type { RateLimitResult, TokenBucket } from '../token-bucket.ts';

/** Counts the refusals of token buckets by their names, which RateLimit headers show too. */
export function countRefusals(registry: Registry) {
  const refusals = new Counter({
    name: 'hosting_api_limit_refusals_total',
    help: 'Requests that a rate limit refused, by its name in the RateLimit header; panel and registry pace our own calls.',
    labelNames: ['limit'],
    registers: [registry],
  });
  /** A bucket that counts what another refuses. */
  return <Answer extends RateLimitResult | Promise<RateLimitResult>>(
    limit: string,
    bucket: TokenBucket<Answer>,
  ): TokenBucket<Answer> => {
    refusals.inc({ limit }, 0);
    const count = ({ allowed }: RateLimitResult): void => {
      if (!allowed) refusals.inc({ limit });
    };
    return {
      consume(key) {
        const answer = bucket.consume(key);
        if (answer instanceof Promise) void answer.then(count, () => undefined);
        else count(answer);
        return answer;
      },
    };
  };
}
