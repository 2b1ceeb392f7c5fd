import { allows } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import type { ApiKeyRecord, Store } from '../store/types.ts';

/** The access of an API key to a console: as requested, only reading, or none. */
export type Access = 'ok' | 'read_only' | 'denied';

/** Checks the current access of a key to a console. Rejects if it cannot be checked. */
export type CheckAccess = (keyId: string, server: ServerName, mode: 'read' | 'read_write') => Promise<Access>;

/** Whether a key is neither revoked nor expired. */
export function isActive(key: ApiKeyRecord, now: number): boolean {
  return key.revokedAt === null && (key.expiresAt === null || now < key.expiresAt);
}

/** Creates {@link CheckAccess}. */
export function createCheckAccess(apiKeys: Store['apiKeys'], now: () => number = Date.now): CheckAccess {
  return async (keyId, server, mode) => {
    const key = await apiKeys.find(keyId);
    if (!key || !isActive(key, now()) || !key.servers.includes(server)) return 'denied';
    if (!allows(key.scopes, 'game-console:read')) return 'denied';
    return mode === 'read' || allows(key.scopes, 'game-console:read_write') ? 'ok' : 'read_only';
  };
}
