/** How long a piece of work may take. */
export interface Deadline {
  /** Aborts when the time is up. */
  readonly signal: AbortSignal;
  remainingMs(): number;
}

/** Pieces of work that have so long, and end together. */
export interface Deadlines {
  /** Does a piece of work; the answer is `otherwise` where the time is not enough, and after `close`. */
  within<Result>(ms: number, otherwise: Result, work: (deadline: Deadline) => Promise<Result>): Promise<Result>;
  close(): void;
}

/** Creates the deadlines of one room. */
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
        // Whatever is still under way for it is of no use any more.
        controller.abort();
      }
    },
    close() {
      isClosed = true;
      for (const controller of running) controller.abort();
    },
  };
}
