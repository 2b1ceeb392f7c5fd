import { scopes } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import { createApiKey } from '../../keys/key.ts';
import type { Store } from '../../store/types.ts';

/** The servers of the demo: one of each kind, so that every route can be tried. */
const servers: readonly ServerName[] = ['game:demo', 'vps:demo'];

const label = 'demo key of npm start';

/**
 * Adds the demo servers of a provider, and a key for them with every scope. Returns the text of the key when it creates
 * it, and later undefined.
 */
export async function ensureDemo(store: Store, provider: string): Promise<string | undefined> {
  for (const server of servers) {
    await store.servers.put({ server, provider, ref: server.replace(':', '-'), logFile: null });
  }
  const keys = await store.apiKeys.list();
  if (keys.some((key) => key.label === label)) return undefined;
  const { record, text } = createApiKey({ label, servers, scopes, expiresAt: null });
  await store.apiKeys.create(record);
  return text;
}
