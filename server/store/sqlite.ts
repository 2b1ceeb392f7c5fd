import { closeSync, existsSync, fchownSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { createFolder } from '#common/files.ts';
import pLimit from 'p-limit';
import { createLru } from '../lru.ts';
import type { Connection, Database, Dialect, Query, Row, StoreFault, Value } from './database.ts';
import { StoreError, reasonOf, toSafeNumber } from './database.ts';
import { migrate } from './migrations.ts';

/** The maximum wait of a call for the lock of another process, including the calls before it. */
const lockWaitMs = 10_000;
/** The interval of checkpoints: a copy without the WAL lacks at most this much. */
const checkpointMs = 30_000;
/** Fail further calls at once: a lock that is never released must not fill the memory. */
const maxWaiting = 1000;

export const sqliteDialect: Dialect = {
  integer: 'INTEGER',
  text: 'TEXT',
  sequence: 'INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT',
  createUnlogged: 'CREATE TABLE',
  tableEnd: ' STRICT',
  findMigrations: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'hosting_migrations'`,
  beginMigration: ['BEGIN IMMEDIATE'],
  // Committed: SQLite rolls a write back without having needed room.
  needRoom: [
    'PRAGMA wal_checkpoint(TRUNCATE)',
    `INSERT OR REPLACE INTO hosting_idempotency (api_key_id, idempotency_key, fingerprint, begun_at, deadline, body)
      VALUES ('', '', '', 0, 0, hex(randomblob(4096)))`,
    `DELETE FROM hosting_idempotency WHERE api_key_id = ''`,
  ],
};

/** Opens a file, which processes may share; a new file is for its owner only. Throws a {@link StoreError}. */
export async function openSqlite(file: string): Promise<Database> {
  const database = await connectSqlite(file);
  try {
    return { ...database, dialect: sqliteDialect, versions: await migrate(database.query, sqliteDialect) };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Opens a file without migrating it. Throws a {@link StoreError}. */
export async function connectSqlite(file: string): Promise<Connection> {
  const connection = openFile(file);
  let identity: string | undefined;
  const assertSame = (): void => {
    if (!connection.isOpen || identity === undefined || readIdentity(file) === identity) return;
    throw new Error('the file was deleted or replaced while open; restore the file, or restart');
  };
  const query = createSqliteQuery(connection, file, assertSame);
  const checkpoint = (): void => {
    try {
      assertSame();
      connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Another process reads or writes: the next checkpoint is soon enough. Other errors recur at the next call.
    }
  };
  const timer = setInterval(checkpoint, checkpointMs).unref();
  const close = async (): Promise<void> => {
    clearInterval(timer);
    if (connection.isOpen) connection.close();
  };
  try {
    await query('PRAGMA journal_mode = WAL');
    await query('PRAGMA synchronous = FULL');
    // The first read opens the -wal and -shm files, which exist as long as the connection.
    await query('SELECT COUNT(*) FROM sqlite_schema');
    identity = readIdentity(file);
  } catch (error) {
    await close();
    throw error;
  }
  return { query, close };
}

/** Opens an existing file read-only, without leaving -wal and -shm files. Throws a {@link StoreError}. */
export function readSqlite(file: string): Connection {
  const url = pathToFileURL(file);
  // Without a WAL, no other process has the file open.
  if (!existsSync(`${file}-wal`)) url.searchParams.set('immutable', '1');
  try {
    const connection = new DatabaseSync(url, { readOnly: true, readBigInts: true, timeout: 0 });
    return { query: createSqliteQuery(connection, file), close: async () => connection.close() };
  } catch (error) {
    throw toSqliteError(error, file);
  }
}

/** If the file is replaced while open, we would keep reading the old inode and miss revocations. */
function readIdentity(file: string): string {
  return ['', '-wal', '-shm']
    .map((suffix) => statSync(file + suffix, { throwIfNoEntry: false }))
    .map((found) => (found ? `${found.dev}:${found.ino}` : 'none'))
    .join(' ');
}

function openFile(file: string): DatabaseSync {
  try {
    createFolder(dirname(file), 0o700);
    createOwnFile(file);
    return new DatabaseSync(file, {
      // SQLite would block the event loop while waiting for a lock.
      timeout: 0,
      enableForeignKeyConstraints: true,
      // Otherwise a number above 2^53 throws an error that quotes the number and omits the record.
      readBigInts: true,
    });
  } catch (error) {
    throw toSqliteError(error, file);
  }
}

/** Creates a file with mode 600, inherited by its -wal and -shm files; SQLite would use the umask. */
export function createOwnFile(file: string): void {
  const isNew = !existsSync(file);
  const descriptor = openSync(file, 'a', 0o600);
  if (isNew && process.getuid?.() === 0) {
    // A command run by root must not lock out the server, which runs as the owner of the folder.
    const { uid, gid } = statSync(dirname(file));
    fchownSync(descriptor, uid, gid);
  }
  closeSync(descriptor);
}

function createSqliteQuery(connection: DatabaseSync, file: string, assertSame?: () => void): Query {
  const statements = createLru<string, StatementSync>(1000, { memoMethod: (sql) => connection.prepare(sql) });
  /** Runs a statement; undefined while another connection holds the lock. */
  const attempt = (sql: string, values: readonly Value[]): Row[] | undefined => {
    try {
      assertSame?.();
      return runNow(statements.memo(sql), values);
    } catch (error) {
      const { errcode = 0 } = error as { errcode?: number };
      // SQLITE_BUSY or SQLITE_LOCKED, the low byte of the extended code.
      if ([5, 6].includes(errcode & 0xff)) return undefined;
      throw toSqliteError(error, file);
    }
  };
  const runWhenFree = async (sql: string, values: readonly Value[], deadline: number): Promise<Row[]> => {
    for (;;) {
      const rows = attempt(sql, values);
      if (rows) return rows;
      if (performance.now() > deadline) throw toSqliteError(new Error('database is locked'), file, 'no_writes');
      // Random: waiting processes must not retry at the same time.
      await delay(5 + Math.random() * 20);
    }
  };
  // Only the first waiting call retries: the cost does not grow with the number of calls.
  const queue = pLimit(1);
  return async (sql, values = []) => {
    const deadline = performance.now() + lockWaitMs;
    // In WAL mode a read does not wait for writes.
    const rows = sql.startsWith('SELECT ') ? attempt(sql, values) : undefined;
    if (rows) return rows;
    if (queue.pendingCount >= maxWaiting)
      throw toSqliteError(new Error('too many calls wait for the lock'), file, 'no_writes');
    return queue(runWhenFree, sql, values, deadline);
  };
}

const toValue = (value: unknown): unknown => (typeof value === 'bigint' ? toSafeNumber(value) : value);

/** Runs a statement with parameters `$1`, `$2`. Throws the error of SQLite. */
export function runNow(statement: StatementSync, values: readonly Value[] = []): Row[] {
  const rows = statement.all(Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value])));
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toValue(value)])));
}

/** The faults by result code of SQLite: CONSTRAINT_UNIQUE; ERROR, CONSTRAINT, MISMATCH and RANGE; READONLY, IOERR and FULL. */
const faults = new Map<number, StoreFault>([
  [2067, 'duplicate'],
  ...[1, 19, 20, 25].map((code) => [code, 'statement'] as const),
  ...[8, 10, 13].map((code) => [code, 'no_writes'] as const),
]);

/** Converts an error of SQLite, whose messages contain names of tables and columns, never values. */
function toSqliteError(error: unknown, file: string, fault?: StoreFault): StoreError {
  const { errcode = 0 } = error as { errcode?: number };
  const text = `the database ${file} cannot be used: ${reasonOf(error)}`;
  return new StoreError(text, fault ?? faults.get(errcode) ?? faults.get(errcode & 0xff) ?? 'lost');
}
