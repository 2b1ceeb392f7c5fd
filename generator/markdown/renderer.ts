import { availableParallelism } from 'node:os';
import type { Rendered } from './render.ts';

/** Renders the Markdown of the article at a site path, as `renderAll` does; throws what that says is wrong. */
export type Render = (markdown: string, sitePath: string) => Promise<Rendered>;

/** Renders articles, in this thread or in several. */
export interface Renderer {
  readonly render: Render;
  /** Ends the threads. */
  close(): Promise<void>;
}

/** A thread that renders, and how many characters it still has to. */
interface Thread extends Renderer {
  load: number;
}

/** Each thread has to warm up the compiled code of its own: below this many characters, a second one makes it no faster. */
const worthThreads = 3_000_000;

/** More than this would wait for the first, which does all but rendering as well. */
const mostThreads = 4;

/**
 * Creates a renderer. With a number of threads, this one among them, it uses so many; without one, the others are started
 * once so much was rendered that there is likely more to come. What is loaded is what is used.
 */
export function createRenderer(threads?: number): Renderer {
  const wanted = threads ?? Math.min(availableParallelism(), mostThreads);
  let rendered = 0;
  let own: Promise<Thread> | undefined;
  let others: Promise<Thread[]> | undefined;
  return {
    async render(markdown, sitePath) {
      own ??= import('./queue.ts').then(({ renderSoon }) => toThread({ render: renderSoon, close: async () => {} }));
      if (wanted > 1 && (threads !== undefined || rendered > worthThreads)) {
        others ??= import('./thread.ts').then(({ startRenderThread }) =>
          Array.from({ length: wanted - 1 }, () => toThread(startRenderThread())),
        );
      }
      rendered += markdown.length;
      const [first, more] = await Promise.all([own, others ?? []]);
      return more.reduce((least, other) => (other.load < least.load ? other : least), first).render(markdown, sitePath);
    },
    async close() {
      await Promise.all(((await others) ?? []).map((thread) => thread.close()));
    },
  };
}

function toThread(renderer: Renderer): Thread {
  const thread: Thread = {
    load: 0,
    async render(markdown, sitePath) {
      thread.load += markdown.length;
      try {
        return await renderer.render(markdown, sitePath);
      } finally {
        thread.load -= markdown.length;
      }
    },
    close: () => renderer.close(),
  };
  return thread;
}
