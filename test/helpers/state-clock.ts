import type { StateClock } from '../../server/hosting/providers/state-reader.ts';

/** A clock for reads of states that a test advances. Its sleep takes no time. */
export interface TestStateClock extends StateClock {
  readonly pass: (ms: number) => void;
}

/** Creates a clock that stands still but for `pass` and `sleep`. */
export function createStateClock(): TestStateClock {
  let now = 1000;
  const pass = (ms: number): void => void (now += ms);
  return {
    now: () => now,
    sleep: (ms) => Promise.resolve(pass(ms)),
    pass,
  };
}

/** A clock whose sleepers wake only when a test advances it. */
export interface SteppedClock extends TestStateClock {
  readonly sleeping: () => number;
}

/** Creates a clock that stands still but for `pass`. */
export function createSteppedClock(): SteppedClock {
  let now = 1000;
  let sleepers: { readonly until: number; readonly wake: () => void }[] = [];
  return {
    now: () => now,
    sleep: (ms) => new Promise<void>((wake) => sleepers.push({ until: now + ms, wake })),
    sleeping: () => sleepers.length,
    pass(ms) {
      now += ms;
      const due = sleepers.filter(({ until }) => until <= now);
      sleepers = sleepers.filter(({ until }) => until > now);
      for (const { wake } of due) wake();
    },
  };
}
