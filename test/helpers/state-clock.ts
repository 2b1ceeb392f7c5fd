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
