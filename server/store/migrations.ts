import type { Database, Dialect, Query } from './database.ts';
import { StoreError, retryConflicts } from './database.ts';

/** The statements that migrate the tables to the next version. */
export type Migration = ((dialect: Dialect) => readonly string[]) & {
  /** The oldest version of the program that can use the result; by default the version with this migration. */
  readonly minVersion?: number;
};

/** Declares that older programs can use the result of a migration, from `minVersion` on. */
const usableFrom = (minVersion: number, migration: Migration): Migration => Object.assign(migration, { minVersion });

/** Matches entries before an action of an API key; entries of changes have an actor. */
const isActionSql = `phase = 'requested' AND actor IS NULL AND action_id IS NOT NULL`;

/** Equal for refs of one server of a panel: its UUID and the first 8 digits, in any case. */
const refKeySql = `CASE WHEN length(ref) IN (8, 36) AND substr(ref, 9, 1) IN ('', '-')
  AND rtrim(lower(substr(ref, 1, 8)), '0123456789abcdef') = '' THEN lower(substr(ref, 1, 8)) ELSE ref END`;

/** All migrations in order, from version 1. Never change a released migration; add another. */
export const migrations: readonly Migration[] = [
  ({ text, integer, sequence, tableEnd }) => [
    `CREATE TABLE hosting_api_keys (
      id ${text} NOT NULL PRIMARY KEY,
      secret_hash ${text} NOT NULL,
      previous_hash ${text},
      previous_until ${integer},
      label ${text} NOT NULL,
      servers ${text} NOT NULL,
      scopes ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer},
      revoked_at ${integer},
      last_used_at ${integer}
    )${tableEnd}`,
    `CREATE TABLE hosting_servers (
      server ${text} NOT NULL PRIMARY KEY,
      provider ${text} NOT NULL,
      ref ${text} NOT NULL,
      log_file ${text}
    )${tableEnd}`,
    `CREATE TABLE hosting_idempotency (
      api_key_id ${text} NOT NULL,
      idempotency_key ${text} NOT NULL,
      fingerprint ${text} NOT NULL,
      begun_at ${integer} NOT NULL,
      deadline ${integer} NOT NULL,
      status ${integer},
      body ${text},
      PRIMARY KEY (api_key_id, idempotency_key)
    )${tableEnd}`,
    'CREATE INDEX hosting_idempotency_begun_at ON hosting_idempotency (begun_at)',
    `CREATE TABLE hosting_audit (
      id ${sequence},
      logged_at ${integer} NOT NULL,
      phase ${text} NOT NULL,
      key_id ${text} NOT NULL,
      action ${text} NOT NULL,
      server ${text} NOT NULL,
      request_id ${text} NOT NULL,
      ip ${text} NOT NULL,
      outcome ${text},
      ms ${integer},
      detail ${text}
    )${tableEnd}`,
    'CREATE INDEX hosting_audit_logged_at ON hosting_audit (logged_at, id)',
    'CREATE INDEX hosting_audit_server ON hosting_audit (server, logged_at, id)',
    `CREATE TABLE hosting_secrets (
      name ${text} NOT NULL PRIMARY KEY,
      value ${text} NOT NULL
    )${tableEnd}`,
  ],
  ({ text, integer, tableEnd }) => [
    `CREATE TABLE hosting_feedback (
      path ${text} NOT NULL,
      day ${text} NOT NULL,
      helpful ${integer} NOT NULL,
      unhelpful ${integer} NOT NULL,
      PRIMARY KEY (path, day)
    )${tableEnd}`,
  ],
  usableFrom(3, ({ integer }) => [`ALTER TABLE hosting_migrations ADD COLUMN min_version ${integer}`]),
  ({ text, integer, sequence, tableEnd }) => [
    `CREATE TABLE hosting_stream_tokens (
      id ${sequence},
      token_hash ${text} NOT NULL UNIQUE,
      key_id ${text} NOT NULL,
      secret_hash ${text} NOT NULL,
      server ${text} NOT NULL,
      mode ${text} NOT NULL,
      issued_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    )${tableEnd}`,
    'CREATE INDEX hosting_stream_tokens_key ON hosting_stream_tokens (key_id, expires_at)',
    // The signing secret of early stream tokens: a backup must not grant access.
    'DROP TABLE hosting_secrets',
    `ALTER TABLE hosting_servers ADD COLUMN suspended_at ${integer}`,
    `ALTER TABLE hosting_audit ADD COLUMN actor ${text}`,
  ],
  // Used only with PostgreSQL: with SQLite, a single instance counts in memory.
  usableFrom(4, ({ text, integer, createUnlogged, tableEnd }) => [
    `${createUnlogged} hosting_limits (
      name ${text} NOT NULL,
      key_hash ${text} NOT NULL,
      full_at ${integer} NOT NULL,
      PRIMARY KEY (name, key_hash)
    )${tableEnd}`,
  ]),
  usableFrom(4, ({ text }) => [
    `ALTER TABLE hosting_audit ADD COLUMN action_id ${text}`,
    'CREATE INDEX hosting_audit_action ON hosting_audit (action_id)',
  ]),
  usableFrom(4, ({ text }) => [
    // Action status, and the actions of a key, newest first: audit.ts has the same conditions.
    `CREATE INDEX hosting_audit_activity ON hosting_audit (key_id, logged_at, action_id) WHERE ${isActionSql}`,
    `CREATE INDEX hosting_audit_request ON hosting_audit (key_id, request_id, logged_at, action_id) WHERE ${isActionSql}`,
    `ALTER TABLE hosting_idempotency ADD COLUMN request_id ${text}`,
    // The label of a key created with --if-absent; of two concurrent keys, one is refused.
    `ALTER TABLE hosting_api_keys ADD COLUMN claimed_label ${text}`,
    'CREATE UNIQUE INDEX hosting_api_keys_claimed_label ON hosting_api_keys (claimed_label)',
  ]),
  usableFrom(4, ({ integer, tableEnd }) => [
    `CREATE TABLE hosting_health (
      id ${integer} NOT NULL PRIMARY KEY,
      written_at ${integer} NOT NULL
    )${tableEnd}`,
  ]),
  // Early versions allowed servers with the same provider and ref: an operator confirms or corrects existing twins.
  usableFrom(4, ({ text }) => [
    `ALTER TABLE hosting_servers ADD COLUMN shared ${text} NOT NULL DEFAULT 'no'`,
    `UPDATE hosting_servers SET shared = 'unconfirmed' WHERE (provider, ref) IN (
      SELECT provider, ref FROM hosting_servers GROUP BY provider, ref HAVING COUNT(*) > 1)`,
    `CREATE UNIQUE INDEX hosting_servers_ref ON hosting_servers (provider, ref) WHERE shared = 'no'`,
  ]),
  // Refs of panels used to be stored as they were written.
  usableFrom(4, () => [
    `UPDATE hosting_servers SET shared = 'unconfirmed' WHERE shared = 'no' AND (provider, ${refKeySql}) IN (
      SELECT provider, ${refKeySql} FROM hosting_servers WHERE shared <> 'yes' GROUP BY 1, 2 HAVING COUNT(*) > 1)`,
  ]),
  // The row of each instance counts its looks at the store. The indexes are for `audit --key` and `audit --changes`.
  usableFrom(4, ({ integer }) => [
    `ALTER TABLE hosting_health ADD COLUMN counter ${integer}`,
    'CREATE INDEX hosting_audit_key ON hosting_audit (key_id, logged_at, id)',
    'CREATE INDEX hosting_audit_changes ON hosting_audit (logged_at, id) WHERE actor IS NOT NULL',
  ]),
  usableFrom(4, ({ text, integer, tableEnd }) => [
    `CREATE TABLE hosting_operators (
      id ${text} NOT NULL PRIMARY KEY,
      secret_hash ${text} NOT NULL,
      previous_hash ${text},
      previous_until ${integer},
      label ${text} NOT NULL,
      claimed_label ${text} UNIQUE,
      rights ${text} NOT NULL,
      networks ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer},
      revoked_at ${integer},
      last_used_at ${integer}
    )${tableEnd}`,
    `ALTER TABLE hosting_api_keys ADD COLUMN widened_by ${text} NOT NULL DEFAULT '[]'`,
    'CREATE INDEX hosting_api_keys_label ON hosting_api_keys (label)',
    `ALTER TABLE hosting_servers ADD COLUMN made_by ${text}`,
    `ALTER TABLE hosting_servers ADD COLUMN suspended_by ${text}`,
    'CREATE INDEX hosting_servers_made_by ON hosting_servers (made_by, server)',
  ]),
  // In a table of their own, because early versions would take child keys for keys of the operator.
  usableFrom(4, ({ text, integer, tableEnd }) => [
    `ALTER TABLE hosting_api_keys ADD COLUMN manages_keys ${integer} NOT NULL DEFAULT 0`,
    `CREATE TABLE hosting_child_keys (
      id ${text} NOT NULL PRIMARY KEY, label ${text} NOT NULL,
      secret_hash ${text} NOT NULL, previous_hash ${text}, previous_until ${integer},
      servers ${text} NOT NULL, scopes ${text} NOT NULL, networks ${text} NOT NULL,
      created_at ${integer} NOT NULL, expires_at ${integer}, revoked_at ${integer}, last_used_at ${integer},
      parent_id ${text} NOT NULL, parent_hash ${text} NOT NULL, slot ${integer}, UNIQUE (parent_id, slot)
    )${tableEnd}`,
  ]),
];

