import { createHmac, scrypt } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTo } from 'node:net';
import { unescape } from 'node:querystring';
import { promisify } from 'node:util';
import { Client, Pool, types } from 'pg';
import type { ClientBase, ClientConfig, PoolClient, QueryConfig } from 'pg';
import type { Database, Dialect, Query, Row, StoreFault, Value } from './database.ts';
import { StoreError, attributes, retryConflicts, toHostUrls, toSafeNumber } from './database.ts';
import { migrate } from './migrations.ts';

const connectMs = 5000;
/** The time limits of a host that is asked whether it takes writes: for the connection, and for the answer. */
const hostMs = 1000;
export const statementMs = 5000;
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
  // A single statement: a pooler may use another connection for the next one.
  needRoom: [
    `DO $$ BEGIN
      INSERT INTO hosting_idempotency (api_key_id, idempotency_key, fingerprint, begun_at, deadline, body)
        SELECT '', '', '', 0, 0, encode(decode(string_agg(md5(random()::text), ''), 'hex'), 'base64')
        FROM generate_series(1, 512);
      RAISE EXCEPTION USING ERRCODE = 'HA000';
    EXCEPTION WHEN SQLSTATE 'HA000' THEN NULL;
    END $$`,
  ],
};

/** Opens a PostgreSQL database for any number of instances. Throws a {@link StoreError} without parts of the URL. */
export async function openPostgres(url: string, connections: number = 1): Promise<Database> {
  // On a separate connection: the transaction may wait long for another instance.
  const versions = await withConnection(url, (query) => migrate(query, postgresDialect));
  const onConnect = (client: ClientBase): unknown => {
    // The call of a lost connection fails, too.
    client.on('error', () => undefined);
    return takesWrites(client, url);
  };
  let host: string | undefined;
  const openPool = async (): Promise<Pool> => {
    host = await findHost(url, host);
    const options = { ...settings(host, statementMs), max: connections, idleTimeoutMillis: 60_000, onConnect };
    // A connection that is lost between calls: the next call opens another.
    return new Pool(options).on('error', () => undefined);
  };
  let pool: Promise<Pool> | undefined;
  let isClosed = false;
  /** Closes idle connections now, and busy ones after their call: after a failover, the next call finds the host. */
  const closePool = async (old = pool): Promise<void> => {
    if (pool === old) pool = undefined;
    await old?.then((each) => (each.ending ? undefined : each.end())).catch(() => undefined);
  };
  /** Runs a statement; again if the host became a standby and no statement was sent. */
  const query = async (sql: string, values?: readonly Value[], isSecond = false): Promise<Row[]> => {
    if (isClosed) throw toPostgresError(new Error('the connections are closed'), url);
    const current = (pool ??= openPool());
    let client: PoolClient | undefined;
    let failure: StoreError | undefined;
    try {
      client = await (await current).connect();
      return await createPostgresQuery(client, url, statementMs)(sql, values);
    } catch (error) {
      failure = error instanceof StoreError ? error : toPostgresError(error, url);
      if (['lost', 'no_writes'].includes(failure.fault)) void closePool(current);
      if (client || isSecond || failure.fault !== 'lost' || !mustTakeWrites(url)) throw failure;
      return await query(sql, values, true);
    } finally {
      client?.release(failure !== undefined);
    }
  };
  return {
    query: (sql, values) => retryConflicts(() => query(sql, values)),
    versions,
    async close() {
      isClosed = true;
      await closePool();
    },
    dialect: postgresDialect,
  };
}

