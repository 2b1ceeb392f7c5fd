/** Runs a function for each item, so many at a time, and yields the results in the order of the items. */
export async function* mapInOrder<Item, Result>(
  items: Iterable<Item>,
  limit: number,
  run: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void> {
  const running: Promise<Result>[] = [];
  try {
    for (const item of items) {
      const result = run(item);
      // One that fails before its turn is not unhandled: it is thrown when its turn comes.
      result.catch(() => undefined);
      running.push(result);
      if (running.length === limit) yield await running.shift()!;
    }
    while (running.length > 0) yield await running.shift()!;
  } finally {
    // However it ends, nothing goes on behind its back.
    await Promise.allSettled(running);
  }
}
