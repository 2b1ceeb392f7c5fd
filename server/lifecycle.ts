/** Whether this instance wants traffic, and what it must still finish. */
export type Lifecycle = ReturnType<typeof createLifecycle>;

/** Creates the lifecycle of an instance that is ready. */
export function createLifecycle() {
  let state: 'ready' | 'draining' = 'ready';
  const running = new Set<Promise<unknown>>();
  return {
    state: () => state,
    /** From now on it wants none: what runs is finished, and nothing new is begun. */
    drain(): void {
      state = 'draining';
    },
    /** Does work that must be brought to its end, whether or not somebody still waits for it. */
    finish<Value>(work: () => Promise<Value>): Promise<Value> {
      const promise = work();
      running.add(promise);
      const remove = (): boolean => running.delete(promise);
      promise.then(remove, remove);
      return promise;
    },
    /** Resolves when all such work is done. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}
