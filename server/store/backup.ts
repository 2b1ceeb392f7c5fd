import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, linkSync, lstatSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import type { Environment } from '#common/environment.ts';
import { createFolder } from '#common/files.ts';
import { StoreError } from './database.ts';
import type { Query, Row } from './database.ts';
import { migrate, migrations, readVersion } from './migrations.ts';
import { openPostgres, postgresDialect, withConnection } from './postgres.ts';
import { createOwnFile, openSqlite, sqliteDialect } from './sqlite.ts';

/** The files of a SQLite database that is in use. */
const ends = ['', '-wal', '-shm'];

/** Turns a reason into the error of a command. */
type Refuse = (reason: string) => StoreError;

/** The database of a service: its file, or the URL of PostgreSQL, whose programs get the environment too. */
export interface Place {
  readonly file: string;
  readonly url: string | undefined;
  readonly environment: Environment;
}

/** Copies the database, as it is at one moment, to a new file for its owner only. Throws a {@link StoreError}. */
export async function backUp(place: Place, to: string): Promise<void> {
  if (place.url === undefined && !existsSync(place.file)) throw new StoreError(`there is no database ${place.file}`);
  if (existsSync(to)) throw new StoreError(`${to} exists: name a new file`);
  const refuse: Refuse = (reason) => new StoreError(`${to} cannot be written: ${reason}`);
  if (place.url === undefined) return await copyDatabase(place.file, to, refuse);
  await createWhole(to, refuse, async (temporary) => {
    const options = ['--format=custom', '--table=hosting_*', '--lock-wait-timeout=30000', `--file=${temporary}`];
    await runPostgres('pg_dump', options, place);
  });
}

/** Restores a backup; returns imported tables. Throws a {@link StoreError} for one that is damaged, newer or forged. */
export async function restore(from: string, place: Place): Promise<ImportedTable[]> {
  const kind = kindOfBackup(from);
  if (place.url !== undefined && kind === 'SQLite') return await importSqlite(from, place.url);
  if (place.url !== undefined) await restorePostgres(from, kind, { ...place, url: place.url });
  else if (kind === 'PostgreSQL') throw new StoreError(`${from} is a backup of PostgreSQL: set DATABASE_URL`);
  else await restoreSqlite(from, place.file);
  return [];
}

