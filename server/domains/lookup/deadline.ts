/** The deadline of some work. */
export interface Deadline {
  /** Aborts at the deadline. */
  readonly signal: AbortSignal;
  remainingMs(): number;
}

/** Runs work with deadlines, which can all be aborted together. */
export interface Deadlines {
  /** Runs some work; resolves to `otherwise` at the deadline, and after `close`. */
  within<Result>(ms: number, otherwise: Result, work: (deadline: Deadline) => Promise<Result>): Promise<Result>;
  close(): void;
}

/** Creates a set of deadlines that are closed together. */
export function createDeadlines(): Deadlines {
  const running = new Set<AbortController>();
  let isClosed = false;
  return {
    async within<Result>(ms: number, otherwise: Result, work: (deadline: Deadline) => Promise<Result>) {
      if (isClosed) return otherwise;
      const controller = new AbortController();
      const { signal } = controller;
      const end = performance.now() + ms;
      const timer = setTimeout(() => controller.abort(), ms);
      running.add(controller);
      const aborted = new Promise<Result>((resolve) => {
        signal.addEventListener('abort', () => resolve(otherwise));
      });
      try {
        return await Promise.race([work({ signal, remainingMs: () => end - performance.now() }), aborted]);
      } finally {
        clearTimeout(timer);
        running.delete(controller);
        // Aborts what is still running for this work.
        controller.abort();
      }
    },
    close() {
      isClosed = true;
      for (const controller of running) controller.abort();
    },
  };
}
