import { parentPort } from 'node:worker_threads';
import { MarkdownError } from './limits.ts';
import { renderMarkdown } from './markdown.ts';
import type { Rendered } from './markdown.ts';

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

parentPort!.on('message', ({ id, markdown, sitePath }: RenderRequest) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
  parentPort!.postMessage({ id, ...attempt(markdown, sitePath) } satisfies RenderReply);
});

function attempt(markdown: string, sitePath: string) {
  try {
    return { rendered: renderMarkdown(markdown, sitePath) };
  } catch (error) {
    if (!(error instanceof MarkdownError)) throw error;
    return { refused: { message: error.message, line: error.line, hint: error.hint } };
  }
}
