/** Cancels a timer. */
export type Cancel = () => void;

/** The time and timers, which tests replace. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls a function once after some milliseconds. */
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
