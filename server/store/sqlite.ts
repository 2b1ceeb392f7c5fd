import { closeSync, existsSync, fchownSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { createFolder } from '#common/folder.ts';
import type { Database, Dialect, Query, Row } from './database.ts';
import { StoreError } from './error.ts';
import { migrate } from './migrations.ts';

/** SQLite blocks the event loop while it waits for a lock, so it waits only this long; the rest is asynchronous. */
const blockingWaitMs = 25;
const waitMs = 10_000;

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

/**
 * Opens a database file, which several processes of one machine may share. A missing file or folder is created with access
 * for its owner only. Throws a {@link StoreError}.
 */
export async function openSqlite(file: string): Promise<Database> {
  const database = await connectSqlite(file);
  try {
    await migrate(database.query, sqliteDialect);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** Opens a file without migrating it; throws a {@link StoreError}. */
export async function connectSqlite(file: string): Promise<Database> {
  const connection = open(file);
  const query = createQuery(connection, file);
  const close = (): Promise<void> => {
    if (connection.isOpen) connection.close();
    return Promise.resolve();
  };
  try {
    await query('PRAGMA journal_mode = WAL');
    await query('PRAGMA synchronous = FULL');
  } catch (error) {
    await close();
    throw error;
  }
  return { query, close };
}

function open(file: string): DatabaseSync {
  try {
    createFolder(dirname(file), 0o700);
    createFile(file);
    return new DatabaseSync(file, {
      timeout: blockingWaitMs,
      enableForeignKeyConstraints: true,
      // Otherwise a number above 2^53 throws an error that quotes it, and does not name the record.
      readBigInts: true,
    });
  } catch (error) {
    throw toStoreError(error, file);
  }
}

/** Creates the file with mode 600, which -wal and -shm files inherit; SQLite would use the umask. */
function createFile(file: string): void {
  const isNew = !existsSync(file);
  const descriptor = openSync(file, 'a', 0o600);
  if (isNew && process.getuid?.() === 0) {
    // A command run by root must not lock out the server, which runs as the owner of the folder.
    const { uid, gid } = statSync(dirname(file));
    fchownSync(descriptor, uid, gid);
  }
  closeSync(descriptor);
}

function createQuery(connection: DatabaseSync, file: string): Query {
  const statements = new Map<string, StatementSync>();
  const run: (...parameters: Parameters<Query>) => Row[] = (sql, values = []) => {
    let statement = statements.get(sql);
    if (!statement) statements.set(sql, (statement = connection.prepare(sql)));
    return statement.all(Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value]))).map(toRow);
  };
  return async (sql, values) => {
    const deadline = performance.now() + waitMs;
    for (;;) {
      try {
        return run(sql, values);
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw toStoreError(error, file);
      }
      // Random, so that waiting processes do not retry at the same time.
      await delay(5 + Math.random() * 20);
    }
  };
}

function toRow(record: Record<string, unknown>): Row {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name,
      typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value,
    ]),
  );
}

/** Whether another connection holds the lock: SQLITE_BUSY or SQLITE_LOCKED, the low byte of the extended code. */
function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: number }).errcode;
  return code !== undefined && [5, 6].includes(code & 0xff);
}

/** SQLite's messages name tables and columns, never what is in them. */
function toStoreError(error: unknown, file: string): StoreError {
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === undefined || code.startsWith('ERR_') ? message : code;
  return new StoreError(`the database ${file} cannot be used: ${reason}`);
}
