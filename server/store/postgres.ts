import { Client, Pool, types } from 'pg';
import type { ClientConfig } from 'pg';
import type { Database, Dialect, Query } from './database.ts';
import { StoreError, StoreUnreachableError } from './database.ts';
import { migrate } from './migrations.ts';

const connections = 8;
const connectMs = 5000;
const statementMs = 5000;
const migrationMs = 60_000;
/** The server aborts slow statements; after this additional time, the connection counts as lost. */
const networkMs = 2000;

/** The SQL dialect of PostgreSQL. */
export const postgresDialect: Dialect = {
  integer: 'BIGINT',
  // The same order of text on all databases, independent of their locale.
  text: 'TEXT COLLATE "C"',
  sequence: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  createUnlogged: 'CREATE UNLOGGED TABLE',
  tableEnd: '',
  findMigrations: `SELECT 1 WHERE to_regclass('hosting_migrations') IS NOT NULL`,
  // An arbitrary number that no other program should use in the same database: "hosting" in ASCII.
  beginMigration: ['BEGIN ISOLATION LEVEL READ COMMITTED', 'SELECT pg_advisory_xact_lock(29395939242896999)'],
};

/**
 * Opens a PostgreSQL database, which any number of instances may share. Throws a {@link StoreError} that never holds the
 * URL or a part of it.
 */
export async function openPostgres(url: string): Promise<Database> {
  // Over a separate connection, since its transaction may wait long for another instance.
  const versions = await withConnection(url, (query) => migrate(query, postgresDialect));
  const pool = new Pool({
    ...settings(url, statementMs),
    max: connections,
    idleTimeoutMillis: 60_000,
  });
  // An idle connection was lost: the next statement opens another.
  pool.on('error', () => undefined);
  let closed: Promise<void> | undefined;
  return {
    query: createQuery(pool),
    versions,
    close: () => (closed ??= pool.end()),
  };
}

/** Connects to a database for reading alone. Throws a {@link StoreError}. */
export async function readPostgres(url: string): Promise<Pick<Database, 'query' | 'close'>> {
  const client = await connect(url, statementMs);
  const query = createQuery(client);
  try {
    await query('SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY');
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return { query, close: () => client.end() };
}

/** Runs work that may take long over a connection of its own, which transactions need. */
export async function withConnection<Result>(url: string, work: (query: Query) => Promise<Result>): Promise<Result> {
  const client = await connect(url, migrationMs);
  try {
    return await work(createQuery(client));
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Opens one connection, apart from the pool. */
async function connect(url: string, timeoutMs: number): Promise<Client> {
  try {
    const client = new Client(settings(url, timeoutMs));
    client.on('error', () => undefined);
    await client.connect();
    return client;
  } catch (error) {
    throw toStoreError(error);
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

/** The parsers of `pg`, except for BIGINT, which `pg` returns as text. */
const getTypeParser: typeof types.getTypeParser = (...[id, format]: Parameters<typeof types.getTypeParser>) =>
  id === types.builtins.INT8 ? toNumber : types.getTypeParser(id, format);

function toNumber(text: string): number | string {
  return Number.isSafeInteger(Number(text)) ? Number(text) : text;
}

function createQuery(connection: Pick<Client, 'query'>): Query {
  return async (sql, values = []) => {
    try {
      return (await connection.query<Record<string, unknown>>(sql, [...values])).rows;
    } catch (error) {
      throw toStoreError(error);
    }
  };
}

/** SQLSTATE classes whose messages describe statements and the server; others may quote values, users or hosts. */
const safeClasses = /^(?:25|40|42|53|54|55|57)/;

/** SQLSTATE classes of statements that do not fit the tables: the database works. */
const statementClasses = /^(?:22|23|42)/;

function toStoreError(error: unknown): StoreError {
  const { code, message } = error as NodeJS.ErrnoException;
  // Errors of the client are fixed texts, but they must never quote the URL.
  if (code === undefined) return unusable(/[/@]/.test(message) ? 'it cannot be reached' : message);
  if (!/^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return unusable(`it cannot be reached (${code})`);
  if (code.startsWith('28')) return unusable(`the server refuses the user or the password (${code})`);
  if (code.startsWith('3D')) return unusable(`the server does not have it (${code})`);
  const reason = safeClasses.test(code) ? `${message} (${code})` : `error ${code}`;
  return unusable(reason, statementClasses.test(code) ? StoreError : StoreUnreachableError);
}

function unusable(reason: string, Kind: new (message: string) => StoreError = StoreUnreachableError): StoreError {
  return new Kind(`the PostgreSQL database cannot be used: ${reason}`);
}
