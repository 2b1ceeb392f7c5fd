import { Script, createContext } from 'node:vm';

/** V8 supports timeouts only for scripts; this script calls the work. */
const timed = createContext({ work: () => {} });
const callWork = new Script('work()');

/**
 * Runs synchronous work for each item, possibly twice. The result is undefined for an item that needs more than `cpuMs`
 * of CPU time; both attempts together take twice as much at most.
 */
export function mapWithTimeLimit<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Result,
  cpuMs: number,
): (Result | undefined)[] {
  const results: (Result | undefined)[] = [];
  let wallMs = cpuMs;
  let tried = -1;
  while (results.length < items.length) {
    let before = process.threadCpuUsage();
    // One timeout for all items: V8 starts a thread per timeout, which takes 9 ms on a busy machine.
    timed.work = () => {
      for (const item of items.slice(results.length)) {
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
      // The timeout is wall time, of which a busy machine gives only a part: a second attempt may get further.
      const isOver = results.length === tried || tookMs > cpuMs * 0.8;
      tried = isOver ? -1 : results.length;
      if (isOver) results.push(undefined);
      wallMs = isOver ? cpuMs : Math.ceil(cpuMs * 2 - tookMs);
    }
  }
  return results;
}
