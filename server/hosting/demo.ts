import { fileURLToPath } from 'node:url';
import { scopes } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import type { Environment } from '#common/environment.ts';
import { createApiKey } from '../keys/authorize.ts';
import type { ApiKeyRecord, Store } from '../store/types.ts';
import { createAuditedChange } from './audit.ts';
import type { ProviderSettings } from './providers.ts';
import { localSettings } from './providers/local/process.ts';

/** One server of each kind, to try every route. */
const servers: readonly ServerName[] = ['game:demo', 'vps:demo'];

const provider = 'demo';
const label = 'demo key of npm start';

/** Returns the settings of the provider of the demo servers. */
export function demoProviders(environment: Environment): Record<string, ProviderSettings> {
  const command = [process.execPath, fileURLToPath(new URL('demo/server.ts', import.meta.url))];
  const settings = localSettings(import.meta.dirname, environment).parse({
    servers: { 'game-demo': { kind: 'game', command }, 'vps-demo': { kind: 'vps', command } },
  });
  return { [provider]: { type: 'local', ...settings } };
}

/** Adds the demo servers and a key with every scope; returns the key, with its text if this call created it. */
export async function ensureDemo(store: Store): Promise<ApiKeyRecord & { text?: string }> {
  const change = createAuditedChange(store.audit, { actor: 'npm start' });
  for (const server of servers) {
    const ref = server.replace(':', '-');
    const existing = await store.servers.find(server);
    if (existing?.provider === provider && existing.ref === ref) continue;
    await change({ action: 'servers add', server, values: { provider, ref } }, () =>
      store.servers.put({ server, provider, ref, logFile: null }),
    );
  }
  const existing = (await store.apiKeys.list()).findLast((key) => key.label === label);
  if (existing) return existing;
  const { record, text } = createApiKey({ label, servers, scopes, expiresAt: null });
  const values = { servers: servers.join(','), scopes: scopes.join(',') };
  await change({ action: 'keys create', keyId: record.id, values }, () => store.apiKeys.create(record));
  return { ...record, text };
}
