import { timingSafeEqual } from 'node:crypto';
import { allows } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import type { ApiKeyRecord, Store } from '../store/types.ts';

/** The access of an API key to a console: as requested, only reading, or none. */
export type Access = 'ok' | 'read_only' | 'denied';

/** A console in a mode, and the secret of an API key that opened it. */
export interface ConsoleClaim {
  readonly server: ServerName;
  readonly keyId: string;
  readonly secretHash: string;
  readonly mode: 'read' | 'read_write';
}

/** Checks the current access of a secret to a console. Rejects if it cannot be checked. */
export type CheckAccess = (claim: ConsoleClaim) => Promise<Access>;

/** How and when a key ended; undefined while it is active. `isActiveSql` of the store says the same in a statement. */
export function endOf(key: ApiKeyRecord, now: number) {
  const { revokedAt, expiresAt } = key;
  if (revokedAt !== null) return { how: 'was revoked', at: revokedAt } as const;
  return expiresAt === null || now < expiresAt ? undefined : ({ how: 'expired', at: expiresAt } as const);
}

/** Whether a key is neither revoked nor expired. */
export function isActive(key: ApiKeyRecord, now: number): boolean {
  return endOf(key, now) === undefined;
}

/** Whether a key is active, and a secret is its current one, or the previous one before its end. */
export function isValidSecret(key: ApiKeyRecord, secretHash: string, now: number): boolean {
  const given = Buffer.from(secretHash, 'hex');
  const current = timingSafeEqual(given, Buffer.from(key.secretHash, 'hex'));
  const previous = key.previousHash !== null && timingSafeEqual(given, Buffer.from(key.previousHash, 'hex'));
  const isOpen = current || (previous && key.previousUntil !== null && now < key.previousUntil);
  return isOpen && isActive(key, now);
}

/** Creates {@link CheckAccess}. */
export function createCheckAccess(
  { apiKeys, servers }: Pick<Store, 'apiKeys' | 'servers'>,
  now: () => number = Date.now,
): CheckAccess {
  return async ({ server, keyId, secretHash, mode }) => {
    const key = await apiKeys.find(keyId);
    if (!key || !isValidSecret(key, secretHash, now()) || !key.servers.includes(server)) return 'denied';
    if (!allows(key.scopes, 'game-console:read')) return 'denied';
    const record = await servers.find(server);
    if (typeof record?.suspendedAt === 'number') return 'denied';
    return mode === 'read' || allows(key.scopes, 'game-console:read_write') ? 'ok' : 'read_only';
  };
}