/** Migrates the tables over an exclusive connection, safely in several processes at once. Throws a {@link StoreError}. */
export async function migrate(query: Query, dialect: Dialect, list = migrations): Promise<Database['versions']> {
  // Check without a lock first: an up-to-date database needs neither a write lock nor the CREATE privilege.
  const exists = (await query(dialect.findMigrations)).length > 0;
  const from = exists ? await readSchemaVersion(query, list.length) : 0;
  let version = from;
  while (version < list.length) {
    version = await inTransaction(query, dialect, async () => {
      await query(
        `CREATE TABLE IF NOT EXISTS hosting_migrations (
          version ${dialect.integer} NOT NULL PRIMARY KEY,
          applied_at ${dialect.integer} NOT NULL
        )${dialect.tableEnd}`,
      );
      const before = await readSchemaVersion(query, list.length);
      const next = list[before];
      // Another process has migrated the tables in the meantime.
      if (!next) return before;
      for (const statement of next(dialect)) await query(statement);
      await query('INSERT INTO hosting_migrations (version, applied_at) VALUES ($1, $2)', [before + 1, Date.now()]);
      if (next.minVersion !== undefined) {
        await query('UPDATE hosting_migrations SET min_version = $2 WHERE version = $1', [before + 1, next.minVersion]);
      }
      return before + 1;
    });
  }
  return { from, to: version };
}

/** Runs work in a transaction, one at a time, again after a conflict; rolls back if the work fails. */
export async function inTransaction<Result>(query: Query, dialect: Dialect, work: () => Promise<Result>) {
  return await retryConflicts(async () => {
    for (const statement of dialect.beginMigration) await query(statement);
    try {
      const result = await work();
      await query('COMMIT');
      return result;
    } catch (error) {
      await query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  });
}

/** Reads the version of the tables; throws a {@link StoreError} if a program of version `supported` cannot use them. */
export async function readSchemaVersion(query: Query, supported: number = migrations.length): Promise<number> {
  const [row] = await query('SELECT COALESCE(MAX(version), 0) AS version FROM hosting_migrations');
  const version = Number(row?.['version']);
  if (version <= supported) return version;
  const [newest] = await query('SELECT MAX(COALESCE(min_version, version)) AS needed FROM hosting_migrations');
  if (Number(newest?.['needed']) <= supported) return version;
  throw new StoreError(
    `a newer version of this program wrote the database (tables of version ${version}, supported up to ${supported}): ` +
      'update the program, or restore the backup from before the update',
  );
}
