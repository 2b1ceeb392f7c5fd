import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** Too short for a visitor to notice. */
const sliceMs = 2;

/** Iterates over many items and yields to the event loop every few milliseconds. */
export async function* inSlices<Item>(items: Iterable<Item>): AsyncGenerator<Item, void> {
  let until = performance.now() + sliceMs;
  for (const item of items) {
    yield item;
    if (performance.now() < until) continue;
    // oxlint-disable-next-line no-await-in-loop -- the pause is the point
    await yieldToEventLoop();
    until = performance.now() + sliceMs;
  }
}
