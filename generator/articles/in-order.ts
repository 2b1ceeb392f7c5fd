/** Runs a function for each item, at most `limit` at a time, and yields the results in the order of the items. */
export async function* mapInOrder<Item, Result>(
  items: Iterable<Item>,
  limit: number,
  run: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void> {
  const running: Promise<Result>[] = [];
  try {
    for (const item of items) {
      const result = run(item);
      // Not an unhandled rejection: `await` below throws it.
      result.catch(() => undefined);
      running.push(result);
      if (running.length === limit) yield await running.shift()!;
    }
    while (running.length > 0) yield await running.shift()!;
  } finally {
    // No call is still running when the generator ends.
    await Promise.allSettled(running);
  }
}
