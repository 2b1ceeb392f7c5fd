/** Creates a clock for reads of states that stands still but for `pass` and `sleep`, which takes no time. */
export function createStateClock() {
  let now = 1000;
  const pass = (ms: number): void => void (now += ms);
  return { now: () => now, sleep: (ms: number) => Promise.resolve(pass(ms)), pass };
}

/** A clock whose sleepers wake only when a test advances it. */
export type SteppedClock = ReturnType<typeof createSteppedClock>;

/** Creates a clock that stands still but for `pass`. */
export function createSteppedClock() {
  let now = 1000;
  let sleepers: { readonly until: number; readonly wake: () => void }[] = [];
  return {
    now: () => now,
    sleep: (ms: number) => new Promise<void>((wake) => sleepers.push({ until: now + ms, wake })),
    sleeping: () => sleepers.length,
    pass(ms: number): void {
      now += ms;
      const due = sleepers.filter(({ until }) => until <= now);
      sleepers = sleepers.filter(({ until }) => until > now);
      for (const { wake } of due) wake();
    },
  };
}
