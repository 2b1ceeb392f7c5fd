import { scopes } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import { createApiKey } from '../../keys/key.ts';
import type { Store } from '../../store/types.ts';
import type { AuditedChange } from '../changes.ts';

/** The servers of the demo: one of each kind, so that every route can be tried. */
const servers: readonly ServerName[] = ['game:demo', 'vps:demo'];

const label = 'demo key of npm start';

/**
 * Adds the demo servers of a provider, and a key for them with every scope. Returns the text of the key when it creates
 * it, and later undefined.
 */
export async function ensureDemo(store: Store, provider: string, change: AuditedChange): Promise<string | undefined> {
  for (const server of servers) {
    const ref = server.replace(':', '-');
    const existing = await store.servers.find(server);
    if (existing?.provider === provider && existing.ref === ref) continue;
    await change({ action: 'servers add', server, values: { provider, ref } }, () =>
      store.servers.put({ server, provider, ref, logFile: null }),
    );
  }
  const keys = await store.apiKeys.list();
  if (keys.some((key) => key.label === label)) return undefined;
  const { record, text } = createApiKey({ label, servers, scopes, expiresAt: null });
  const values = { servers: servers.join(','), scopes: scopes.join(',') };
  await change({ action: 'keys create', keyId: record.id, values }, () => store.apiKeys.create(record));
  return text;
}
