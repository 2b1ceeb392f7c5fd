import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { MarkdownError } from './limits.ts';
import { renderMarkdown } from './markdown.ts';
import type { Rendered } from './markdown.ts';
import type { RenderReply, RenderRequest } from './render-worker.ts';
import type { Renderer } from './renderer.ts';

/** A thread beside this one, and those who wait for it. */
interface Thread {
  readonly worker: Worker;
  readonly waiting: Map<number, PromiseWithResolvers<Rendered>>;
  /** Characters that it still has to render. */
  load: number;
}

/** Characters that wait for a thread: enough to keep it busy while this one renders a long article. */
const backlog = 100_000;

/** Renders with as many threads, this one among them: it renders what the others have no time for. */
export function createRenderPool(size: number): Renderer {
  const threads = Array.from({ length: size - 1 }, startThread);
  let last = 0;
  return {
    async render(markdown, sitePath) {
      const thread = threads.reduce((least, other) => (other.load < least.load ? other : least));
      if (thread.load > backlog) {
        const rendered = renderMarkdown(markdown, sitePath);
        // The replies of the others come in between.
        await setImmediate();
        return rendered;
      }
      const id = (last += 1);
      const reply = Promise.withResolvers<Rendered>();
      thread.waiting.set(id, reply);
      thread.load += markdown.length;
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
      thread.worker.postMessage({ id, markdown, sitePath } satisfies RenderRequest);
      try {
        return await reply.promise;
      } finally {
        thread.load -= markdown.length;
      }
    },
    async close() {
      await Promise.all(threads.map(({ worker }) => worker.terminate()));
    },
  };
}

function startThread(): Thread {
  const worker = new Worker(new URL('render-worker.ts', import.meta.url));
  const waiting: Thread['waiting'] = new Map();
  worker.on('message', ({ id, ...reply }: RenderReply) => {
    const promise = waiting.get(id)!;
    waiting.delete(id);
    if ('rendered' in reply) promise.resolve(reply.rendered);
    else promise.reject(new MarkdownError(reply.refused.message, reply.refused.line, reply.refused.hint));
  });
  // What it throws of itself, or its end where memory does not suffice, ends the build.
  worker.on('error', (error) => waiting.forEach((promise) => promise.reject(error)));
  return { worker, waiting, load: 0 };
}