/** Runs work, by default long work, on a dedicated connection, which transactions need. */
export async function withConnection<Result>(
  url: string,
  work: (query: Query) => Promise<Result>,
  timeoutMs = migrationMs,
): Promise<Result> {
  const client = await connect(await findHost(url), timeoutMs);
  try {
    return await work(createPostgresQuery(client, url, timeoutMs));
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function connect(url: string, timeoutMs: number, connectionTimeoutMillis: number = connectMs): Promise<Client> {
  try {
    const client = new Client({ ...settings(url, timeoutMs), connectionTimeoutMillis });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  } catch (error) {
    throw toPostgresError(error, url);
  }
}

/** Returns true if the URL has several hosts, or asks for a host that takes writes. */
const mustTakeWrites = (url: string): boolean => url.includes(`${attributes}=`) || toHostUrls(url).length > 1;

/** Asks a host whether it takes writes. Throws for a standby: keys may be revoked on the primary already. */
async function takesWrites(client: ClientBase, url: string): Promise<boolean> {
  if (!mustTakeWrites(url)) return true;
  const text = `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS read_only`;
  const { rows } = await client.query<Record<string, unknown>>({ text, query_timeout: hostMs } as QueryConfig);
  if (rows[0]!['standby'] === true) throw new StoreError(`${prefix}a standby, which takes no writes`, 'lost');
  return rows[0]!['read_only'] === 'off';
}

/** Finds the host that takes writes, beginning with the last one; else one that is no standby. Returns its URL. */
async function findHost(url: string, last?: string): Promise<string> {
  if (!mustTakeWrites(url)) return url;
  if (url.includes(`${attributes}=any`))
    throw new StoreError(`${prefix}${attributes}=any is for store backup alone`, 'lost');
  const urls = toHostUrls(url);
  const failures: string[] = [];
  let readOnly: string | undefined;
  for (const host of new Set([last ?? urls[0], ...urls])) {
    try {
      const client = await connect(host, statementMs, hostMs);
      if (await takesWrites(client, url).finally(() => void client.end().catch(() => undefined))) return host;
      readOnly ??= host;
    } catch (error) {
      const { message } = error instanceof StoreError ? error : toPostgresError(error, url);
      failures.push(`${urls.length > 1 ? `host ${urls.indexOf(host) + 1}: ` : ''}${message.slice(prefix.length)}`);
    }
  }
  if (readOnly !== undefined) return readOnly;
  throw new StoreError(prefix + failures.join('; '), 'lost');
}

function settings(url: string, timeoutMs: number): ClientConfig {
  return {
    connectionString: url,
    fallback_application_name: 'hosting-api',
    connectionTimeoutMillis: connectMs,
    query_timeout: timeoutMs + networkMs,
    keepAlive: true,
  };
}

/** Runs statements on a connection. Sets no session state: a pooler would refuse it, or keep it for other clients. */
function createPostgresQuery(connection: ClientBase, url: string, timeoutMs: number): Query {
  return async (sql, values = []) => {
    let cancelled: Promise<unknown> | undefined;
    let isConfirmed = true;
    const timer = setTimeout(() => {
      cancelled = cancel(connection);
    }, timeoutMs);
    // After a cancellation, PostgreSQL reports success without the synchronous standby, which may take over.
    const onNotice = ({ routine }: { readonly routine?: string | undefined }): void =>
      void (isConfirmed &&= routine !== 'SyncRepWaitForLSN');
    connection.on('notice', onNotice);
    try {
      const { rows } = await connection.query<Record<string, unknown>>(sql, [...values]);
      if (isConfirmed) return rows;
      throw new StoreError(`${prefix}no synchronous standby confirms the write`, 'lost');
    } catch (error) {
      throw error instanceof StoreError ? error : toPostgresError(error, url);
    } finally {
      clearTimeout(timer);
      connection.off('notice', onNotice);
      // A late cancellation would end the next statement.
      await cancelled;
    }
  };
}

/** Asks the server, over a new connection, to cancel the statement of a connection: it may wait for a lock. */
function cancel(connection: ClientBase): Promise<unknown> {
  // The types of pg omit these.
  type Session = ClientBase & Record<'port' | 'processID' | 'secretKey', number> & { readonly host: string };
  const { host, port, processID, secretKey } = connection as Session;
  const message = Buffer.alloc(16);
  for (const [at, value] of [16, 80_877_102, processID, secretKey].entries()) message.writeInt32BE(value, at * 4);
  const socket = connectTo(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
  socket.setTimeout(networkMs, () => socket.destroy());
  socket.on('error', () => undefined).resume();
  // The server closes the connection once it has acted; PgBouncer drops the request if we close it first.
  socket.write(message);
  return once(socket, 'close');
}

/** SQLSTATE classes with safe messages; other messages may quote values. Poolers use 08 and XX. */
const safeClasses = /^(?:08|25|40|42|53|54|55|57|XX)/;

/** The faults by SQLSTATE; the first match counts. Any other code is a lost connection. */
const faults: readonly (readonly [RegExp, StoreFault])[] = [
  [/^(?:40001|40P01)$/, 'conflict'],
  [/^(?:25006|53100|53200|53400|58...)$/, 'no_writes'],
  [/^(?:42501|53300|55P03|57014)$/, 'refused'],
  [/^23505$/, 'duplicate'],
  [/^(?:22|23|42)/, 'statement'],
];

const prefix = 'the PostgreSQL database cannot be used: ';

function toPostgresError(error: unknown, url: string): StoreError {
  const { code, message } = error as NodeJS.ErrnoException;
  let reason = safeClasses.test(code ?? '') ? `${hideUrl(message, url)} (${code})` : `error ${code}`;
  // Errors of the client are constant texts, but must never quote the URL.
  if (code === undefined) reason = /[/@]/.test(message) ? 'the server cannot be reached' : message;
  else if (!/^(?=.*\d)[0-9A-Z]{5}$/.test(code)) reason = `the server cannot be reached (${code})`;
  else if (code.startsWith('28')) reason = `the server refuses the user or the password (${code})`;
  else if (code.startsWith('3D')) reason = `the server does not have this database (${code})`;
  else if (code === '53300') reason = noConnectionLeft;
  else if (code === '42501' && /schema/.test(message)) reason += createAdvice;
  return new StoreError(prefix + reason, faults.find(([codes]) => codes.test(code ?? ''))?.[1] ?? 'lost');
}

const createAdvice = ': run `npm run store -- migrate` as the owner, or GRANT CREATE ON SCHEMA public TO the user';
const noConnectionLeft =
  'PostgreSQL has no connection left (53300): an instance opens up to DATABASE_CONNECTIONS, 8 by default, a command one';

/** Hides the words of a URL, such as users and databases, which poolers quote. */
function hideUrl(text: string, url: string): string {
  const words = /[\p{L}\p{N}_]+(?:[.-]+[\p{L}\p{N}_]+)*/gu;
  const parts = new Set(unescape(url.replaceAll(/[?&]\w+=/g, ' ')).match(words));
  return text.replaceAll(words, (word) => (parts.has(word) ? '***' : word));
}

/** Slow on purpose: a known address and its hash must not help in guessing the password. */
const deriveKey = promisify(scrypt);

/** The clock of the database, read at each use: a statement may wait for the row. */
const nowUs = 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)';

/** Reads the clock of the database, in ms. */
export async function readClock(query: Query): Promise<number> {
  const [row] = await query(`SELECT ${nowUs} / 1000 AS now`);
  return Number(row?.['now']);
}

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
  const secret = deriveKey(URL.parse(toHostUrls(url)[0])?.password || url, 'hosting_limits', 32) as Promise<Buffer>;
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
