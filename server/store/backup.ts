import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, linkSync, lstatSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createFolder } from '#common/folder.ts';
import { StoreError } from './database.ts';
import type { Query, Row } from './database.ts';
import { migrate, migrations, readVersion } from './migrations.ts';
import { openPostgres, postgresDialect, withConnection } from './postgres.ts';
import { createOwnFile, openSqlite, sqliteDialect } from './sqlite.ts';

/** The files of a SQLite database that is in use. */
const ends = ['', '-wal', '-shm'];

/** Turns a reason into the error of a command. */
type Refuse = (reason: string) => StoreError;

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
 * backup is damaged, of a version that this program cannot use, or holds what this program never wrote.
 */
export async function restoreSqlite(file: string, database: string): Promise<void> {
  const taken = ends.map((end) => database + end).find((path) => existsSync(path));
  if (taken !== undefined) {
    throw new StoreError(`${taken} exists: stop the server, and move the old database with its -wal and -shm away`);
  }
  const refuse: Refuse = (reason) => new StoreError(`${file} cannot be restored: ${reason}`);
  try {
    const found = lstatSync(file);
    if (found.isDirectory()) throw refuse('EISDIR');
    // Reading a FIFO would wait for its writer, and a link leads to where its maker wants.
    if (!found.isFile()) throw refuse('it is not a regular file');
    createFolder(dirname(database), 0o700);
  } catch (error) {
    throw toStoreError(error, refuse);
  }
  await copyDatabase(file, database, refuse, (copy) => assertOwnSchema(copy, refuse));
}

/** Whether a file is a SQLite database, such as a backup of one. */
export function isSqlite(file: string): boolean {
  const magic = Buffer.from('SQLite format 3\0');
  try {
    if (!statSync(file).isFile()) return false;
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
  refuse: Refuse,
  check: (copy: DatabaseSync) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const temporary = `${to}.${randomUUID()}.tmp`;
  try {
    // VACUUM INTO accepts an empty file, and keeps its mode.
    createOwnFile(temporary);
    using source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
    source.prepare('VACUUM INTO ?').run(temporary);
    using copy = new DatabaseSync(temporary);
    const [result] = copy.prepare('PRAGMA integrity_check(1)').all();
    if (result?.['integrity_check'] !== 'ok') throw refuse('it is damaged');
    if (copy.prepare(sqliteDialect.findMigrations).all().length === 0) {
      throw refuse('it is not a store of this program');
    }
    await check(copy);
    copy.close();
    // Unlike a rename, it fails if the file exists by now.
    linkSync(temporary, to);
  } catch (error) {
    throw toStoreError(error, refuse);
  } finally {
    for (const end of ends) rmSync(temporary + end, { force: true });
  }
}

function toStoreError(error: unknown, refuse: Refuse): StoreError {
  if (error instanceof StoreError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return refuse(code === undefined || code.startsWith('ERR_') ? message : code);
}

/**
 * Checks that this program can use a copy, and that it holds what the program's own migrations create: a trigger, or a
 * table with a name that is SQL, would run with the rights of the service. What a newer version added is not known.
 */
async function assertOwnSchema(copy: DatabaseSync, refuse: Refuse): Promise<void> {
  const version = await readVersion(queryOf(copy));
  if (version > migrations.length) return;
  using own = new DatabaseSync(':memory:');
  await migrate(queryOf(own), sqliteDialect, migrations.slice(0, version));
  const [expected, found] = [new Set(readSchema(own)), new Set(readSchema(copy))];
  for (const part of found.difference(expected)) throw refuse(`it holds the ${part}, which this program does not know`);
  for (const part of expected.difference(found)) throw refuse(`it lacks the ${part}`);
}

/** The tables with their columns, the indexes, views and triggers. A forged file has triggers with a name of SQLite, too. */
function readSchema(database: DatabaseSync): string[] {
  const rows = database
    .prepare(
      `SELECT part.type || ' ' || part.name || COALESCE('.' || field.name, '') AS name FROM sqlite_schema AS part
        LEFT JOIN pragma_table_xinfo(part.name) AS field ON part.type = 'table'
        WHERE NOT (part.type IN ('table', 'index') AND part.name LIKE 'sqlite!_%' ESCAPE '!')`,
    )
    .all();
  return rows.map(({ name }) => JSON.stringify(name).slice(1, -1));
}

function queryOf(database: DatabaseSync): Query {
  return (sql, values = []) => {
    const named = Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value]));
    return Promise.resolve(database.prepare(sql).all(named) as Row[]);
  };
}

