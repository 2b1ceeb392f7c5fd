import { Script, createContext } from 'node:vm';

/** The work took more CPU time than its limit. */
export class TimeLimitError extends Error {
  override name = 'TimeLimitError';
}

/** V8 supports timeouts only for scripts, so a script calls the work. */
const timed = createContext({ work: (): unknown => undefined });
const callWork = new Script('work()');

/**
 * Runs synchronous work, and ends it with a {@link TimeLimitError} after about `cpuMs` of CPU time, even in an endless loop.
 * The work may run more than once.
 */
export function withTimeLimit<Result>(work: () => Result, cpuMs: number, wallMs = cpuMs): Result {
  const before = process.threadCpuUsage();
  try {
    timed.work = work;
    return callWork.runInContext(timed, { timeout: wallMs }) as Result;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
  }
  const { user, system } = process.threadCpuUsage(before);
  // The timeout is wall time: on a busy machine the work gets another attempt. It may get all of the processor this time, so
  // that both attempts together take at most twice the limit.
  if ((user + system) / 1000 < cpuMs * 0.4) return withTimeLimit(work, cpuMs, wallMs * 1.5);
  throw new TimeLimitError(`more than ${cpuMs} ms`);
}
