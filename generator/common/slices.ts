import { setImmediate as nextTurn } from 'node:timers/promises';

/** Less than a visitor would notice. */
const sliceMs = 2;

/** Iterates over many items, and lets other work of the event loop have a turn every few milliseconds. */
export async function* inSlices<Item>(items: Iterable<Item>): AsyncGenerator<Item, void> {
  let until = performance.now() + sliceMs;
  for (const item of items) {
    yield item;
    if (performance.now() < until) continue;
    // oxlint-disable-next-line no-await-in-loop -- the pause is the point
    await nextTurn();
    until = performance.now() + sliceMs;
  }
}
