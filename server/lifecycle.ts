import type { Logger } from './log.ts';

/** Dependencies of every part that opens. */
export interface Base<Settings> {
  readonly env: Settings;
  readonly log: Logger;
  /** Closes the parts of the server in reverse order. */
  readonly opened: AsyncDisposableStack;
  readonly report: (message: string) => (error: unknown) => void;
}

/** The readiness of this instance, and the work to complete before its end. */
export type Lifecycle = ReturnType<typeof createLifecycle>;

/** Creates the lifecycle of an instance, which is ready while `canServe` returns true. */
export function createLifecycle(canServe: () => boolean) {
  let isDraining = false;
  const running = new Set<Promise<unknown>>();
  return {
    state(): 'ready' | 'unready' | 'draining' {
      if (isDraining) return 'draining';
      return canServe() ? 'ready' : 'unready';
    },
    drain(): void {
      isDraining = true;
    },
    /** Runs work that must complete before the process ends, even if its client disconnects. */
    finish<Value>(work: () => Promise<Value>): Promise<Value> {
      const promise = work();
      running.add(promise);
      const remove = (): boolean => running.delete(promise);
      promise.then(remove, remove);
      return promise;
    },
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}
