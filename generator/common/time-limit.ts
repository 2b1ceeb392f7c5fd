import { Script, createContext } from 'node:vm';

/** V8 supports timeouts only for scripts; this script calls the work. */
const timed = createContext({ work: () => {} });
const callWork = new Script('work()');

/** Runs synchronous work for each item, possibly several times; the result is undefined after `cpuMs` of CPU time. */
export function mapWithTimeLimit<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Result,
  cpuMs: number,
): (Result | undefined)[] {
  const results: (Result | undefined)[] = [];
  let wallMs = cpuMs;
  while (results.length < items.length) {
    const done = results.length;
    let before = process.threadCpuUsage();
    // One timeout for all items: V8 starts a thread per timeout, which takes 9 ms on a busy machine.
    timed.work = () => {
      for (const item of items.slice(done)) {
        before = process.threadCpuUsage();
        results.push(work(item));
      }
    };
    try {
      callWork.runInContext(timed, { timeout: wallMs });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      const { user, system } = process.threadCpuUsage(before);
      const tookMs = (user + system) / 1000;
      const isOver = tookMs > cpuMs * 0.8;
      if (isOver) results.push(undefined);
      // The timeout is wall time, of which a busy machine gives only a part: the next attempt at the item is longer, but
      // not much, because it may get all of its time.
      const isNext = results.length === done;
      wallMs = isNext ? Math.ceil(wallMs * Math.min(2, cpuMs / tookMs)) : cpuMs;
    }
  }
  return results;
}
