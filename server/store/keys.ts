import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { Scope, ServerName, allows, childKeyLimits } from '#contract/api-keys.ts';
import { operatorRights } from '#contract/endpoint.ts';
import { createLru } from '../lru.ts';
import { withTimeout } from '../timeout.ts';
import { StoreError, Time, openTable, toColumn } from './database.ts';
import type { Query, Value } from './database.ts';

/** A SHA-256 hash in hexadecimal. */
export const Hash = z.string().regex(/^[0-9a-f]{64}$/);

const jsonList = <Item extends z.ZodType>(item: Item) =>
  z.preprocess((text): unknown => JSON.parse(String(text)), z.array(item).readonly());

/** The fields of API keys, and of the tokens of operators. */
const secretFields = {
  id: z.string().min(1),
  secretHash: Hash,
  /** The secret before the last rotation, which is valid until `previousUntil`. */
  previousHash: Hash.nullable(),
  previousUntil: Time.nullable(),
  label: z.string(),
  createdAt: Time,
  expiresAt: Time.nullable(),
  revokedAt: Time.nullable(),
  /** Rounded down to the minute. */
  lastUsedAt: Time.nullable(),
};
const SecretFields = z.object(secretFields);
/** The fields that all secrets have. */
export type SecretRecord = Readonly<z.output<typeof SecretFields>>;

const keyFields = { ...secretFields, servers: jsonList(ServerName), scopes: jsonList(Scope) };
const ApiKey = z.object({
  ...keyFields,
  /** The ids of the operator tokens that made the key, or gave it a secret, a right or a later end. */
  widenedBy: jsonList(z.string()).default([]),
  managesKeys: z.coerce.boolean().default(false),
});

/** A stored API key; its secrets are SHA-256 hashes. */
export type ApiKeyRecord = Readonly<z.output<typeof ApiKey>>;

const ChildKeyRow = z.object({
  ...keyFields,
  parentId: z.string().min(1),
  /** The hash of the parent's secret that made the child, which ends with it. */
  parentHash: Hash,
  /** One of the places of active children of the parent. */
  slot: z.int().nullable(),
  networks: jsonList(z.string()),
});

/** A stored child key, with the rights that it was made with. */
export type ChildKey = Readonly<z.output<typeof ChildKeyRow>>;

/** A key as it may be used: a child key has what its parent leaves it. Keys of operators have no `parentId`. */
export type UsableKey = ApiKeyRecord & Pick<ChildKey, 'networks'> & { readonly parentId: string | null };

/** The schema of operator tokens. */
export const OperatorToken = z.object({
  ...secretFields,
  rights: jsonList(z.enum(operatorRights)),
  networks: jsonList(z.string()),
});

/** A stored operator token; its secrets are SHA-256 hashes. Without networks, any address may use the token. */
export type OperatorToken = Readonly<z.output<typeof OperatorToken>>;

/** SQL twin of `isActive` ($2 = now). */
const isActiveSql = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)';

const minuteMs = 60 * 1000;
const childKeptMs = childKeyLimits.days * 24 * 60 * minuteMs;
const touchTimeoutMs = 200;

/** Fields to change; undefined fields stay. */
type Changes<Key> = { readonly [Field in keyof Key]?: Key[Field] | undefined };

/** A part of the JSON of a key's servers: of one server, or of any list. */
const toNeedle = (server?: string): string => (server === undefined ? '[' : JSON.stringify(server));
/** Matches keys whose servers contain $1; LIKE would ignore case in SQLite. */
const hasServerSql = `replace(servers, $1, '') <> servers`;

/** The records of API keys, or of operator tokens. */
export type SecretRecords<Key extends SecretRecord> = ReturnType<typeof createSecretRecords<z.ZodType<Key>>>;

