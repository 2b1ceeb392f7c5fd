import { renderAll } from './render.ts';
import type { Rendered } from './render.ts';

/** An article that waits to be rendered. */
interface Waiting extends PromiseWithResolvers<Rendered> {
  readonly markdown: string;
  readonly sitePath: string;
}

/** Characters that are rendered in one turn of the event loop, which has the replies of others to deal with as well. */
const turnLength = 60_000;

const queue: Waiting[] = [];

/** Renders an article in one of the next turns of the event loop, with those that came with it. */
export function renderSoon(markdown: string, sitePath: string): Promise<Rendered> {
  const waiting = { ...Promise.withResolvers<Rendered>(), markdown, sitePath };
  if (queue.push(waiting) === 1) setImmediate(renderTurn);
  return waiting.promise;
}

function renderTurn(): void {
  let length = 0;
  const past = queue.findIndex(({ markdown }) => (length += markdown.length) > turnLength);
  const turn = queue.splice(0, past < 0 ? queue.length : Math.max(past, 1));
  if (queue.length > 0) setImmediate(renderTurn);
  try {
    for (const [index, outcome] of renderAll(turn).entries()) {
      if (outcome instanceof Error) turn[index]!.reject(outcome);
      else turn[index]!.resolve(outcome);
    }
  } catch (error) {
    for (const { reject } of turn) reject(error);
  }
}
