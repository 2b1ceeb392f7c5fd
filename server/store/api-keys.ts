import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { Scope, ServerName } from '#contract/api-keys.ts';
import type { Query } from './database.ts';
import { StoreError } from './error.ts';
import { Hash, Time, jsonList, openTable } from './table.ts';

/** Whether a key is neither revoked nor expired at the time $2; `isActive` of the keys says the same of a record. */
const isActiveSql = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)';

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

/** What an operator may change of a key; what is undefined stays. */
export type ApiKeyChange = {
  readonly [Field in 'label' | 'servers' | 'scopes' | 'expiresAt']: ApiKeyRecord[Field] | undefined;
};

/** The API keys, over an open database. */
export function createApiKeys(query: Query) {
  const keys = openTable(query, 'hosting_api_keys', ['id'], ApiKey);
  const findActive = async (label: string, now: number): Promise<ApiKeyRecord | undefined> =>
    (await keys.select(`WHERE label = $1 AND ${isActiveSql} ORDER BY created_at, id LIMIT 1`, [label, now]))[0];
  return {
    /** Finds the oldest key with a label that is neither revoked nor expired. */
    findActive,
    create: (key: ApiKeyRecord): Promise<void> => keys.insert(key),
    async find(id: string): Promise<ApiKeyRecord | undefined> {
      return (await keys.select('WHERE id = $1', [id]))[0];
    },
    /** All keys, the oldest first. */
    list: (): Promise<ApiKeyRecord[]> => keys.select('ORDER BY created_at, id'),
    /**
     * Creates a key unless an active one has its label, which is then returned. Of several callers at the same time, one
     * creates its key.
     */
    async createIfAbsent({ servers, scopes, ...key }: ApiKeyRecord): Promise<ApiKeyRecord | undefined> {
      const { id, secretHash, label, createdAt: now, expiresAt } = key;
      // The key that exists may end between the statements, but hardly ten times.
      for (let attempt = 0; attempt < 10; attempt += 1) {
        // A key that has ended, or that has another label by now, gives up its claim.
        await query(
          `UPDATE hosting_api_keys SET claimed_label = NULL
            WHERE claimed_label = $1 AND NOT (label = $1 AND ${isActiveSql})`,
          [label, now],
        );
        const created = await query(
          `INSERT INTO hosting_api_keys
              (id, secret_hash, label, servers, scopes, created_at, expires_at, claimed_label)
            SELECT CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($1 AS TEXT), CAST($5 AS TEXT), CAST($6 AS TEXT),
              CAST($2 AS BIGINT), CAST($7 AS BIGINT), CAST($1 AS TEXT)
            WHERE NOT EXISTS (SELECT 1 FROM hosting_api_keys WHERE label = $1 AND ${isActiveSql})
            ON CONFLICT (claimed_label) DO NOTHING RETURNING id`,
          [label, now, id, secretHash, JSON.stringify(servers), JSON.stringify(scopes), expiresAt],
        );
        if (created.length > 0) return undefined;
        const existing = await findActive(label, now);
        if (existing) return existing;
      }
      throw new StoreError('a key with this label is created and ended again and again');
    },
    /** Changes a key; false if there is none with this id that is not revoked. */
    async update(id: string, { label, servers, scopes, expiresAt }: ApiKeyChange): Promise<boolean> {
      const columns = {
        label,
        servers: servers && JSON.stringify(servers),
        scopes: scopes && JSON.stringify(scopes),
        expires_at: expiresAt,
      };
      const changed = Object.entries(columns).filter(([, value]) => value !== undefined);
      const set = changed.map(([column], index) => `${column} = $${index + 2}`).join(', ');
      const rows = await query(`UPDATE hosting_api_keys SET ${set} WHERE id = $1 AND revoked_at IS NULL RETURNING id`, [
        id,
        ...changed.map(([, value]) => value!),
      ]);
      return rows.length > 0;
    },
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
