import type { Store } from './store/types.ts';
import { createTokenBucket, createToResult } from './token-bucket.ts';
import type { CreateBucket } from './token-bucket.ts';

/** Options of the shared buckets. */
export interface SharedBucketsOptions {
  readonly limits: NonNullable<Store['limits']>;
  /** Called when the database does not count in time, at most every 30 s. */
  readonly onFailure: (error: unknown) => void;
  /** In milliseconds. */
  readonly now?: () => number;
}

/** How long a request waits for the database. */
export const waitMs = 200;
/** How long this instance counts by itself after that. */
const aloneMs = 10_000;
const reportIntervalMs = 30_000;
const purgeIntervalMs = 3_600_000;

/**
 * Creates token buckets that all instances share. While the database does not answer in time, this instance counts by itself,
 * in buckets of its own.
 */
export function createSharedBuckets({ limits, onFailure, now = () => performance.now() }: SharedBucketsOptions) {
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
          const { allowed, fullUs } = await withTimeout(limits.consume(name, key, rate));
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

async function withTimeout<Value>(work: Promise<Value>): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`the database did not answer within ${waitMs} ms`)), waitMs);
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
