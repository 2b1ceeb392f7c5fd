/** Whether this instance wants traffic, and what it must still finish. */
export interface Lifecycle {
  state(): 'ready' | 'draining';
  /** From now on it does not: what runs is finished, and nothing new is begun. */
  drain(): void;
  /** Does work that must be brought to its end, whether or not somebody still waits for it. */
  finish<Value>(work: () => Promise<Value>): Promise<Value>;
  /** Resolves when all such work is done. */
  idle(): Promise<void>;
}

/** Creates the lifecycle of an instance that is ready. */
export function createLifecycle(): Lifecycle {
  let state: 'ready' | 'draining' = 'ready';
  const running = new Set<Promise<unknown>>();
  return {
    state: () => state,
    drain() {
      state = 'draining';
    },
    finish(work) {
      const promise = work();
      running.add(promise);
      const remove = (): boolean => running.delete(promise);
      promise.then(remove, remove);
      return promise;
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}
