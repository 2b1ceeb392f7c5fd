import type { CompiledCategory } from './category.ts';
import type { AnyCollection, ListItem } from './collections/collection.ts';

/** The items of categories, in the order of their collection. */
export interface OrderedItems {
  readonly categories: readonly CompiledCategory[];
  readonly items: readonly ListItem[];
}

/** Items that are put in their places one by one; more are ordered together with all others. */
const few = 500;

/** Orders the items of the categories of a collection. Where few are new since `before`, only they are put in place. */
export function orderItems(
  collection: AnyCollection,
  categories: readonly CompiledCategory[],
  before: OrderedItems | undefined,
): OrderedItems {
  const compare = (a: ListItem, b: ListItem): number => collection.compare(a, b);
  const former = new Set(before?.categories);
  const added = new Set(categories.filter((category) => !former.delete(category)).flatMap(({ items }) => items));
  const gone = new Set([...former].flatMap(({ items }) => items).filter((item) => !added.delete(item)));
  if (!before || added.size > few) {
    return { categories, items: categories.flatMap(({ items }) => items).toSorted(compare) };
  }
  const items = before.items.filter((item) => !gone.has(item));
  for (const item of added) items.splice(rankOf(item, items, compare), 0, item);
  return { categories, items };
}

/** Where an item belongs among others that are in order. */
function rankOf(item: ListItem, items: readonly ListItem[], compare: (a: ListItem, b: ListItem) => number): number {
  let [from, to] = [0, items.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (compare(items[middle]!, item) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
