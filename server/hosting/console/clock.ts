/** Ends a timer that has not run yet. */
export type Cancel = () => void;

/** The time, and a way to wait for it: a dependency, so that tests can turn it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs something once after some milliseconds. */
  after(ms: number, run: () => void): Cancel;
}

/** The clock of this machine. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};
