import type { Store } from '../store/types.ts';

/** Opens the store that the settings name. */
export type OpenStore = () => Promise<Store>;

/** Does some work with the store, and closes it whatever comes of it. */
export async function withStore<Result>(open: OpenStore, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await open();
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
