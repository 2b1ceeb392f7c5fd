import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, lstatSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import type { Environment } from '#common/environment.ts';
import { createFolder } from '#common/files.ts';
import { StoreError, reasonOf } from './database.ts';
import type { Query } from './database.ts';
import { inTransaction, migrate, migrations, readSchemaVersion } from './migrations.ts';
import { openPostgres, postgresDialect, withConnection } from './postgres.ts';
import { createOwnFile, openSqlite, runNow, sqliteDialect } from './sqlite.ts';

/** The files of a SQLite database that is in use. */
const ends = ['', '-wal', '-shm'];

/** The database of a service: its file, or the URL of PostgreSQL, whose programs get the environment too. */
export interface Place {
  readonly file: string;
  readonly url: string | undefined;
  readonly environment: Environment;
}

/** Copies the database, as it is at one moment, to a new file for its owner only. Throws a {@link StoreError}. */
export async function backUp({ file, url, environment }: Place, to: string): Promise<void> {
  if (url === undefined && !existsSync(file)) throw new StoreError(`there is no database ${file}`);
  if (existsSync(to)) throw new StoreError(`${to} exists: name a new file`);
  await withReason(`${to} cannot be written`, async () => {
    if (url === undefined) return await copySqlite(file, to);
    await createWhole(to, async (temporary) => {
      const options = ['--format=custom', '--table=hosting_*', '--lock-wait-timeout=30000', `--file=${temporary}`];
      await runPostgres('pg_dump', options, url, environment);
    });
  });
}

/**
 * Restores a backup; returns the imported tables, with the number of their records. Throws a {@link StoreError} for one
 * that is damaged, newer or forged.
 */
export async function restore(from: string, { file, url, environment }: Place) {
  return await withReason(`${from} cannot be restored`, async () => {
    const kind = await readKind(from);
    if (url !== undefined && kind === 'SQLite') return await importSqlite(from, url);
    if (url === undefined && kind === 'PostgreSQL') {
      throw new StoreError(`${from} is a backup of PostgreSQL: set DATABASE_URL`);
    }
    if (url === undefined) await restoreSqlite(from, file);
    else if (kind === 'PostgreSQL') await restorePostgres(from, url, environment);
    else throw new Error('it is neither a backup of SQLite nor one of pg_dump');
    return [];
  });
}

/** Runs some work, whose errors become a {@link StoreError} that begins with what failed. */
async function withReason<Result>(failure: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StoreError ? error : new StoreError(`${failure}: ${reasonOf(error)}`);
  }
}

/** Reads from the first bytes of a file which database it is a backup of; undefined if of none. */
async function readKind(file: string) {
  // Reading a FIFO would wait for its writer.
  if (!statSync(file).isFile()) return undefined;
  await using handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(16));
  const start = buffer.toString('latin1');
  if (start === 'SQLite format 3\0') return 'SQLite';
  return start.startsWith('PGDMP') ? 'PostgreSQL' : undefined;
}

async function restoreSqlite(file: string, database: string): Promise<void> {
  const taken = ends.map((end) => database + end).find((path) => existsSync(path));
  if (taken !== undefined) {
    throw new StoreError(`${taken} exists: stop the server, and move the old database with its -wal and -shm away`);
  }
  // A link leads to where its maker wants.
  const found = lstatSync(file);
  if (!found.isFile()) throw new Error(found.isDirectory() ? 'EISDIR' : 'it is not a regular file');
  createFolder(dirname(database), 0o700);
  await copySqlite(file, database, assertOwnSchema);
}

/** Copies a database, and checks the copy before it gets its name. */
async function copySqlite(from: string, to: string, check?: (copy: Query) => Promise<void>): Promise<void> {
  await createWhole(to, async (temporary) => {
    using source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
    // VACUUM INTO accepts an empty file, and keeps its mode.
    source.prepare('VACUUM INTO ?').run(temporary);
    using copy = new DatabaseSync(temporary);
    const query = queryOf(copy);
    const [result] = await query('PRAGMA integrity_check(1)');
    if (result?.['integrity_check'] !== 'ok') throw new Error('it is damaged');
    if ((await query(sqliteDialect.findMigrations)).length === 0) throw new Error('it is not a store of this program');
    await check?.(query);
  });
}

