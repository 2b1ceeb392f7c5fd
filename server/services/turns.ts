import { once } from 'node:events';
import { ProviderError } from '../providers/types.ts';

/** Lets one action at a time run for each server. */
export interface Turns {
  /**
   * Runs the work when all earlier work under the name is done. Throws a {@link ProviderError} where that is not so
   * before the deadline; the work is not begun then.
   */
  take<Value>(name: string, deadline: AbortSignal, work: () => Promise<Value>): Promise<Value>;
}

/** Creates the turns. */
export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return {
    async take(name, deadline, work) {
      const before = last.get(name);
      const { promise: turn, resolve: done } = Promise.withResolvers<void>();
      const mine = (before ?? Promise.resolve()).then(() => turn);
      last.set(name, mine);
      void mine.then(() => last.get(name) === mine && last.delete(name));
      try {
        await Promise.race([before, deadline.aborted || once(deadline, 'abort')]);
        if (deadline.aborted) {
          throw new ProviderError('Another action on this server is still running', { outcome: 'refused' });
        }
        return await work();
      } finally {
        done();
      }
    },
  };
}
