import { Script, createContext } from 'node:vm';

/** V8 supports timeouts only for scripts; this script calls the work. */
const timed = createContext({ work: () => {} });
const callWork = new Script('work()');

/** Runs synchronous work for each item, possibly twice; the result is undefined after `cpuMs` of CPU time. */
export function mapWithTimeLimit<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Result,
  cpuMs: number,
): (Result | undefined)[] {
  const results: (Result | undefined)[] = [];
  let wallMs = cpuMs;
  /** The CPU time of all attempts at the first item. */
  let spentMs = 0;
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
      const isFirst = results.length === done;
      const tookMs = (user + system) / 1000;
      spentMs = isFirst ? spentMs + tookMs : 0;
      // The timeout is wall time, so an item that had little CPU gets another attempt. The timeout grows slowly,
      // because that attempt may get the whole CPU: all attempts together must not take much more than twice the limit.
      const isOver = isFirst ? spentMs >= cpuMs * 0.2 : tookMs >= cpuMs * 0.5;
      if (isOver) {
        results.push(undefined);
        spentMs = 0;
      }
      wallMs = isFirst && !isOver ? wallMs * 1.2 : cpuMs;
    }
  }
  return results;
}
