import { createHmac, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { Client, Pool, types } from 'pg';
import type { ClientConfig } from 'pg';
import type { Database, Dialect, Query } from './database.ts';
import { StoreError, StoreUnreachableError, toSafeNumber } from './database.ts';
import { migrate } from './migrations.ts';

const connections = 8;
const connectMs = 5000;
const statementMs = 5000;
const migrationMs = 60_000;
/** After this time beyond the timeout of a statement, the connection counts as lost. */
const networkMs = 2000;

// Otherwise `pg` returns BIGINT as text.
types.setTypeParser(types.builtins.INT8, toSafeNumber);

export const postgresDialect: Dialect = {
  integer: 'BIGINT',
  // The same order of text in all databases, independent of their locale.
  text: 'TEXT COLLATE "C"',
  sequence: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  createUnlogged: 'CREATE UNLOGGED TABLE',
  tableEnd: '',
  findMigrations: `SELECT 1 WHERE to_regclass('hosting_migrations') IS NOT NULL`,
  // An arbitrary lock number, unlikely in other programs: "hosting" in ASCII.
  beginMigration: ['BEGIN ISOLATION LEVEL READ COMMITTED', 'SELECT pg_advisory_xact_lock(29395939242896999)'],
};

/** Opens a PostgreSQL database for any number of instances. Throws a {@link StoreError} without parts of the URL. */
export async function openPostgres(url: string): Promise<Database> {
  // On a separate connection: the transaction may wait long for another instance.
  const versions = await withConnection(url, (query) => migrate(query, postgresDialect));
  const pool = new Pool({ ...settings(url, statementMs), max: connections, idleTimeoutMillis: 60_000 });
  // Ignore a lost idle connection: the next statement opens another.
  pool.on('error', () => undefined);
  let closed: Promise<void> | undefined;
  return { query: createPostgresQuery(pool), versions, close: () => (closed ??= pool.end()) };
}

/** Runs work on a read-only connection to a database. Throws a {@link StoreError}. */
export async function readPostgres<Result>(url: string, work: (query: Query) => Promise<Result>): Promise<Result> {
  const read = async (query: Query): Promise<Result> => {
    await query('SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY');
    return await work(query);
  };
  return await withConnection(url, read, statementMs);
}

/** Runs work, by default long work, on a dedicated connection, which transactions need. */
export async function withConnection<Result>(
  url: string,
  work: (query: Query) => Promise<Result>,
  timeoutMs = migrationMs,
): Promise<Result> {
  const client = await connect(url, timeoutMs);
  try {
    return await work(createPostgresQuery(client));
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
    throw toPostgresError(error);
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
  };
}

function createPostgresQuery(connection: Pick<Client, 'query'>): Query {
  return async (sql, values = []) => {
    try {
      return (await connection.query<Record<string, unknown>>(sql, [...values])).rows;
    } catch (error) {
      throw toPostgresError(error);
    }
  };
}

/** SQLSTATE classes with safe messages; other messages may quote values, users or hosts. */
const safeClasses = /^(?:25|40|42|53|54|55|57)/;

/** SQLSTATE classes of invalid statements: the database itself works. */
const statementClasses = /^(?:22|23|42)/;

function toPostgresError(error: unknown): StoreError {
  const { code, message } = error as NodeJS.ErrnoException;
  let reason = safeClasses.test(code ?? '') ? `${message} (${code})` : `error ${code}`;
  // Errors of the client are constant texts, but must never quote the URL.
  if (code === undefined) reason = /[/@]/.test(message) ? 'the server cannot be reached' : message;
  else if (!/^(?=.*\d)[0-9A-Z]{5}$/.test(code)) reason = `the server cannot be reached (${code})`;
  else if (code.startsWith('28')) reason = `the server refuses the user or the password (${code})`;
  else if (code.startsWith('3D')) reason = `the server does not have this database (${code})`;
  const Kind = statementClasses.test(code ?? '') ? StoreError : StoreUnreachableError;
  return new Kind(`the PostgreSQL database cannot be used: ${reason}`);
}

/** Slow on purpose: a known address and its hash must not help in guessing the password. */
const deriveKey = promisify(scrypt);

/** The clock of the database, read at each use: a statement may wait for the row. */
const nowUs = 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)';

/** A bucket further from full than its capacity and this time is a relic of a clock that was set back. */
const maxSkewUs = 60_000_000;

/** Generic cell rate algorithm in a statement on one row: instances count in turn. A refusal changes nothing. */
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
 * Creates token buckets shared by all instances. Keys, such as addresses of clients, are stored as hashes. The secret of
 * the hash comes from the password of the URL, not from the database, whose readers could reveal the addresses. All
 * instances must have the same password.
 */
export function createLimits(query: Query, url: string) {
  const secret = deriveKey(URL.parse(url)?.password || url, 'hosting_limits', 32) as Promise<Buffer>;
  return {
    /** Consumes a token. `fullUs` is the time in microseconds until the bucket is full. */
    async consume(name: string, key: string, { tokenUs, capacityUs }: { tokenUs: number; capacityUs: number }) {
      const keyHash = createHmac('sha256', await secret)
        .update(key)
        .digest('base64url');
      const [row] = await query(consumeSql, [name, keyHash, tokenUs, capacityUs]);
      // Another instance inserted the row first and used up the burst.
      if (!row) return { allowed: false, fullUs: capacityUs };
      return { allowed: row['allowed'] === true, fullUs: Number(row['full_us']) };
    },
    async purge(): Promise<void> {
      await query(`DELETE FROM hosting_limits WHERE full_at < ${nowUs}`);
    },
  };
}