export function createSecretRecords<Schema extends z.ZodType<SecretRecord>>(
  query: Query,
  table: string,
  schema: Schema,
) {
  type Key = z.output<Schema>;
  const keys = openTable(query, table, ['id'], schema);
  const touched = createLru<string, number>(10_000);
  const findActive = (label: string, now: number) =>
    keys.find(`WHERE label = $1 AND ${isActiveSql} ORDER BY created_at, id`, [label, now]);
  return {
    /** Finds the oldest active key with a label. */
    findActive,
    /** Finds the newest key with a label, active or not. */
    findNewest: (label: string) => keys.find('WHERE label = $1 ORDER BY created_at DESC, id', [label]),
    create: (key: Key) => keys.insert(key),
    /** Finds a key by id and, optionally, the hash of a secret, in the same time for an unknown id and a wrong secret. */
    find: (id: string, secretHash?: string) =>
      secretHash === undefined
        ? keys.find('WHERE id = $1', [id])
        : keys.find('WHERE id = $1 AND $2 IN (secret_hash, previous_hash)', [id, secretHash]),
    /** Reads keys by id, of one server or of all; `limit` counts from `after` on. */
    page: (after: string, server?: string, limit = 1e9) =>
      keys.select(`WHERE ${hasServerSql} AND id > $2 ORDER BY id LIMIT ${limit}`, [toNeedle(server), after]),
    /** Lists all keys, oldest first. */
    list: async () => (await keys.listAll()).toSorted((one, other) => one.createdAt - other.createdAt),
    /** Creates a key, or returns the active key with the same label. Of several callers, one creates a key. */
    async createIfAbsent(key: Key): Promise<Key | undefined> {
      const { label, createdAt: now } = key;
      // The existing key may end between the statements, but hardly ten times.
      for (let attempt = 0; attempt < 10; attempt += 1) {
        const existing = await findActive(label, now);
        if (existing) return existing;
        // Release the claim of a key that has ended or has another label by now.
        await query(
          `UPDATE ${table} SET claimed_label = NULL
            WHERE claimed_label = $1 AND NOT (label = $1 AND ${isActiveSql})`,
          [label, now],
        );
        const claim = { ...key, claimedLabel: label } as Parameters<typeof keys.insert>[0];
        if (await keys.insert(claim, 'ON CONFLICT (claimed_label) DO NOTHING')) return undefined;
      }
      throw new StoreError('could not claim the label after 10 attempts: it keeps being created and revoked');
    },
    /** Changes the given fields of a key; returns false if the key is missing or revoked, or not as it was read. */
    update(id: string, changes: Changes<Key>, read: Changes<Key> = {}): Promise<boolean> {
      const toFields = (key: Changes<Key>) =>
        Object.entries(key).filter(([field, value]) => value !== undefined && field !== 'lastUsedAt') as [
          string,
          Value,
        ][];
      const [changed, expected] = [toFields(changes), toFields(read)];
      const set = changed.map(([field], at) => `${toColumn(field)} = $${at + 2}`).join(', ');
      const isAsRead = expected.map(
        ([field], at) => ` AND ${toColumn(field)} IS NOT DISTINCT FROM $${at + changed.length + 2}`,
      );
      const sql = `UPDATE ${table} SET ${set} WHERE id = $1 AND revoked_at IS NULL${isAsRead.join('')}`;
      return keys.change(sql, [id, ...[...changed, ...expected].map(([, value]) => value)]);
    },
    /** Revokes a key for good, also repeatedly; returns false if the key is missing. */
    revoke: (id: string, at: number) =>
      keys.change(`UPDATE ${table} SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1`, [id, at]),
    /** Stores the last use of a key once a minute. Waits at most 200 ms; later failures are ignored. */
    async touch(id: string, at: number): Promise<void> {
      const minute = Math.floor(at / minuteMs) * minuteMs;
      if ((touched.get(id) ?? -1) >= minute) return;
      touched.set(id, minute);
      const sql = `UPDATE ${table} SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`;
      const write = query(sql, [id, minute]).catch((error: unknown) => {
        touched.delete(id);
        throw error;
      });
      await withTimeout(write, touchTimeoutMs, () => undefined);
    },
  };
}