/** Writes a file for its owner only under a temporary name, and only then gives it its name. */
async function createWhole(to: string, write: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${to}.${randomUUID()}.tmp`;
  try {
    createOwnFile(temporary);
    await write(temporary);
    // Unlike a rename, it fails if the file exists by now.
    linkSync(temporary, to);
  } finally {
    for (const end of ends) rmSync(temporary + end, { force: true });
  }
}

/**
 * Checks that this program can use a copy, and that it holds what the program's own migrations create: a trigger, or a
 * table with a name that is SQL, would run with the rights of the service. What a newer version added is not known.
 */
async function assertOwnSchema(copy: Query): Promise<void> {
  const version = await readSchemaVersion(copy);
  if (version > migrations.length) return;
  using memory = new DatabaseSync(':memory:');
  const own = queryOf(memory);
  await migrate(own, sqliteDialect, migrations.slice(0, version));
  const [expected, found] = [await readSchema(own), await readSchema(copy)];
  for (const part of found.difference(expected)) {
    throw new Error(`it holds the ${part}, which this program does not know`);
  }
  for (const part of expected.difference(found)) throw new Error(`it lacks the ${part}`);
}

/** The tables with columns, indexes, views and triggers. A forged file has triggers with a name of SQLite, too. */
async function readSchema(query: Query): Promise<Set<string>> {
  const rows = await query(
    `SELECT part.type || ' ' || part.name || COALESCE('.' || field.name, '') AS name FROM sqlite_schema AS part
      LEFT JOIN pragma_table_xinfo(part.name) AS field ON part.type = 'table'
      WHERE NOT (part.type IN ('table', 'index') AND part.name LIKE 'sqlite!_%' ESCAPE '!')`,
  );
  return new Set(rows.map(({ name }) => JSON.stringify(name).slice(1, -1)));
}

/** The statements of a database of this process alone, whose errors are those of SQLite. */
const queryOf =
  (database: DatabaseSync): Query =>
  async (sql, values) =>
    runNow(database.prepare(sql), values);

/** Restores a backup of pg_dump into a database without tables of this program, and migrates it to this version. */
async function restorePostgres(file: string, url: string, environment: Environment): Promise<void> {
  for (const line of (await runPostgres('pg_restore', ['--list', file], url, environment)).split('\n')) {
    // Such as `215; 1259 16386 TABLE public hosting_api_keys owner`.
    const [, entry] = /^\d+; \d+ \d+ (.*)$/.exec(line) ?? [];
    if (entry === undefined || ownEntry.test(entry)) continue;
    throw new Error(`it holds the ${entry}, which this program does not know`);
  }
  const find = String.raw`SELECT tablename AS name FROM pg_tables WHERE tablename LIKE 'hosting\_%' LIMIT 1`;
  await createDatabase(url);
  const [found] = await withConnection(url, (query) => query(find));
  if (found) {
    throw new StoreError(`the PostgreSQL database has tables already (${String(found['name'])}): name an empty one`);
  }
  const options = ['--exit-on-error', '--single-transaction', '--no-owner', '--no-privileges', file];
  await runPostgres('pg_restore', options, url, environment);
  await (await openPostgres(url)).close();
}

/** What pg_dump writes of our tables; triggers and functions would run with the rights of the service. */
const ownEntry =
  /^(?:TABLE|TABLE DATA|SEQUENCE|SEQUENCE SET|SEQUENCE OWNED BY|DEFAULT|CONSTRAINT|INDEX|ACL) \S+ (?:TABLE |SEQUENCE )?hosting_\w+ /;

/** Creates the database of a URL if the server does not have it. */
async function createDatabase(url: string): Promise<void> {
  try {
    return await withConnection(url, () => Promise.resolve());
  } catch (error) {
    if (!(error instanceof StoreError && error.message.endsWith('(3D000)'))) throw error;
  }
  const { hostname, port, username, pathname } = new URL(url);
  const host = hostname.replaceAll(/[[\]]/g, '');
  const name = decodeURIComponent(pathname.slice(1));
  const owner = decodeURIComponent(username);
  const server = Object.assign(new URL(url), { pathname: '/postgres' });
  try {
    await withConnection(server.href, (query) => query(`CREATE DATABASE ${quote(name)}`));
  } catch {
    const words = [`--host=${host}`, `--port=${port || 5432}`, '--username=postgres', `--owner=${owner}`, name];
    const quoted = words.map((word) => (/^[\w.:=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`));
    const command = `createdb ${quoted.join(' ')}`;
    throw new StoreError(`the server has no database ${name}, and its user may not create one: run ${command}`);
  }
}

