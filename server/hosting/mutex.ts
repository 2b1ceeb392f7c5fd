import { ProviderError } from '../upstream/error.ts';

/** Runs one piece of work at a time under each name, in the order in which they came. */
export interface KeyedMutex {
  /** Throws a {@link ProviderError} where it has to wait for too long; the work is not begun then. */
  run<Value>(name: string, work: () => Promise<Value>): Promise<Value>;
}

/** Creates a mutex in which nothing waits longer than `waitMs`. */
export function createKeyedMutex(waitMs: number): KeyedMutex {
  const last = new Map<string, Promise<unknown>>();
  return {
    async run(name, work) {
      const before = last.get(name);
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const tail = (before ?? Promise.resolve()).then(() => released);
      last.set(name, tail);
      void tail.then(() => last.get(name) === tail && last.delete(name));
      try {
        if (before) await atMost(waitMs, before);
        return await work();
      } finally {
        release();
      }
    },
  };
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, true);
  const isLate = await Promise.race([work.then(() => false), late]);
  clearTimeout(timer);
  if (isLate) throw new ProviderError('Another action on this server is still running', { outcome: 'refused' });
}
