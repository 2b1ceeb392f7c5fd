import { Script, createContext } from 'node:vm';

/** V8 supports timeouts only for scripts, so a script calls the work. */
const timed = createContext({ work: () => {} });
const callWork = new Script('work()');

/** Runs synchronous work for each item, maybe twice; its result is undefined if that was ended after `cpuMs` of CPU time. */
export function mapWithTimeLimit<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Result,
  cpuMs: number,
): (Result | undefined)[] {
  const results: (Result | undefined)[] = [];
  let wallMs = cpuMs;
  /** What the attempts at the first item have taken. */
  let spentMs = 0;
  while (results.length < items.length) {
    const done = results.length;
    let before = process.threadCpuUsage();
    // One timeout for all items: V8 starts a thread for each, and on a busy machine a call waits 9 ms for it.
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
      // The timeout is wall time: an item on a busy machine, or one that had only the rest of the time, gets another attempt.
      // It may get all of the processor this time: the time grows so little that all attempts take about twice the limit at most.
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
