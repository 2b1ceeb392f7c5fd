import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, linkSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, backup } from 'node:sqlite';
import { createFolder } from '#common/folder.ts';
import type { Query, Row } from './database.ts';
import { StoreError } from './error.ts';
import { readVersion } from './migrations.ts';
import { createOwnFile, sqliteDialect } from './sqlite.ts';

/** All pages in one step: with several, each write of another process would start the copy again. */
const allPages = 2 ** 31 - 1;

/** The files of a SQLite database that is in use. */
const ends = ['', '-wal', '-shm'];

/**
 * Copies the database of a running service to a new file, as it is at one moment, for its owner only. Throws a
 * {@link StoreError} if the file exists or cannot be written.
 */
export async function backUpSqlite(database: string, file: string): Promise<void> {
  if (!existsSync(database)) throw new StoreError(`there is no database ${database}`);
  if (existsSync(file)) throw new StoreError(`${file} exists: name a new file`);
  await copyDatabase(database, file, (reason) => new StoreError(`${file} cannot be written: ${reason}`));
}

/**
 * Copies a backup to where the database of the service belongs. Throws a {@link StoreError} if there is one, or if the
 * backup is damaged or of a version that this program cannot use.
 */
export async function restoreSqlite(file: string, database: string): Promise<void> {
  const taken = ends.map((end) => database + end).find((path) => existsSync(path));
  if (taken !== undefined) {
    throw new StoreError(`${taken} exists: stop the server, and move the old database with its -wal and -shm away`);
  }
  const refuse = (reason: string): StoreError => new StoreError(`${file} cannot be restored: ${reason}`);
  try {
    if (statSync(file).isDirectory()) throw refuse('EISDIR');
    createFolder(dirname(database), 0o700);
  } catch (error) {
    throw toStoreError(error, refuse);
  }
  // A backup may have any version, but this program must be able to use what it restores.
  await copyDatabase(file, database, refuse, (query) => readVersion(query));
}

/** Whether a file is a SQLite database, such as a backup of one. */
export function isSqlite(file: string): boolean {
  const magic = Buffer.from('SQLite format 3\0');
  try {
    const descriptor = openSync(file, 'r');
    try {
      const start = Buffer.alloc(magic.length);
      readSync(descriptor, start);
      return start.equals(magic);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return false;
  }
}

/** Copies a database under a temporary name, checks the copy, and only then gives it its name. */
async function copyDatabase(
  from: string,
  to: string,
  refuse: (reason: string) => StoreError,
  check: (query: Query) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const temporary = `${to}.${randomUUID()}.tmp`;
  try {
    createOwnFile(temporary);
    using source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
    await backup(source, temporary, { rate: allPages });
    await finishCopy(temporary, refuse, check);
    // Unlike a rename, it fails if the file exists by now.
    linkSync(temporary, to);
  } catch (error) {
    throw toStoreError(error, refuse);
  } finally {
    for (const end of ends) rmSync(temporary + end, { force: true });
  }
}

/** Checks that a copy is whole, and makes it a single file without a WAL. */
async function finishCopy(
  file: string,
  refuse: (reason: string) => StoreError,
  check: (query: Query) => Promise<unknown>,
): Promise<void> {
  using copy = new DatabaseSync(file);
  const query: Query = (sql) => Promise.resolve(copy.prepare(sql).all() as Row[]);
  const [result] = await query('PRAGMA integrity_check(1)');
  if (result?.['integrity_check'] !== 'ok') throw refuse('it is damaged');
  if ((await query(sqliteDialect.findMigrations)).length === 0) throw refuse('it is not a store of this program');
  await check(query);
  await query('PRAGMA journal_mode = DELETE');
}

function toStoreError(error: unknown, refuse: (reason: string) => StoreError): StoreError {
  if (error instanceof StoreError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return refuse(code === undefined || code.startsWith('ERR_') ? message : code);
}
