/** Whether this instance wants traffic. */
export interface Lifecycle {
  state(): 'ready' | 'draining';
  /** From now on it does not: what runs is finished, and nothing new is begun. */
  drain(): void;
}

/** Creates the lifecycle of an instance that is ready. */
export function createLifecycle(): Lifecycle {
  let state: 'ready' | 'draining' = 'ready';
  return {
    state: () => state,
    drain() {
      state = 'draining';
    },
  };
}
