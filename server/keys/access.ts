import { allows } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import type { CheckAccess } from '../hosting/console/access.ts';
import type { ApiKeyRecord, Store } from '../store/types.ts';

/** A request that was let through to a server: who asks, for what, and as which request. */
export interface Caller {
  readonly key: ApiKeyRecord;
  readonly server: ServerName;
  /** The id of the server, as the path has it. */
  readonly id: string;
  readonly requestId: string;
  readonly ip: string;
}

/** Whether a key is neither revoked nor expired. */
export function isActive(key: ApiKeyRecord, now: number): boolean {
  return key.revokedAt === null && (key.expiresAt === null || now < key.expiresAt);
}

/** Creates the question that the console relay asks again and again: what a key may do at a console now. */
export function createCheckAccess(apiKeys: Store['apiKeys'], now: () => number = Date.now): CheckAccess {
  return async (keyId, server, mode) => {
    const key = await apiKeys.find(keyId);
    if (!key || !isActive(key, now()) || !key.servers.includes(server)) return 'denied';
    if (!allows(key.scopes, 'game-console:read')) return 'denied';
    return mode === 'read' || allows(key.scopes, 'game-console:read_write') ? 'ok' : 'read_only';
  };
}
