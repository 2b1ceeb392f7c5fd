import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { CommandError } from '#common/command-line.ts';
import type { ArticleText, Rendered } from './render.ts';

/** Renders the Markdown of the article at a site path. */
export type Render = ReturnType<typeof createRenderer>['render'];

/** Each thread has to compile and warm up its code: for fewer characters, threads are no faster. */
const minPoolCharacters = 3_000_000;

/** More threads would wait for the main thread, which does everything except rendering. */
const maxThreads = 4;

/** Creates a renderer with so many threads; by default it starts a pool after a large amount of text. `close` ends it. */
export function createRenderer(threads?: number) {
  const poolSize = threads ?? Math.min(availableParallelism(), maxThreads);
  let characters = 0;
  const renderHere = inBatches([
    async (articles) => {
      // Loaded at first use.
      const { renderAll } = await import('./render.ts');
      // Yields to the event loop between batches.
      await setImmediate();
      return renderAll(articles);
    },
  ]);
  let pool: ReturnType<typeof startPool> | undefined;
  return {
    render: async (markdown: string, sitePath: string): Promise<Rendered> => {
      const usesPool = poolSize > 1 && (threads !== undefined || characters > minPoolCharacters);
      characters += markdown.length;
      const render = usesPool ? (pool ??= startPool(poolSize, () => (pool = undefined))).render : renderHere;
      return render({ markdown, sitePath });
    },
    close: async () => pool?.close(),
  };
}

type RenderBatch = (articles: readonly ArticleText[]) => Promise<Rendered[]>;

/** About 50 ms of work. A batch shares a timeout and a message to a thread, but this thread does nothing else until its end. */
const batchCharacters = 20_000;

/** Renders single articles in their order, by the first of `workers` that is idle; each gets one batch at a time. */
function inBatches(workers: readonly RenderBatch[]): (article: ArticleText) => Promise<Rendered> {
  const waiting: (PromiseWithResolvers<Rendered> & { readonly article: ArticleText })[] = [];
  const idle = [...workers];
  const work = async (renderBatch: RenderBatch): Promise<void> => {
    // Until other articles are waiting too.
    await setImmediate();
    while (waiting.length > 0) {
      let count = 0;
      for (let size = 0; count < waiting.length && size < batchCharacters; count += 1) {
        size += waiting[count]!.article.markdown.length;
      }
      const batch = waiting.splice(0, count);
      try {
        // oxlint-disable-next-line no-await-in-loop -- one batch at a time
        const results = await renderBatch(batch.map(({ article }) => article));
        batch.forEach(({ resolve }, at) => resolve(results[at]!));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    idle.push(renderBatch);
  };
  return async (article) => {
    const job = { article, ...Promise.withResolvers<Rendered>() };
    waiting.push(job);
    const worker = idle.shift();
    if (worker) void work(worker);
    return job.promise;
  };
}

/** The stack of the main thread (984 KiB) plus what Node reserves in a worker (192 KiB), for an equal nesting limit. */
const stackSizeMb = (984 + 192) / 1024;

/** For 1,000 real articles, the peak memory of two threads is 680 MB without this limit and 430 MB with it. */
const maxYoungGenerationSizeMb = 48;

/** Starts a pool of threads. If one ends, so do all: the same article would end the next one too. `onEnd` is called then. */
function startPool(size: number, onEnd: () => void) {
  let failure: CommandError | undefined;
  const replies = Array.from({ length: size }, (): PromiseWithResolvers<Rendered[]>[] => []);
  const fail = (reason: string): void => {
    if (failure) return;
    failure = new CommandError(`a thread that renders articles has ended (${reason}); the release stays as it was`);
    for (const { reject } of replies.flat()) reject(failure);
    onEnd();
    void close();
  };
  const threads = replies.map(() => {
    const thread = new Worker(new URL('./render.ts', import.meta.url), {
      workerData: 'render',
      resourceLimits: { stackSizeMb, maxYoungGenerationSizeMb },
    });
    thread.on('error', ({ message }: Error) => fail(message));
    return thread.on('exit', (code) => fail(`exit code ${code}`));
  });
  const close = async (): Promise<void> => void (await Promise.all(threads.map((thread) => thread.terminate())));
  const workers = threads.map((thread, at): RenderBatch => {
    thread.on('message', (results: Rendered[]) => replies[at]!.shift()!.resolve(results));
    return async (articles) => {
      if (failure) throw failure;
      const reply = Promise.withResolvers<Rendered[]>();
      replies[at]!.push(reply);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      thread.postMessage(articles);
      return reply.promise;
    };
  });
  // Twice: the second batch waits in its thread, since this thread is often too busy to send it in time.
  return { render: inBatches([...workers, ...workers]), close };
}
