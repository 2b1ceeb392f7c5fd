import { Tinypool } from 'tinypool';
import { CommandError } from '../common/command-line.ts';
import type { ArticleText, RenderResult } from './render.ts';

/** A pool of render threads. */
export interface RenderPool {
  render(article: ArticleText): Promise<RenderResult>;
  /** Terminates the threads. */
  close(): Promise<void>;
}

/** The stack of the main thread (984 KiB) plus what Node reserves in a worker (192 KiB), for an equal nesting limit. */
const stackSizeMb = (984 + 192) / 1024;

/** For 1,000 real articles, the peak memory of two threads is 680 MB without this limit and 430 MB with it. */
const maxYoungGenerationSizeMb = 48;

/**
 * Starts a pool of render threads. If a thread ends, all pending renders are rejected with the reason, the other threads
 * are terminated, and `onEnd` is called. The thread is not replaced: the same article would end the next one too.
 */
export function startRenderPool(threads: number, onEnd: () => void): RenderPool {
  const pool = new Tinypool({
    filename: new URL('./render.ts', import.meta.url).href,
    name: 'render',
    minThreads: threads,
    maxThreads: threads,
    // The second task waits in the thread, since this thread is often too busy to send it in time.
    concurrentTasksPerWorker: 2,
    resourceLimits: { stackSizeMb, maxYoungGenerationSizeMb },
  });
  const pending = new Set<(reason: Error) => void>();
  // Not `pool.destroy`: it never resolves if a thread has ended, and rejects if one fails meanwhile.
  const close = async (): Promise<void> => void (await Promise.all(pool.threads.map((thread) => thread.terminate())));
  let failure: CommandError | undefined;
  const fail = (reason: string): void => {
    if (failure) return;
    failure = new CommandError(`a thread that renders articles has ended (${reason}); the release stays as it was`);
    for (const reject of pending) reject(failure);
    onEnd();
    void close();
  };
  pool.on('error', ({ message }: Error) => fail(message));
  for (const thread of pool.threads) {
    thread.on('error', ({ message }: Error) => fail(message));
    // tinypool handles errors only: the tasks of a thread that exits would never settle.
    thread.on('exit', (code: number) => fail(`exit code ${code}`));
  }
  return {
    async render(article) {
      if (failure) throw failure;
      const { promise, resolve, reject } = Promise.withResolvers<RenderResult>();
      pending.add(reject);
      pool.run(article).then(resolve, (error: Error) => reject(failure ?? error));
      return promise.finally(() => pending.delete(reject));
    },
    close,
  };
}
