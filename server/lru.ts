import { LRUCache } from 'lru-cache';

/** Creates an LRU cache that grows with its entries; `max` would allocate them all at once. */
export function createLru<Key extends {}, Value extends {}, Context = unknown>(
  entries: number,
  options: Omit<LRUCache.OptionsBase<Key, Value, Context>, 'max' | 'maxSize' | 'sizeCalculation'> = {},
) {
  return new LRUCache<Key, Value, Context>({ ...options, maxSize: entries, sizeCalculation: () => 1 });
}
