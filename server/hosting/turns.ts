import { ProviderError } from './providers/types.ts';

/** Lets one action at a time run for each server. */
export interface Turns {
  /**
   * Runs the work when all earlier work under the name is done. Throws a {@link ProviderError} where that takes longer
   * than the wait; the work is not begun then.
   */
  take<Value>(name: string, work: () => Promise<Value>): Promise<Value>;
}

/** Creates the turns; nobody waits longer than `waitMs` for one. */
export function createTurns(waitMs: number): Turns {
  const last = new Map<string, Promise<unknown>>();
  return {
    async take(name, work) {
      const before = last.get(name);
      const { promise: turn, resolve: done } = Promise.withResolvers<void>();
      const mine = (before ?? Promise.resolve()).then(() => turn);
      last.set(name, mine);
      void mine.then(() => last.get(name) === mine && last.delete(name));
      try {
        if (before) await atMost(waitMs, before);
        return await work();
      } finally {
        done();
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