/** Runs a program of PostgreSQL. The password goes by the environment: every user of the machine can read arguments. */
async function runPostgres(
  program: 'pg_dump' | 'pg_restore',
  options: string[],
  url: string,
  environment: Environment,
): Promise<string> {
  const address = new URL(url);
  const password = decodeURIComponent(address.password) || address.searchParams.get('password') || '';
  address.password = '';
  address.search = address.search.replace(/(?<=[?&])password=[^&]*&?/, '');
  const env = { ...environment, PGCONNECT_TIMEOUT: '10', ...(password !== '' && { PGPASSWORD: password }) };
  try {
    return (await promisify(execFile)(program, [...options, `--dbname=${address.href}`], { env, maxBuffer: 2 ** 26 }))
      .stdout;
  } catch (error) {
    const { code, stderr = '' } = error as { code?: string | number; stderr?: string };
    if (code === 'ENOENT') throw new StoreError(`${program} is not installed here: apt-get install postgresql-client`);
    const reason = password === '' ? stderr : stderr.replaceAll(password, '***');
    throw new StoreError(reason.trim() || `${program} failed (${code})`);
  }
}

/** Imports a backup of SQLite into an empty PostgreSQL database: all tables in one transaction, with their ids. */
async function importSqlite(file: string, url: string) {
  await using opened = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'hosting-api-'));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  const copy = join(folder, 'hosting.sqlite');
  await restoreSqlite(file, copy);
  // A backup of an older version is migrated before it is read; the file itself stays as it is.
  const source = await openSqlite(copy);
  opened.defer(source.close);
  const target = await openPostgres(url);
  await target.close();
  if (target.versions.to !== source.versions.to) {
    throw new StoreError(
      `the tables of the backup have version ${source.versions.to}, those of the database ${target.versions.to}: ` +
        'use the newer program for both',
    );
  }
  return await withConnection(url, (query) => copyTables(source.query, query));
}

/** The versions, which the target has, the limits, which are full again within an hour, and the health. */
const notImported = ['hosting_migrations', 'hosting_limits', 'hosting_health'];

async function copyTables(source: Query, target: Query) {
  // The schema was compared with the program's own, so each name here is one of ours.
  const find = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'hosting_*' ORDER BY name`;
  const tables = (await source(find)).map(({ name }) => String(name)).filter((name) => !notImported.includes(name));
  return await inTransaction(target, postgresDialect, async () => {
    // A server that runs already must not write between the check and the end.
    await target(`LOCK TABLE ${tables.map(quote).join(', ')} IN EXCLUSIVE MODE`);
    for (const table of tables) {
      if ((await target(`SELECT 1 FROM ${quote(table)} LIMIT 1`)).length === 0) continue;
      throw new StoreError(`the PostgreSQL database holds records already (in ${table}): name an empty one`);
    }
    const imported = await Array.fromAsync(tables, async (table) => {
      return { table, records: await copyTable(source, target, table) };
    });
    // The ids go on where they were, also after the newest records were removed.
    for (const { name, seq } of await source('SELECT name, seq FROM sqlite_sequence WHERE seq > 0')) {
      if (!tables.includes(String(name))) continue;
      await target(`SELECT setval(pg_get_serial_sequence($1, 'id'), $2)`, [String(name), Number(seq)]);
    }
    return imported;
  });
}

async function copyTable(source: Query, target: Query, table: string): Promise<number> {
  let records = 0;
  let last = Number.MIN_SAFE_INTEGER;
  for (;;) {
    // Few enough to end within the timeout of a statement.
    const page = `SELECT rowid AS last, * FROM ${quote(table)} WHERE rowid > $1 ORDER BY rowid LIMIT 1000`;
    const rows = await source(page, [last]);
    if (rows.length === 0) return records;
    const columns = Object.keys(rows[0]!).slice(1).map(quote).join(', ');
    // The ids stay: customers have positions in their activity that are made of them.
    await target(
      `INSERT INTO ${quote(table)} (${columns}) OVERRIDING SYSTEM VALUE
        SELECT ${columns} FROM json_populate_recordset(NULL::${quote(table)}, $1)`,
      [JSON.stringify(rows)],
    );
    records += rows.length;
    last = Number(rows.at(-1)!['last']);
  }
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
