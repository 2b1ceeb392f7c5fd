import type { Dialect, Query } from './database.ts';
import { StoreError } from './error.ts';

/** The statements that migrate the tables to the next version. */
export type Migration = (dialect: Dialect) => readonly string[];

/** All migrations in order, from version 1. Never change a released one: add another. */
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
  // Only PostgreSQL uses it: with SQLite there is one instance, which counts in memory.
  ({ text, integer, createUnlogged, tableEnd }) => [
    `${createUnlogged} hosting_limits (
      name ${text} NOT NULL,
      key_hash ${text} NOT NULL,
      full_at ${integer} NOT NULL,
      PRIMARY KEY (name, key_hash)
    )${tableEnd}`,
  ],
];

/**
 * Migrates the tables to the latest version, one transaction for each step; safe if several processes start at once.
 * `query` must use one exclusive connection. Throws a {@link StoreError} if a newer version of the program wrote the
 * database.
 */
export async function migrate(
  query: Query,
  dialect: Dialect,
  list: readonly Migration[] = migrations,
  now: () => number = Date.now,
): Promise<void> {
  // Checked without a lock first: an up-to-date database then needs neither a write lock nor the CREATE privilege.
  const exists = (await query(dialect.findMigrations)).length > 0;
  let version = exists ? await readVersion(query, list.length) : 0;
  while (version < list.length) {
    for (const statement of dialect.beginMigration) await query(statement);
    try {
      await query(
        `CREATE TABLE IF NOT EXISTS hosting_migrations (
          version ${dialect.integer} NOT NULL PRIMARY KEY,
          applied_at ${dialect.integer} NOT NULL
        )${dialect.tableEnd}`,
      );
      version = await readVersion(query, list.length);
      const next = list[version];
      if (next) {
        for (const statement of next(dialect)) await query(statement);
        version += 1;
        await query('INSERT INTO hosting_migrations (version, applied_at) VALUES ($1, $2)', [version, now()]);
      }
      await query('COMMIT');
    } catch (error) {
      await query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }
}

async function readVersion(query: Query, supported: number): Promise<number> {
  const [row] = await query('SELECT COALESCE(MAX(version), 0) AS version FROM hosting_migrations');
  const version = Number(row?.['version']);
  if (version > supported) {
    throw new StoreError(
      `a newer version of this program wrote the database (its tables have version ${version}, this program supports ${supported}): update the program`,
    );
  }
  return version;
}
