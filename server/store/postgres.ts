import { Client, Pool, types } from 'pg';
import type { ClientConfig } from 'pg';
import type { Database, Dialect, Query, Row } from './database.ts';
import { StoreError } from './error.ts';
import { migrate } from './migrations.ts';

const connections = 8;
const connectMs = 5000;
const statementMs = 5000;
const migrationMs = 60_000;
/** The server ends a statement that takes too long; past this much more it is the network that is gone. */
const networkMs = 2000;

/** How PostgreSQL writes what differs. */
export const postgresDialect: Dialect = {
  integer: 'BIGINT',
  // Text is ordered alike on all databases, whatever their locale.
  text: 'TEXT COLLATE "C"',
  sequence: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  tableEnd: '',
  findMigrations: `SELECT 1 WHERE to_regclass('hosting_migrations') IS NOT NULL`,
  // Any number will do that no other program takes in the same database: this one is "hosting" in ASCII.
  beginMigration: ['BEGIN ISOLATION LEVEL READ COMMITTED', 'SELECT pg_advisory_xact_lock(29395939242896999)'],
};

/**
 * Opens a store in a PostgreSQL database, which any number of instances may share. Throws a {@link StoreError}, which
 * never holds the URL or a part of it.
 */
export async function openPostgres(url: string): Promise<Database> {
  await migrateDatabase(url);
  const pool = new Pool({
    ...settings(url, statementMs),
    max: connections,
    idleTimeoutMillis: 60_000,
  });
  // A connection was lost while nobody used it: the next statement opens another.
  pool.on('error', () => undefined);
  let closed: Promise<void> | undefined;
  return {
    query: createQuery((sql, values) => pool.query<Record<string, unknown>>(sql, values)),
    close: () => (closed ??= pool.end()),
  };
}

/** A connection of its own, because its transaction may wait long for that of another instance. */
async function migrateDatabase(url: string): Promise<void> {
  let client: Client;
  try {
    client = new Client(settings(url, migrationMs));
    client.on('error', () => undefined);
    await client.connect();
  } catch (error) {
    throw toStoreError(error);
  }
  try {
    await migrate(
      createQuery((sql, values) => client.query<Record<string, unknown>>(sql, values)),
      postgresDialect,
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

function settings(url: string, timeoutMs: number): ClientConfig {
  return {
    connectionString: url,
    fallback_application_name: 'hosting-api',
    connectionTimeoutMillis: connectMs,
    statement_timeout: timeoutMs,
    query_timeout: timeoutMs + networkMs,
    keepAlive: true,
    types: { getTypeParser },
  };
}

/** As `pg` has it, but for BIGINT, which it leaves as text. */
const getTypeParser: typeof types.getTypeParser = (...[id, format]: Parameters<typeof types.getTypeParser>) =>
  id === types.builtins.INT8 ? toNumber : types.getTypeParser(id, format);

function toNumber(text: string): number | string {
  return Number.isSafeInteger(Number(text)) ? Number(text) : text;
}

function createQuery(send: (sql: string, values: (string | number | null)[]) => Promise<{ rows: Row[] }>): Query {
  return async (sql, values = []) => {
    try {
      return (await send(sql, [...values])).rows;
    } catch (error) {
      throw toStoreError(error);
    }
  };
}

/** Classes of SQLSTATE whose messages speak of our statements and the server's state; others may quote values, users or hosts. */
const harmless = /^(?:25|40|42|53|54|55|57)/;

function toStoreError(error: unknown): StoreError {
  const { code, message } = error as NodeJS.ErrnoException;
  // The client's own errors are fixed sentences; should one ever quote the URL, it is not repeated.
  if (code === undefined) return unusable(/[/@]/.test(message) ? 'it cannot be reached' : message);
  if (!/^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return unusable(`it cannot be reached (${code})`);
  if (code.startsWith('28')) return unusable(`the server refuses the user or the password (${code})`);
  if (code.startsWith('3D')) return unusable(`the server does not have it (${code})`);
  return unusable(harmless.test(code) ? `${message} (${code})` : `error ${code}`);
}

function unusable(reason: string): StoreError {
  return new StoreError(`the PostgreSQL database cannot be used: ${reason}`);
}
