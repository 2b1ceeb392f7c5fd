/** The relative jitter of pauses, which keeps instances that start together apart. */
const jitter = 0.1;

/** Creates a poller, which runs one read at a time and does not keep the process alive. */
export function createPoller(options: {
  readonly read: () => Promise<void>;
  /** Called with the error of a read, unless the poller is stopped. Without a handler, a read must not throw. */
  readonly onFailure?: (error: unknown) => void;
  readonly everyMs: () => number;
  /** The pause after a failed read; doubles with each further failure, up to `everyMs`. */
  readonly retryMs?: number;
}) {
  const { read, onFailure, everyMs, retryMs = Infinity } = options;
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
      // Without a handler the error is a bug, and ends the process as an unhandled rejection.
      if (!onFailure) throw error;
      failures += 1;
      if (!isStopped) onFailure(error);
    }
    if (isStopped || !first) return;
    const pause = failures === 0 ? everyMs() : Math.min(everyMs(), retryMs * 2 ** (failures - 1));
    timer = setTimeout(() => void poll(), pause * (1 - jitter + 2 * jitter * Math.random())).unref();
  };
  const poll = (): Promise<void> => {
    if (isStopped) return Promise.resolve();
    return (running ??= run().finally(() => (running = undefined)));
  };
  return {
    start: (): Promise<void> => (first ??= poll()),
    /** Reads now, or joins the running read. */
    poll,
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
