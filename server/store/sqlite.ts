import { closeSync, existsSync, fchownSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { createFolder } from '#common/files.ts';
import pLimit from 'p-limit';
import type { Connection, Database, Dialect, Query, Row, Value } from './database.ts';
import { StoreError, StoreUnreachableError, reasonOf, toSafeNumber } from './database.ts';
import { migrate } from './migrations.ts';

/** How long a call waits for a lock of another process, with the wait for the calls before it. */
const waitMs = 10_000;
/** How often the WAL is written back: a copy of the file alone then lacks at most this much. */
const checkpointMs = 30_000;
/** Calls beyond this number fail at once, so that a lock that is never released does not fill the memory. */
const maxWaiting = 1000;

/** The SQL dialect of SQLite. */
export const sqliteDialect: Dialect = {
  integer: 'INTEGER',
  text: 'TEXT',
  sequence: 'INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT',
  createUnlogged: 'CREATE TABLE',
  tableEnd: ' STRICT',
  findMigrations: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'hosting_migrations'`,
  beginMigration: ['BEGIN IMMEDIATE'],
};

/** Opens a file, which processes may share; a new one is for its owner only. Throws a {@link StoreError}. */
export async function openSqlite(file: string): Promise<Database> {
  const database = await connectSqlite(file);
  try {
    return { ...database, versions: await migrate(database.query, sqliteDialect) };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Opens a file without migrating it; throws a {@link StoreError}. */
export async function connectSqlite(file: string): Promise<Connection> {
  const connection = open(file);
  let identity: string | undefined;
  const assertSame = (): void => {
    if (!connection.isOpen || identity === undefined || readIdentity(file) === identity) return;
    throw new Error('it was deleted or replaced while it was open; put it back, or restart');
  };
  const query = createQuery(connection, file, assertSame);
  const checkpoint = (): void => {
    try {
      assertSame();
      connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Another process reads or writes: the next time is soon enough. The next call reports all else.
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
    // The first read opens the -wal and -shm files, which then stay as long as the connection.
    await query('SELECT COUNT(*) FROM sqlite_schema');
    identity = readIdentity(file);
  } catch (error) {
    await close();
    throw error;
  }
  return { query, close };
}

/** Opens an existing file for reading alone, without leaving -wal and -shm files. Throws a {@link StoreError}. */
export function readSqlite(file: string): Connection {
  const url = pathToFileURL(file);
  // Without a WAL, no other process has it open.
  if (!existsSync(`${file}-wal`)) url.searchParams.set('immutable', '1');
  try {
    const connection = new DatabaseSync(url, { readOnly: true, readBigInts: true, timeout: 0 });
    return { query: createQuery(connection, file), close: async () => connection.close() };
  } catch (error) {
    throw toStoreError(error, file);
  }
}

/** The inodes of the database: once it is replaced, a revocation by another process would have no effect here. */
function readIdentity(file: string): string {
  return ['', '-wal', '-shm']
    .map((end) => statSync(file + end, { throwIfNoEntry: false }))
    .map((found) => (found ? `${found.dev}:${found.ino}` : 'none'))
    .join(' ');
}

function open(file: string): DatabaseSync {
  try {
    createFolder(dirname(file), 0o700);
    createOwnFile(file);
    return new DatabaseSync(file, {
      // SQLite would block the event loop while it waits for a lock.
      timeout: 0,
      enableForeignKeyConstraints: true,
      // Otherwise a number above 2^53 throws an error that quotes it, and does not name the record.
      readBigInts: true,
    });
  } catch (error) {
    throw toStoreError(error, file);
  }
}

/** Creates a file with mode 600, which -wal and -shm files inherit; SQLite would use the umask. */
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

function createQuery(connection: DatabaseSync, file: string, assertSame?: () => void): Query {
  const statements = new Map<string, StatementSync>();
  /** Runs a statement; undefined while another connection holds the lock. */
  const attempt = (sql: string, values: readonly Value[]): Row[] | undefined => {
    try {
      assertSame?.();
      let statement = statements.get(sql);
      if (!statement) {
        statement = connection.prepare(sql);
        statements.set(sql, statement);
      }
      return runNow(statement, values);
    } catch (error) {
      const { errcode = 0 } = error as { errcode?: number };
      // SQLITE_BUSY or SQLITE_LOCKED, the low byte of the extended code.
      if ([5, 6].includes(errcode & 0xff)) return undefined;
      throw toStoreError(error, file);
    }
  };
  const runWhenFree = async (sql: string, values: readonly Value[], deadline: number): Promise<Row[]> => {
    for (;;) {
      const rows = attempt(sql, values);
      if (rows) return rows;
      if (performance.now() > deadline) throw toStoreError(new Error('database is locked'), file);
      // Random, so that waiting processes do not retry at the same time.
      await delay(5 + Math.random() * 20);
    }
  };
  // Only the first waiting call tries again, so the cost does not grow with their number.
  const queue = pLimit(1);
  return async (sql, values = []) => {
    const deadline = performance.now() + waitMs;
    // In WAL mode a read does not wait for writes.
    const rows = sql.startsWith('SELECT ') ? attempt(sql, values) : undefined;
    if (rows) return rows;
    if (queue.pendingCount >= maxWaiting) throw toStoreError(new Error('too many calls wait for its lock'), file);
    return queue(runWhenFree, sql, values, deadline);
  };
}

const toValue = (value: unknown): unknown => (typeof value === 'bigint' ? toSafeNumber(value) : value);

/** Runs a statement, in which `$1` is the name of a parameter. Throws the error of SQLite. */
export function runNow(statement: StatementSync, values: readonly Value[] = []): Row[] {
  const rows = statement.all(Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value])));
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toValue(value)])));
}

/** SQLite's messages name tables and columns, never what is in them. */
function toStoreError(error: unknown, file: string): StoreError {
  const { errcode = 0 } = error as { errcode?: number };
  const text = `the database ${file} cannot be used: ${reasonOf(error)}`;
  // SQLITE_ERROR, _CONSTRAINT, _MISMATCH and _RANGE: the database works, but the statement does not fit its tables.
  return [1, 19, 20, 25].includes(errcode & 0xff) ? new StoreError(text) : new StoreUnreachableError(text);
}
