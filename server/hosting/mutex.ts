import { ProviderError } from '../upstream/error.ts';

/** A mutex for each name, in first-in, first-out order. */
export interface KeyedMutex {
  /** Runs some work exclusively. Throws a {@link ProviderError}, and does not start the work, if the wait is too long. */
  run<Value>(name: string, work: () => Promise<Value>): Promise<Value>;
}

/** Creates a mutex with a maximum wait. */
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
        if (before) await waitAtMost(waitMs, before);
        return await work();
      } finally {
        release();
      }
    },
  };
}

async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, true);
  const isLate = await Promise.race([work.then(() => false), late]);
  clearTimeout(timer);
  if (isLate) throw new ProviderError('Another action on this server is still running', { outcome: 'refused' });
}
