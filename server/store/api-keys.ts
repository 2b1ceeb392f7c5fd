import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { Scope, ServerName } from '#contract/api-keys.ts';
import type { Query } from './database.ts';
import { Hash, Time, jsonList, openTable } from './table.ts';

const minuteMs = 60 * 1000;
const touchTimeoutMs = 200;

const ApiKey = z
  .object({
    id: z.string().min(1),
    /** SHA-256 of the secret, in hexadecimal. */
    secretHash: Hash,
    /** The secret before the last rotation, which is valid until `previousUntil`. */
    previousHash: Hash.nullable(),
    previousUntil: Time.nullable(),
    label: z.string(),
    servers: jsonList(ServerName),
    scopes: jsonList(Scope),
    createdAt: Time,
    expiresAt: Time.nullable(),
    revokedAt: Time.nullable(),
    /** Rounded down to the minute. */
    lastUsedAt: Time.nullable(),
  })
  .refine((key) => (key.previousHash === null) === (key.previousUntil === null));

/** A stored API key; its secrets are SHA-256 hashes. */
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
    /** Gives a key a new secret, and keeps the old one until `previousUntil`; false if there is no such key. */
    async rotate(id: string, secretHash: string, previousUntil: number): Promise<boolean> {
      const rows = await query(
        `UPDATE hosting_api_keys SET previous_hash = secret_hash, previous_until = $3, secret_hash = $2
          WHERE id = $1 RETURNING id`,
        [id, secretHash, previousUntil],
      );
      return rows.length > 0;
    },
    /** Revokes a key for good; false if there is no such key, true even if it was already revoked. */
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

/** Stores the last use of a key once a minute. It waits at most 200 ms for the store; later failures are not reported. */
function createTouch(query: Query) {
  const touched = new LRUCache<string, number>({ max: 10_000 });
  return async (id: string, at: number): Promise<void> => {
    const minute = Math.floor(at / minuteMs) * minuteMs;
    if ((touched.get(id) ?? -1) >= minute) return;
    touched.set(id, minute);
    const write = query(
      'UPDATE hosting_api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)',
      [id, minute],
    ).catch((error: unknown) => {
      touched.delete(id);
      throw error;
    });
    await Promise.race([write, delay(touchTimeoutMs, undefined, { ref: false })]);
  };
}
