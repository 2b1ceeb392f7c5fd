import { createHmac, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { Client, Pool, types } from 'pg';
import type { ClientConfig } from 'pg';
import type { Connection, Database, Dialect, Query } from './database.ts';
import { StoreError, StoreUnreachableError, toSafeNumber } from './database.ts';
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

/** Opens a PostgreSQL database for any number of instances. Throws a {@link StoreError} without any part of the URL. */
export async function openPostgres(url: string): Promise<Database> {
  // Over a separate connection, since its transaction may wait long for another instance.
  const versions = await withConnection(url, (query) => migrate(query, postgresDialect));
  const pool = new Pool({ ...settings(url, statementMs), max: connections, idleTimeoutMillis: 60_000 });
  // An idle connection was lost: the next statement opens another.
  pool.on('error', () => undefined);
  let closed: Promise<void> | undefined;
  return { query: createQuery(pool), versions, close: () => (closed ??= pool.end()) };
}

/** Connects to a database for reading alone. Throws a {@link StoreError}. */
export async function readPostgres(url: string): Promise<Connection> {
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
  id === types.builtins.INT8 ? toSafeNumber : types.getTypeParser(id, format);

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
  let reason = safeClasses.test(code ?? '') ? `${message} (${code})` : `error ${code}`;
  // Errors of the client are fixed texts, but they must never quote the URL.
  if (code === undefined) reason = /[/@]/.test(message) ? 'it cannot be reached' : message;
  else if (!/^(?=.*\d)[0-9A-Z]{5}$/.test(code)) reason = `it cannot be reached (${code})`;
  else if (code.startsWith('28')) reason = `the server refuses the user or the password (${code})`;
  else if (code.startsWith('3D')) reason = `the server does not have it (${code})`;
  const Kind = statementClasses.test(code ?? '') ? StoreError : StoreUnreachableError;
  return new Kind(`the PostgreSQL database cannot be used: ${reason}`);
}

/** Slow on purpose: a known address and its hash must not help to guess the password. */
const deriveKey = promisify(scrypt);

/** The database's clock: read again where it is used, since a statement may wait for the row. */
const nowUs = 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)';

/** A bucket that is this much further from full than its capacity is of a clock that was set back: it starts over. */
const maxSkewUs = 60_000_000;

/** One statement on one row (generic cell rate algorithm): all instances count in turn. A refusal changes nothing. */
const consumeSql = `
  WITH consumed AS (
    INSERT INTO hosting_limits AS bucket (name, key_hash, full_at)
    VALUES ($1, $2, ${nowUs} + CAST($3 AS BIGINT))
    ON CONFLICT (name, key_hash) DO UPDATE
    SET full_at = CASE
      WHEN bucket.full_at - ${nowUs} BETWEEN 0 AND $4 THEN bucket.full_at + $3
      ELSE excluded.full_at
    END
    WHERE bucket.full_at - ${nowUs} NOT BETWEEN CAST($4 AS BIGINT) - $3 + 1 AND $4 + ${maxSkewUs}
    RETURNING full_at - ${nowUs} AS full_us
  )
  SELECT true AS allowed, full_us FROM consumed
  UNION ALL
  SELECT false, full_at - ${nowUs} FROM hosting_limits
    WHERE name = $1 AND key_hash = $2 AND NOT EXISTS (SELECT FROM consumed)`;

/**
 * The token buckets of all instances, over the open PostgreSQL database of a URL. The keys, some of which are addresses
 * of clients, are stored as hashes. Their secret comes from the password of the URL, since one in the database would
 * give the addresses to anyone who reads it. So all instances must have the same password.
 */
export function createLimits(query: Query, url: string) {
  const secret = deriveKey(URL.parse(url)?.password || url, 'hosting_limits', 32) as Promise<Buffer>;
  return {
    /** Consumes a token. `fullUs` is the time until the bucket is full again; all times are in microseconds. */
    async consume(name: string, key: string, { tokenUs, capacityUs }: { tokenUs: number; capacityUs: number }) {
      const keyHash = createHmac('sha256', await secret)
        .update(key)
        .digest('base64url');
      const [row] = await query(consumeSql, [name, keyHash, tokenUs, capacityUs]);
      // Another instance inserted the row first, and its burst is used up.
      if (!row) return { allowed: false, fullUs: capacityUs };
      return { allowed: row['allowed'] === true, fullUs: Number(row['full_us']) };
    },
    async purge(): Promise<void> {
      await query(`DELETE FROM hosting_limits WHERE full_at < ${nowUs}`);
    },
  };
}
