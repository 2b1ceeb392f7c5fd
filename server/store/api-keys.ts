import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { Scope, ServerName } from '#contract/api-keys.ts';
import type { Query } from './database.ts';
import { Time, jsonList, openTable } from './table.ts';

const minuteMs = 60 * 1000;
const touchPatienceMs = 200;

const Hash = z.string().regex(/^[0-9a-f]{64}$/);

const ApiKey = z
  .object({
    id: z.string().min(1),
    /** SHA-256 of the secret, in hexadecimal digits. */
    secretHash: Hash,
    /** The secret before the last rotation, which is good until `previousUntil`. */
    previousHash: Hash.nullable(),
    previousUntil: Time.nullable(),
    label: z.string(),
    servers: jsonList(ServerName),
    scopes: jsonList(Scope),
    createdAt: Time,
    expiresAt: Time.nullable(),
    revokedAt: Time.nullable(),
    /** To the minute. */
    lastUsedAt: Time.nullable(),
  })
  .refine((key) => (key.previousHash === null) === (key.previousUntil === null));

/** An API key as it is kept: its secrets only as SHA-256. */
export type ApiKeyRecord = Readonly<z.output<typeof ApiKey>>;

/** The API keys, over an open database. */
export function createApiKeys(query: Query) {
  const keys = openTable(query, 'hosting_api_keys', ['id'], ApiKey);
  return {
    create: (key: ApiKeyRecord): Promise<void> => keys.insert(key),
    async find(id: string): Promise<ApiKeyRecord | undefined> {
      return (await keys.select('WHERE id = $1', [id]))[0];
    },
    /** All keys, the oldest first. */
    list: (): Promise<ApiKeyRecord[]> => keys.select('ORDER BY created_at, id'),
    /** Gives a key a new secret, and keeps the old one until `previousUntil`; false where there is no such key. */
    async rotate(id: string, secretHash: string, previousUntil: number): Promise<boolean> {
      const rows = await query(
        `UPDATE hosting_api_keys SET previous_hash = secret_hash, previous_until = $3, secret_hash = $2
          WHERE id = $1 RETURNING id`,
        [id, secretHash, previousUntil],
      );
      return rows.length > 0;
    },
    /** Revokes a key for good; false where there is no such key, true also where it was revoked before. */
    async revoke(id: string, at: number): Promise<boolean> {
      const rows = await query(
        'UPDATE hosting_api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1 RETURNING id',
        [id, at],
      );
      return rows.length > 0;
    },
    touch: createTouch(query),
  };
}

/** Notes that a key was used, once a minute. It waits 200 ms for the store at most; a failure after that is not reported. */
function createTouch(query: Query) {
  // Only real keys come here, but a bound costs nothing.
  const noted = new LRUCache<string, number>({ max: 10_000 });
  return async (id: string, at: number): Promise<void> => {
    const minute = Math.floor(at / minuteMs) * minuteMs;
    if ((noted.get(id) ?? -1) >= minute) return;
    noted.set(id, minute);
    const write = query(
      'UPDATE hosting_api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)',
      [id, minute],
    ).catch((error: unknown) => {
      noted.delete(id);
      throw error;
    });
    await Promise.race([write, delay(touchPatienceMs, undefined, { ref: false })]);
  };
}
