import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../server/hosting/console/channel.ts';

/** A clock that a test advances. */
export interface TestClock extends Clock {
  /** Advances the clock and runs due timers in order; each gets a turn of the event loop. */
  advance(seconds: number): Promise<void>;
  /** The number of pending timers. */
  pending(): number;
}

/** Creates a clock that starts at the current time. */
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
    async advance(seconds) {
      const until = now + seconds * 1000;
      for (let due = earliest(until); due; due = earliest(until)) {
        const [id, { at, run }] = due;
        timers.delete(id);
        now = Math.max(now, at);
        run();
        await nextTurn();
      }
      now = until;
    },
    pending: () => timers.size,
  };
}
