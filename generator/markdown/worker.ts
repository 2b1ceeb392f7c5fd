import { parentPort } from 'node:worker_threads';
import { MarkdownError } from './limits.ts';
import type { Rendered } from './render.ts';
import { renderSoon } from './queue.ts';

/** An article to render. */
export interface RenderRequest {
  readonly id: number;
  readonly markdown: string;
  readonly sitePath: string;
}

/** What became of it. */
export type RenderReply = { readonly id: number } & (
  | { readonly rendered: Rendered }
  | { readonly refused: Pick<MarkdownError, 'message' | 'line' | 'hint'> }
);

parentPort!.on('message', ({ id, markdown, sitePath }: RenderRequest) => void render(id, markdown, sitePath));

async function render(id: number, markdown: string, sitePath: string): Promise<void> {
  const outcome = await renderSoon(markdown, sitePath).then(
    (rendered) => ({ rendered }),
    (error: unknown) => {
      if (!(error instanceof MarkdownError)) throw error;
      return { refused: { message: error.message, line: error.line, hint: error.hint } };
    },
  );
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
  parentPort!.postMessage({ id, ...outcome } satisfies RenderReply);
}
