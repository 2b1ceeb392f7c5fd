/** Reads something again and again, one read at a time. */
export interface Poller {
  /** Begins with the first read, unless that was begun before. Settles when it ended; never rejects. */
  start(): Promise<void>;
  /** Reads now, and goes on from there. Shares the read that is running. */
  poll(): Promise<void>;
  /** Begins no further read, and waits for the one that is running. */
  stop(): Promise<void>;
}

/** What is read, and how often. */
export interface PollerOptions {
  /** One read. Its rejections go to `onFailure`, and not there once the poller is stopped. */
  readonly read: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
  /** The pause after a read that succeeded. */
  readonly everyMs: number;
  /** The pause after a read that failed; it doubles with each further failure, up to `everyMs`. */
  readonly retryMs: number;
  readonly random?: () => number;
}

/** The part by which a pause is longer or shorter, so that instances that start together do not stay together. */
const jitter = 0.1;

/** Creates a poller that has not begun. It does not keep the process alive. */
export function createPoller({ read, onFailure, everyMs, retryMs, random = Math.random }: PollerOptions): Poller {
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let isStopped = false;

  const run = async (): Promise<void> => {
    clearTimeout(timer);
    try {
      await read();
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!isStopped) onFailure(error);
    }
    const pause = failures === 0 ? everyMs : Math.min(everyMs, retryMs * 2 ** (failures - 1));
    if (!isStopped) timer = setTimeout(() => void poll(), pause * (1 - jitter + 2 * jitter * random())).unref();
  };
  const poll = (): Promise<void> => {
    if (isStopped) return Promise.resolve();
    return (running ??= run().finally(() => (running = undefined)));
  };
  let first: Promise<void> | undefined;
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
