import { Tinypool } from 'tinypool';
import { CommandError } from '../common/command-line.ts';
import type { ArticleText, Outcome } from './render.ts';

/** Threads that render. */
export interface RenderPool {
  render(article: ArticleText): Promise<Outcome>;
  /** Ends the threads. */
  close(): Promise<void>;
}

/** V8 gives the main thread 984 KiB of stack; Node keeps 192 KiB of a thread's. How deep an article may nest depends on it. */
const stackSizeMb = (984 + 192) / 1024;

/** Over 1,000 real articles, two threads take 680 MB at most without this limit, and 430 MB with it. */
const maxYoungGenerationSizeMb = 48;

/**
 * Starts threads that render. If one of them ends, all that was asked of them is rejected with the reason, the others end
 * too, and `onEnd` is called: in its place, another would end by the same article.
 */
export function startRenderPool(threads: number, onEnd: () => void): RenderPool {
  const pool = new Tinypool({
    filename: new URL('./render.ts', import.meta.url).href,
    name: 'render',
    minThreads: threads,
    maxThreads: threads,
    // One is on its way while another is rendered: this thread is often too busy to send it in time.
    concurrentTasksPerWorker: 2,
    resourceLimits: { stackSizeMb, maxYoungGenerationSizeMb },
  });
  const waiting = new Set<(reason: Error) => void>();
  // Not `pool.destroy`, which waits for ever where a thread has ended, and fails where one ends by an error meanwhile.
  const close = async (): Promise<void> => void (await Promise.all(pool.threads.map((thread) => thread.terminate())));
  let failure: CommandError | undefined;
  const fail = (reason: string): void => {
    if (failure) return;
    failure = new CommandError(`a thread that renders articles has ended (${reason}); the release stays as it was`);
    for (const reject of waiting) reject(failure);
    onEnd();
    void close();
  };
  pool.on('error', ({ message }: Error) => fail(message));
  for (const thread of pool.threads) {
    thread.on('error', ({ message }: Error) => fail(message));
    // tinypool looks only at errors: what it had asked of a thread that exits would stay without an answer.
    thread.on('exit', (code: number) => fail(`exit code ${code}`));
  }
  return {
    async render(article) {
      if (failure) throw failure;
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
      waiting.add(reject);
      pool.run(article).then(resolve, (error: Error) => reject(failure ?? error));
      return promise.finally(() => waiting.delete(reject));
    },
    close,
  };
}
