import { Worker } from 'node:worker_threads';
import { MarkdownError } from './limits.ts';
import type { Rendered } from './render.ts';
import type { RenderReply, RenderRequest } from './worker.ts';

/** Starts a thread that renders what it is sent, one article after the other. */
export function startRenderThread() {
  const worker = new Worker(new URL('./worker.ts', import.meta.url));
  const waiting = new Map<number, PromiseWithResolvers<Rendered>>();
  let last = 0;
  worker.on('message', ({ id, ...reply }: RenderReply) => {
    const { resolve, reject } = waiting.get(id)!;
    waiting.delete(id);
    if ('rendered' in reply) resolve(reply.rendered);
    else reject(new MarkdownError(reply.refused.message, reply.refused.line, reply.refused.hint));
  });
  // What it throws of itself, or its end where memory does not suffice, ends the build.
  let ended: Error | undefined;
  worker.on('error', (error: Error) => {
    ended = error;
    for (const { reject } of waiting.values()) reject(error);
  });
  return {
    render(markdown: string, sitePath: string): Promise<Rendered> {
      if (ended) return Promise.reject(ended);
      const id = (last += 1);
      const reply = Promise.withResolvers<Rendered>();
      waiting.set(id, reply);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
      worker.postMessage({ id, markdown, sitePath } satisfies RenderRequest);
      return reply.promise;
    },
    close: async (): Promise<void> => void (await worker.terminate()),
  };
}
