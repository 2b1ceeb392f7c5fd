import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { MarkdownError } from './limits.ts';
import type { RenderPool } from './pool.ts';
import type { Rendered } from './render.ts';

/** Renders the Markdown of the article at a site path; throws a {@link MarkdownError} if it cannot be rendered. */
export type Render = (markdown: string, sitePath: string) => Promise<Rendered>;

/** Renders articles, in this thread or in a pool of threads. */
export interface Renderer {
  readonly render: Render;
  /** Terminates the threads. */
  close(): Promise<void>;
}

/** Each thread has to compile and warm up its code: for fewer characters, threads are no faster. */
const minPoolCharacters = 3_000_000;

/** More threads would wait for the main thread, which does everything except rendering. */
const maxThreads = 4;

/**
 * Creates a renderer. With `threads` above one it starts that many; without `threads` it starts a pool after a large amount
 * of text. It imports only the modules that it uses.
 */
export function createRenderer(threads?: number): Renderer {
  const poolSize = threads ?? Math.min(availableParallelism(), maxThreads);
  let characters = 0;
  let pool: RenderPool | undefined;
  const loadPool = async (): Promise<RenderPool> => {
    const { startRenderPool } = await import('./pool.ts');
    return (pool ??= startRenderPool(poolSize, () => (pool = undefined)));
  };
  return {
    async render(markdown, sitePath) {
      const usesPool = poolSize > 1 && (threads !== undefined || characters > minPoolCharacters);
      characters += markdown.length;
      const renderer = await (usesPool ? loadPool() : loadRender());
      const result = await renderer.render({ markdown, sitePath });
      if (!('rejected' in result)) return result;
      const { message, line, hint } = result.rejected;
      throw new MarkdownError(message, line, hint);
    },
    async close() {
      await pool?.close();
    },
  };
}

async function loadRender() {
  const { render } = await import('./render.ts');
  // Yields to the event loop between articles.
  await setImmediate();
  return { render };
}