async function restoreSqlite(file: string, database: string): Promise<void> {
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

/** Says of which database a file is a backup, by its first bytes; undefined if of none, or if it cannot be read. */
function kindOfBackup(file: string): 'SQLite' | 'PostgreSQL' | undefined {
  try {
    if (!statSync(file).isFile()) return undefined;
    const descriptor = openSync(file, 'r');
    try {
      const start = Buffer.alloc(16);
      readSync(descriptor, start);
      if (start.toString('latin1') === 'SQLite format 3\0') return 'SQLite';
      return start.toString('latin1').startsWith('PGDMP') ? 'PostgreSQL' : undefined;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}

/** Copies a database, and checks the copy before it gets its name. */
async function copyDatabase(
  from: string,
  to: string,
  refuse: Refuse,
  check: (copy: DatabaseSync) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  await createWhole(to, refuse, async (temporary) => {
    using source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
    // VACUUM INTO accepts an empty file, and keeps its mode.
    source.prepare('VACUUM INTO ?').run(temporary);
    using copy = new DatabaseSync(temporary);
    const [result] = copy.prepare('PRAGMA integrity_check(1)').all();
    if (result?.['integrity_check'] !== 'ok') throw refuse('it is damaged');
    if (copy.prepare(sqliteDialect.findMigrations).all().length === 0) {
      throw refuse('it is not a store of this program');
    }
    await check(copy);
  });
}

/** Writes a file for its owner only under a temporary name, and only then gives it its name. */
async function createWhole(to: string, refuse: Refuse, write: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${to}.${randomUUID()}.tmp`;
  try {
    createOwnFile(temporary);
    await write(temporary);
    // Unlike a rename, it fails if the file exists by now.
    linkSync(temporary, to);
  } catch (error) {
    throw toStoreError(error, refuse);
  } finally {
    for (const end of ends) rmSync(temporary + end, { force: true });
  }
}

/** Restores a backup of pg_dump into a database without tables of this program, and migrates it to this version. */
async function restorePostgres(file: string, kind: string | undefined, place: Place & { url: string }): Promise<void> {
  const refuse: Refuse = (reason) => new StoreError(`${file} cannot be restored: ${reason}`);
  if (!existsSync(file)) throw refuse('ENOENT');
  if (kind !== 'PostgreSQL') throw refuse('it is neither a backup of SQLite nor one of pg_dump');
  for (const line of (await runPostgres('pg_restore', ['--list', file], place)).split('\n')) {
    // Such as `215; 1259 16386 TABLE public hosting_api_keys owner`.
    const [, entry] = /^\d+; \d+ \d+ (.*)$/.exec(line) ?? [];
    if (entry === undefined || ownEntry.test(entry)) continue;
    throw refuse(`it holds the ${entry}, which this program does not know`);
  }
  const find = String.raw`SELECT tablename AS name FROM pg_tables WHERE tablename LIKE 'hosting\_%' LIMIT 1`;
  const [found] = await withNewDatabase(place.url, (query) => query(find));
  if (found) {
    throw new StoreError(`the PostgreSQL database has tables already (${String(found['name'])}): name an empty one`);
  }
  const options = ['--exit-on-error', '--single-transaction', '--no-owner', '--no-privileges'];
  await runPostgres('pg_restore', [...options, file], place);
  await (await openPostgres(place.url)).close();
}

/** What pg_dump writes of our tables; triggers and functions would run with the rights of the service. */
const ownEntry =
  /^(?:TABLE|TABLE DATA|SEQUENCE|SEQUENCE SET|SEQUENCE OWNED BY|DEFAULT|CONSTRAINT|INDEX|ACL) \S+ (?:TABLE |SEQUENCE )?hosting_\w+ /;

/** Runs work on the database of a URL, which is created if the server does not have it. */
async function withNewDatabase<Result>(url: string, work: (query: Query) => Promise<Result>): Promise<Result> {
  try {
    return await withConnection(url, work);
  } catch (error) {
    if (!(error instanceof StoreError && error.message.endsWith('(3D000)'))) throw error;
  }
  const { hostname: host, port, username, pathname } = new URL(url);
  const [name, owner] = [pathname.slice(1), username].map(decodeURIComponent) as [string, string];
  const server = Object.assign(new URL(url), { pathname: '/postgres' });
  try {
    await withConnection(server.href, (query) => query(`CREATE DATABASE ${quote(name)}`));
  } catch {
    const words = [`--host=${host}`, `--port=${port || 5432}`, '--username=postgres', `--owner=${owner}`, name];
    const quoted = words.map((word) => (/^[\w.:=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`));
    const command = `createdb ${quoted.join(' ')}`;
    throw new StoreError(`the server has no database ${name}, and its user may not create one: run ${command}`);
  }
  return await withConnection(url, work);
}

/** Runs a program of PostgreSQL. The password goes by the environment: every user of the machine can read arguments. */
async function runPostgres(program: 'pg_dump' | 'pg_restore', options: string[], place: Place): Promise<string> {
  const address = new URL(place.url!);
  const password = decodeURIComponent(address.password) || address.searchParams.get('password') || '';
  address.password = '';
  address.search = address.search.replace(/(?<=[?&])password=[^&]*&?/, '');
  const env = { ...place.environment, PGCONNECT_TIMEOUT: '10', ...(password !== '' && { PGPASSWORD: password }) };
  const database = options[0] === '--list' ? [] : [`--dbname=${address.href}`];
  try {
    return (await promisify(execFile)(program, [...options, ...database], { env, maxBuffer: 2 ** 26 })).stdout;
  } catch (error) {
    const { code, stderr = '' } = error as { code?: string | number; stderr?: string };
    if (code === 'ENOENT') throw new StoreError(`${program} is not installed here: apt-get install postgresql-client`);
    const reason = password === '' ? stderr : stderr.replaceAll(password, '***');
    throw new StoreError(reason.trim() || `${program} failed (${code})`);
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

/** The tables with columns, indexes, views and triggers. A forged file has triggers with a name of SQLite, too. */
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

/** The versions, which the target has, the limits, which are full again within an hour, and the health. */
const skipped = new Set(['hosting_migrations', 'hosting_limits', 'hosting_health']);

/** Imports a backup of SQLite into an empty PostgreSQL database: all tables in one transaction, with their ids. */
async function importSqlite(file: string, url: string): Promise<ImportedTable[]> {
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
