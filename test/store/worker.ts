import { once } from 'node:events';
import { generateApiKey } from '../../server/keys/authorize.ts';
import { readSettings } from '../../server/settings.ts';
import { StoreSettings } from '../../server/store/database.ts';
import { openStore } from '../../server/store/index.ts';
import type { Store } from '../../server/store/types.ts';
import { apiKey, claim } from './samples.ts';

// A child process for tests: prints `ready`, waits for a line, opens the store, runs an action and prints its result.

const [action = '', countText = '', worker = ''] = process.argv.slice(2);
const count = Number(countText);

const actions: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  open: ({ apiKeys }) => apiKeys.list(),
  async begin({ idempotency }) {
    const states = await Promise.all(
      Array.from({ length: count }, (_, index) => idempotency.begin(claim({ fingerprint: `${worker}-${index}` }))),
    );
    return states.filter(({ state }) => state === 'begun').length;
  },
  async createIfAbsent({ apiKeys }) {
    const now = 1_800_000_000_000;
    const keys = Array.from({ length: count }, () => apiKey({ id: generateApiKey().id, createdAt: now }));
    const existing = await Promise.all(keys.map((key) => apiKeys.createIfAbsent(key)));
    return existing.filter((key) => key === undefined).length;
  },
};

process.stdout.write('ready\n');
await once(process.stdin, 'data');
process.stdin.destroy();
const store = await openStore(readSettings(StoreSettings, process.env));
process.stdout.write(`${JSON.stringify(await actions[action]!(store))}\n`);
await store.close();
