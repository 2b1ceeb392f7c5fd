import type { Clock } from './clock.ts';

/** How much may be taken. */
export interface BucketOptions {
  readonly perSecond: number;
  /** How much at once. */
  readonly burst: number;
  readonly clock: Pick<Clock, 'now'>;
}

/** A token bucket of one connection. */
export interface Bucket {
  /** Takes one; false where there is none left. */
  take(): boolean;
  /** How many were refused since it was last full. */
  refused(): number;
}

/** Creates a full bucket. */
export function createBucket({ perSecond, burst, clock }: BucketOptions): Bucket {
  let left = burst;
  let at = clock.now();
  let refused = 0;
  return {
    take() {
      const now = clock.now();
      left = Math.min(burst, left + (Math.max(0, now - at) * perSecond) / 1000);
      at = now;
      if (left === burst) refused = 0;
      if (left < 1) {
        refused += 1;
        return false;
      }
      left -= 1;
      return true;
    },
    refused: () => refused,
  };
}
