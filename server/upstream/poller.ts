/** Reads something again and again, one read at a time. */
export interface Poller {
  /** Begins with the first read, and goes on from there by itself. Settles when the first read ended. */
  start(): Promise<void>;
  /** Reads now. Shares the read that is running. */
  poll(): Promise<void>;
  /** Begins no further read, and waits for the one that is running. */
  stop(): Promise<void>;
}

/** What is read, and how often. */
export interface PollerOptions {
  readonly read: () => Promise<void>;
  /** Is given what a read throws, unless the poller is stopped; where it is left out, a read never throws. */
  readonly onFailure?: (error: unknown) => void;
  /** The pause after a read that succeeded. */
  readonly everyMs: () => number;
  /** The pause after a read that failed; it doubles with each further failure, up to `everyMs`. */
  readonly retryMs?: number;
  readonly random?: (() => number) | undefined;
}

/** The part by which a pause is longer or shorter, so that instances that start together do not stay together. */
const jitter = 0.1;

/** Creates a poller that has not begun. It does not keep the process alive. */
export function createPoller(options: PollerOptions): Poller {
  const { read, onFailure, everyMs, retryMs = Infinity, random = Math.random } = options;
  let running: Promise<void> | undefined;
  let first: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let isStopped = false;

  const run = async (): Promise<void> => {
    clearTimeout(timer);
    try {
      await read();
      failures = 0;
    } catch (error) {
      // A defect, which ends the process like any other that nothing catches.
      if (!onFailure) throw error;
      failures += 1;
      if (!isStopped) onFailure(error);
    }
    if (isStopped || !first) return;
    const pause = failures === 0 ? everyMs() : Math.min(everyMs(), retryMs * 2 ** (failures - 1));
    timer = setTimeout(() => void poll(), pause * (1 - jitter + 2 * jitter * random())).unref();
  };
  const poll = (): Promise<void> => {
    if (isStopped) return Promise.resolve();
    return (running ??= run().finally(() => (running = undefined)));
  };
  return {
    start: () => (first ??= poll()),
    poll,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