export function createApiKeyRecords(query: Query) {
  return {
    ...createSecretRecords(query, 'hosting_api_keys', ApiKey),
    /** Counts the active keys of one server, or of all. */
    async countActive(now: number, server?: string): Promise<ReadonlyMap<string, number>> {
      const sql = `SELECT servers FROM hosting_api_keys WHERE ${hasServerSql} AND ${isActiveSql}`;
      const counts = new Map<string, number>();
      for (const row of await query(sql, [toNeedle(server), now])) {
        for (const name of JSON.parse(String(row['servers'])) as string[])
          counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      return counts;
    },
  };
}

/** Matches child keys whose parent, or its secret that created them, has ended for good. */
const isOrphanSql = (now: '$1' | '$2'): string =>
  `NOT EXISTS (SELECT 1 FROM hosting_api_keys AS parent WHERE parent.id = parent_id AND parent.revoked_at IS NULL
    AND (parent.secret_hash = parent_hash OR (parent.previous_hash = parent_hash AND parent.previous_until > ${now})))`;

function createChildKeyRecords(query: Query) {
  const keys = openTable(query, 'hosting_child_keys', ['id'], ChildKeyRow);
  const listOf = (parentId: string) => keys.select('WHERE parent_id = $1 ORDER BY created_at, id', [parentId]);
  return {
    ...createSecretRecords(query, 'hosting_child_keys', ChildKeyRow),
    /** Lists the child keys of a key, oldest first. */
    listOf,
    /** Creates a child key in a free slot of its parent; false if the parent has as many as it may. */
    async create(key: ChildKey): Promise<boolean> {
      const { parentId, createdAt: now } = key;
      const hasEnded = `(NOT (${isActiveSql}) OR ${isOrphanSql('$2')})`;
      await query(`UPDATE hosting_child_keys SET slot = NULL WHERE parent_id = $1 AND ${hasEnded}`, [parentId, now]);
      // Each lost race has filled a slot.
      for (;;) {
        const others = await listOf(parentId);
        const free = new Set(Array(childKeyLimits.active).keys()).difference(new Set(others.map(({ slot }) => slot)));
        const recent = others.filter(({ createdAt }) => createdAt > now - childKeptMs);
        if (free.size === 0 || recent.length >= childKeyLimits.recent) return false;
        const slot = [...free][randomInt(free.size)]!;
        if (await keys.insert({ ...key, slot }, 'ON CONFLICT (parent_id, slot) DO NOTHING')) return true;
      }
    },
    /** Stores the end of orphans, and removes the child keys that ended 30 days ago. */
    async purge(now: number): Promise<void> {
      const orphans = `revoked_at IS NULL AND ${isOrphanSql('$1')}`;
      await query(`UPDATE hosting_child_keys SET revoked_at = $1 WHERE ${orphans}`, [now]);
      await query('DELETE FROM hosting_child_keys WHERE revoked_at < $1 OR expires_at < $1', [now - childKeptMs]);
    },
  };
}

/** Limits a child key to what its parent may do now. */
function limitChild({ parentHash, slot: _slot, ...child }: ChildKey, parent: ApiKeyRecord): UsableKey {
  // Only the end of the previous secret is stored.
  const overlapUntil = parentHash === parent.previousHash ? parent.previousUntil : null;
  const secretUntil = parentHash === parent.secretHash ? null : (overlapUntil ?? child.createdAt);
  const ends = [child.expiresAt, parent.expiresAt, secretUntil].filter((end) => end !== null);
  const scopes = child.scopes.filter((scope) => allows(parent.scopes, scope));
  const reduced = parent.scopes.filter((scope) => allows(child.scopes, scope) && !allows(scopes, scope));
  const servers = child.servers.filter((server) => parent.servers.includes(server));
  const [expiresAt, revokedAt] = [ends.length === 0 ? null : Math.min(...ends), child.revokedAt ?? parent.revokedAt];
  const rights = { servers, scopes: [...scopes, ...reduced], managesKeys: false, widenedBy: [] };
  return { ...child, ...rights, expiresAt, revokedAt };
}

const toUsable = (key: ApiKeyRecord): UsableKey => ({ ...key, networks: [], parentId: null });

/** Creates the records of keys and of child keys, and the keyring of both, for requests. */
export function createKeyRecords(query: Query) {
  const [apiKeys, childKeys] = [createApiKeyRecords(query), createChildKeyRecords(query)];
  const keyring = {
    async find(id: string, secretHash?: string): Promise<UsableKey | undefined> {
      const key = await apiKeys.find(id, secretHash);
      const child = key ? undefined : await childKeys.find(id, secretHash);
      const parent = child && (await apiKeys.find(child.parentId));
      return key ? toUsable(key) : parent && limitChild(child, parent);
    },
    touch: (id: string, at: number, { parentId }: UsableKey) => (parentId ? childKeys : apiKeys).touch(id, at),
    async childrenOf(id: string): Promise<UsableKey[]> {
      const parent = await apiKeys.find(id);
      return (await childKeys.listOf(id)).map((child) => limitChild(child, parent!));
    },
    /** Lists the keys, oldest first, each before its child keys. */
    async list(): Promise<UsableKey[]> {
      const children = Map.groupBy(await childKeys.list(), ({ parentId }) => parentId);
      const limited = (key: ApiKeyRecord) => (children.get(key.id) ?? []).map((child) => limitChild(child, key));
      return (await apiKeys.list()).flatMap((key) => [toUsable(key), ...limited(key)]);
    },
  };
  return { apiKeys, childKeys, keyring };
}
