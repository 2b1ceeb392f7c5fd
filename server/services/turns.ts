import { ProviderError } from '../providers/types.ts';

/** Lets one action at a time run for each server. */
export interface Turns {
  /** Runs the work when all earlier work under the name is done; throws where that takes longer than the wait. */
  take<Value>(name: string, work: () => Promise<Value>): Promise<Value>;
}

/** Creates the turns; nobody waits longer than `waitMs`. */
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
        if (before && !(await settlesWithin(before, waitMs))) {
          throw new ProviderError('Another action on this server is still running', { outcome: 'refused' });
        }
        return await work();
      } finally {
        done();
      }
    },
  };
}

async function settlesWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
