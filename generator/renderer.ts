import { availableParallelism } from 'node:os';
import type { Rendered } from './markdown.ts';

/** Renders the Markdown of the article at a site path, as `renderMarkdown` does. */
export type Render = (markdown: string, sitePath: string) => Promise<Rendered>;

/** Renders articles, in this thread or in several. */
export interface Renderer {
  readonly render: Render;
  /** Ends the threads. */
  close(): Promise<void>;
}

/** Each thread has to warm up the compiled code of its own: below this many characters, a second one makes it no faster. */
const worthThreads = 3_000_000;

/** More than this would wait for the first, which does all but rendering as well. */
const mostThreads = 4;

/**
 * Creates a renderer. With a number of threads it uses so many; without one, threads are started once so much was
 * rendered that there is likely more to come. What is loaded and started is what is used.
 */
export function createRenderer(threads?: number): Renderer {
  const wanted = threads ?? Math.min(availableParallelism(), mostThreads);
  let rendered = 0;
  let pool: Promise<Renderer> | undefined;
  return {
    async render(markdown, sitePath) {
      if (wanted > 1 && (pool || threads !== undefined || rendered > worthThreads)) {
        pool ??= import('./render-pool.ts').then(({ createRenderPool }) => createRenderPool(wanted));
        return (await pool).render(markdown, sitePath);
      }
      const { renderMarkdown } = await import('./markdown.ts');
      rendered += markdown.length;
      return renderMarkdown(markdown, sitePath);
    },
    close: async () => (await pool)?.close(),
  };
}
