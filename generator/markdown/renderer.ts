import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { MarkdownError } from './limits.ts';
import type { RenderPool } from './pool.ts';
import type { Rendered } from './render.ts';

/** Renders the Markdown of the article at a site path; throws a {@link MarkdownError} where it cannot be rendered. */
export type Render = (markdown: string, sitePath: string) => Promise<Rendered>;

/** Renders articles, in this thread or in others. */
export interface Renderer {
  readonly render: Render;
  /** Ends the threads. */
  close(): Promise<void>;
}

/** Each thread has to warm up the compiled code of its own: below this many characters, threads make it no faster. */
const worthThreads = 3_000_000;

/** More than this would wait for the first, which does all but rendering. */
const mostThreads = 4;

/**
 * Creates a renderer. With a number of threads above one, so many render; without one, they are started once so much was
 * rendered that there is likely more to come. What is loaded is what is used.
 */
export function createRenderer(threads?: number): Renderer {
  const wanted = threads ?? Math.min(availableParallelism(), mostThreads);
  let rendered = 0;
  let pool: RenderPool | undefined;
  const inPool = async (): Promise<RenderPool> => {
    const { startRenderPool } = await import('./pool.ts');
    return (pool ??= startRenderPool(wanted, () => (pool = undefined)));
  };
  return {
    async render(markdown, sitePath) {
      const isWorth = wanted > 1 && (threads !== undefined || rendered > worthThreads);
      rendered += markdown.length;
      const renderer = await (isWorth ? inPool() : inThisThread());
      const outcome = await renderer.render({ markdown, sitePath });
      if (!('refused' in outcome)) return outcome;
      const { message, line, hint } = outcome.refused;
      throw new MarkdownError(message, line, hint);
    },
    async close() {
      await pool?.close();
    },
  };
}

async function inThisThread() {
  const { render } = await import('./render.ts');
  // In between, the replies of others are dealt with.
  await setImmediate();
  return { render };
}
