import { setImmediate as breathe } from 'node:timers/promises';
import type { Clock } from '../../../server/hosting/console/clock.ts';

/** A clock that stands still until it is turned. */
export interface TestClock extends Clock {
  /** Turns it, and runs what comes due on the way, in order; what that asks of others has time to be answered. */
  turn(seconds: number): Promise<void>;
  /** How many timers are set. */
  pending(): number;
}

/** Creates a clock that shows the time of its creation. */
export function createTestClock(): TestClock {
  const timers = new Map<symbol, { at: number; run: () => void }>();
  let now = Math.ceil(Date.now() / 1000) * 1000;
  const earliest = (until: number) =>
    [...timers].filter(([, { at }]) => at <= until).toSorted(([, one], [, other]) => one.at - other.at)[0];
  return {
    now: () => now,
    after(ms, run) {
      const id = Symbol('timer');
      timers.set(id, { at: now + ms, run });
      return () => timers.delete(id);
    },
    async turn(seconds) {
      const until = now + seconds * 1000;
      for (let due = earliest(until); due; due = earliest(until)) {
        const [id, { at, run }] = due;
        timers.delete(id);
        now = Math.max(now, at);
        run();
        // oxlint-disable-next-line no-await-in-loop
        await breathe();
      }
      now = until;
    },
    pending: () => timers.size,
  };
}
