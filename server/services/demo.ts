import { join } from 'node:path';
import { scopes } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import { localSettings } from '../providers/local.ts';
import type { LocalSettings } from '../providers/local.ts';
import { generateApiKey } from '../store/api-key.ts';
import type { Store } from '../store/types.ts';

/** The servers that a first start has, so that every route can be tried at once. */
export const demoServers: readonly ServerName[] = ['game:demo', 'vps:demo'];

/** The provider that runs them: two programs of this project, as processes of this machine. */
export function demoProvider(environment: Readonly<Record<string, string | undefined>>): LocalSettings {
  const folder = join(import.meta.dirname, '../demo');
  const programs = { 'game-demo': 'game-server.ts', 'vps-demo': 'vps.ts' };
  const servers = Object.entries(programs).map(([ref, program]) => [
    ref,
    { kind: ref.startsWith('vps') ? 'vps' : 'game', command: [process.execPath, join(folder, program)] },
  ]);
  return localSettings(folder, environment).parse({ type: 'local', servers: Object.fromEntries(servers) });
}

const label = 'demo key of npm start';

/**
 * Adds the demo servers, run by the provider named, and a key for them with every scope. Answers the key's text the
 * first time, and never again.
 */
export async function ensureDemo(
  store: Store,
  provider: string,
  now: number = Date.now(),
): Promise<string | undefined> {
  for (const server of demoServers) {
    await store.servers.put({ server, provider, ref: server.replace(':', '-'), logFile: null });
  }
  const keys = await store.apiKeys.list();
  if (keys.some((key) => key.label === label)) return undefined;
  const { id, text, hash } = generateApiKey();
  await store.apiKeys.create({
    id,
    secretHash: hash,
    previousHash: null,
    previousUntil: null,
    label,
    servers: demoServers,
    scopes,
    createdAt: now,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
  });
  return text;
}