/** The number of records that were imported into a table. */
export interface ImportedTable {
  readonly table: string;
  readonly records: number;
}

/** Records of one statement: few enough to end within its timeout. */
const batchSize = 1000;

/** The versions, which the target has already, limits, which are used up or full again within an hour, and the health. */
const skipped = new Set(['hosting_migrations', 'hosting_limits', 'hosting_health']);

/**
 * Imports a backup of SQLite into the empty PostgreSQL database of a URL: all tables in one transaction, with their ids.
 * Throws a {@link StoreError} if the backup is damaged, or if the database holds records.
 */
export async function importSqlite(file: string, url: string): Promise<ImportedTable[]> {
  const folder = mkdtempSync(join(tmpdir(), 'hosting-api-'));
  try {
    const copy = join(folder, 'hosting.sqlite');
    await restoreSqlite(file, copy);
    // A backup of an older version is migrated before it is read; the file itself stays as it is.
    const own = await openSqlite(copy);
    await own.close();
    const target = await openPostgres(url);
    await target.close();
    if (target.versions.to !== own.versions.to) {
      throw new StoreError(
        `the tables of the backup have version ${own.versions.to}, those of the database ${target.versions.to}: ` +
          'use the newer program for both',
      );
    }
    using source = new DatabaseSync(copy, { readOnly: true });
    return await withConnection(url, (query) => copyTables(source, query));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function copyTables(source: DatabaseSync, query: Query): Promise<ImportedTable[]> {
  // The schema was compared with the program's own, so each name here is one of ours.
  const tables = source
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'hosting!_%' ESCAPE '!' ORDER BY name`)
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !skipped.has(name));
  for (const statement of postgresDialect.beginMigration) await query(statement);
  try {
    // A server that runs already must not write between the check and the end.
    await query(`LOCK TABLE ${tables.map(quote).join(', ')} IN EXCLUSIVE MODE`);
    for (const table of tables) {
      if ((await query(`SELECT 1 FROM ${quote(table)} LIMIT 1`)).length === 0) continue;
      throw new StoreError(`the PostgreSQL database holds records already (in ${table}): name an empty one`);
    }
    const imported: ImportedTable[] = [];
    for (const table of tables) imported.push({ table, records: await copyTable(source, query, table) });
    // The ids go on where they were, also after the newest records were removed.
    for (const { name, seq } of source.prepare('SELECT name, seq FROM sqlite_sequence WHERE seq > 0').all()) {
      if (tables.includes(String(name))) {
        await query(`SELECT setval(pg_get_serial_sequence($1, 'id'), $2)`, [String(name), Number(seq)]);
      }
    }
    await query('COMMIT');
    return imported;
  } catch (error) {
    await query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function copyTable(source: DatabaseSync, query: Query, table: string): Promise<number> {
  const statement = source.prepare(`SELECT * FROM ${quote(table)} ORDER BY rowid`);
  const columns = statement.columns().map(({ name }) => quote(name));
  // The ids stay: customers have positions in their activity that are made of them.
  const insert = `INSERT INTO ${quote(table)} (${columns.join(', ')}) OVERRIDING SYSTEM VALUE
    SELECT ${columns.join(', ')} FROM json_populate_recordset(NULL::${quote(table)}, $1)`;
  let records = 0;
  let batch: unknown[] = [];
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await query(insert, [JSON.stringify(batch)]);
    records += batch.length;
    batch = [];
  };
  for (const row of statement.iterate()) {
    batch.push(row);
    if (batch.length === batchSize) await flush();
  }
  await flush();
  return records;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
