import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, lstatSync, mkdtempDisposableSync, rmSync, statSync } from 'node:fs';
import { constants, copyFile, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { Client, escapeIdentifier } from 'pg';
import type { Environment } from '#common/environment.ts';
import { createFolder } from '#common/files.ts';
import { StoreError, reasonOf, toHostUrls } from './database.ts';
import type { Query } from './database.ts';
import { inTransaction, migrate, migrations, readSchemaVersion } from './migrations.ts';
import { openPostgres, postgresDialect, withConnection } from './postgres.ts';
import { createOwnFile, openSqlite, runNow, sqliteDialect } from './sqlite.ts';

/** The suffixes of the files of an open SQLite database. */
const suffixes = ['', '-wal', '-shm'];

/** The database of a service: a SQLite file, or the URL of PostgreSQL. */
export interface DatabaseLocation {
  readonly file: string;
  readonly url: string | undefined;
  /** The environment of pg_dump and pg_restore. */
  readonly environment: Environment;
}

/** Writes a consistent copy of the database to a new file for its owner only. Throws a {@link StoreError}. */
export async function backUp({ file, url, environment }: DatabaseLocation, to: string): Promise<void> {
  if (url === undefined && !existsSync(file)) throw new StoreError(`there is no database ${file}`);
  if (existsSync(to)) throw new StoreError(`${to} exists: choose a new file`);
  await withReason(`${to} cannot be written`, async () => {
    if (url === undefined) return await copySqlite(file, to);
    await createWhole(to, async (temporary) => {
      const options = ['--format=custom', '--table=hosting_*', '--lock-wait-timeout=30000', `--file=${temporary}`];
      await runPostgres('pg_dump', options, url, environment);
    });
  });
}

/** Restores a backup and returns the imported tables. Throws a {@link StoreError} for a damaged, newer or forged backup. */
export async function restore(from: string, { file, url, environment }: DatabaseLocation) {
  return await withReason(`${from} cannot be restored`, async () => {
    const kind = await readKind(from);
    if (url !== undefined && kind === 'SQLite') return await importSqlite(from, url);
    if (url === undefined && kind === 'PostgreSQL') {
      throw new StoreError(`${from} is a backup of PostgreSQL: set DATABASE_URL`);
    }
    if (url === undefined) await restoreSqlite(from, file);
    else if (kind === 'PostgreSQL') await restorePostgres(from, url, environment);
    else throw new Error('the file is not a backup of SQLite or pg_dump');
    return [];
  });
}

/** Runs work and converts its errors to a {@link StoreError} that begins with `failure`. */
async function withReason<Result>(failure: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StoreError ? error : new StoreError(`${failure}: ${reasonOf(error)}`);
  }
}

/** Recognises the kind of a backup by its first bytes. */
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
  const taken = suffixes.map((suffix) => database + suffix).find((path) => existsSync(path));
  if (taken !== undefined) {
    throw new StoreError(
      `${taken} exists: stop the server, and move the old database with its -wal and -shm files away`,
    );
  }
  // Symlinks may point anywhere; do not follow them.
  const found = lstatSync(file);
  if (!found.isFile()) throw new Error(found.isDirectory() ? 'EISDIR' : 'the file is not a regular file');
  createFolder(dirname(database), 0o700);
  await copySqlite(file, database, assertOwnSchema);
}

/** Copies a database, and checks the copy before giving it its name. */
async function copySqlite(from: string, to: string, check?: (copy: Query) => Promise<void>): Promise<void> {
  await createWhole(to, async (temporary) => {
    using source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
    // VACUUM INTO accepts an empty file, and keeps its mode.
    source.prepare('VACUUM INTO ?').run(temporary);
    using copy = new DatabaseSync(temporary);
    const query = queryOf(copy);
    const [result] = await query('PRAGMA integrity_check(1)');
    if (result?.['integrity_check'] !== 'ok') throw new Error('the database is damaged');
    if ((await query(sqliteDialect.findMigrations)).length === 0)
      throw new Error('the database is not a store of this program');
    await check?.(query);
  });
}

/** Writes a file for its owner only under a temporary name, then gives it the final name. */
async function createWhole(to: string, write: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${to}.${randomUUID()}.tmp`;
  try {
    createOwnFile(temporary);
    await write(temporary);
    try {
      // Unlike a rename, a link fails if the file exists by now.
      linkSync(temporary, to);
    } catch {
      // exFAT and some network file systems have no links.
      await copyFile(temporary, to, constants.COPYFILE_EXCL);
      await using copy = await open(to, 'r+');
      await copy.sync();
    }
  } finally {
    for (const suffix of suffixes) rmSync(temporary + suffix, { force: true });
  }
}

/**
 * Asserts that a copy has a usable version and exactly the schema of our migrations: a trigger, or a table with SQL as
 * its name, would run with the rights of the service. The schema of a newer version is unknown and not compared.
 */
async function assertOwnSchema(copy: Query): Promise<void> {
  const version = await readSchemaVersion(copy);
  if (version > migrations.length) return;
  using memory = new DatabaseSync(':memory:');
  const own = queryOf(memory);
  await migrate(own, sqliteDialect, migrations.slice(0, version));
  const [expected, found] = [await readSchema(own), await readSchema(copy)];
  for (const part of found.difference(expected)) throw new Error(`the backup has the unknown ${part}`);
  for (const part of expected.difference(found)) throw new Error(`the backup lacks the ${part}`);
}

/** Lists tables with columns, indexes, views and triggers; in a forged file, triggers may have a name of SQLite. */
async function readSchema(query: Query): Promise<Set<string>> {
  const rows = await query(
    `SELECT part.type || ' ' || part.name || COALESCE('.' || field.name, '') AS name FROM sqlite_schema AS part
      LEFT JOIN pragma_table_xinfo(part.name) AS field ON part.type = 'table'
      WHERE NOT (part.type IN ('table', 'index') AND part.name LIKE 'sqlite!_%' ESCAPE '!')`,
  );
  return new Set(rows.map(({ name }) => JSON.stringify(name).slice(1, -1)));
}

/** Queries a private database directly, with the errors of SQLite. */
const queryOf =
  (database: DatabaseSync): Query =>
  async (sql, values) =>
    runNow(database.prepare(sql), values);

/** Restores a backup of pg_dump into a database without our tables, and migrates them to this version. */
async function restorePostgres(file: string, url: string, environment: Environment): Promise<void> {
  for (const line of (await runPostgres('pg_restore', ['--list', file], url, environment)).split('\n')) {
    // For instance `215; 1259 16386 TABLE public hosting_api_keys owner`.
    const [, entry] = /^\d+; \d+ \d+ (.*)$/.exec(line) ?? [];
    if (entry === undefined || ownEntry.test(entry)) continue;
    throw new Error(`the backup has the unknown ${entry}`);
  }
  const find = String.raw`SELECT tablename AS name FROM pg_tables WHERE tablename LIKE 'hosting\_%' LIMIT 1`;
  await createDatabase(url);
  const [found] = await withConnection(url, (query) => query(find));
  if (found) {
    throw new StoreError(`the PostgreSQL database is not empty (${String(found['name'])}): choose an empty database`);
  }
  const options = ['--dbname=', '--exit-on-error', '--single-transaction', '--no-owner', '--no-privileges', file];
  await runPostgres('pg_restore', options, url, environment);
  // Behind a pooler, the settings of pg_restore would stay: its empty search_path hides all tables.
  await withConnection(url, (query) => query('RESET ALL'));
  await (await openPostgres(url)).close();
}

/** The entries that pg_dump writes for our tables; triggers and functions would run with the rights of the service. */
const ownEntry =
  /^(?:TABLE|TABLE DATA|SEQUENCE|SEQUENCE SET|SEQUENCE OWNED BY|DEFAULT|CONSTRAINT|INDEX|ACL) \S+ (?:TABLE |SEQUENCE )?hosting_\w+ /;

/** Creates the database of a URL if the server does not have it. */
async function createDatabase(url: string): Promise<void> {
  try {
    return await withConnection(url, () => Promise.resolve());
  } catch (error) {
    if (!(error instanceof StoreError && error.message.includes('(3D000)'))) throw error;
  }
  const { hostname, port, username, pathname } = new URL(toHostUrls(url)[0]);
  const host = hostname.replaceAll(/[[\]]/g, '');
  const name = decodeURIComponent(pathname.slice(1));
  const owner = decodeURIComponent(username);
  try {
    const server = url.replace(/^([^/]*\/\/[^/?#]*)\/[^?#]*/, '$1/postgres');
    await withConnection(server, (query) => query(`CREATE DATABASE ${escapeIdentifier(name)}`));
  } catch {
    const words = [`--host=${host}`, `--port=${port || 5432}`, '--username=postgres', `--owner=${owner}`, name];
    const quoted = words.map((word) => (/^[\w.:=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`));
    const command = `createdb ${quoted.join(' ')}`;
    throw new StoreError(`the server has no database ${name}, which the user may not create: run ${command}`);
  }
}

/** Runs a program of PostgreSQL. The connection is in its environment: arguments are visible to every user. */
async function runPostgres(
  program: 'pg_dump' | 'pg_restore',
  options: string[],
  url: string,
  environment: Environment,
): Promise<string> {
  const urls = toHostUrls(url);
  const hosts = urls.map((connectionString) => new Client({ connectionString }));
  const { user, database, password } = hosts[0]!;
  // libpq ignores the variables of parameters that only Node.js knows.
  const parameters = [...new URL(urls[0]).searchParams].map(([name, value]) => [
    `PG${name.toUpperCase().replaceAll('_', '')}`,
    value === 'no-verify' ? 'require' : value,
  ]);
  const env: Record<string, string | undefined> = {
    ...environment,
    ...(hosts.length > 1 && { PGTARGETSESSIONATTRS: 'read-write' }),
    ...Object.fromEntries(parameters),
    PGHOST: hosts.map(({ host }) => host).join(','),
    PGPORT: hosts.map(({ port }) => port).join(','),
    PGUSER: user,
    PGDATABASE: database,
    PGPASSWORD: password ?? environment['PGPASSWORD'],
    PGCONNECT_TIMEOUT: '10',
  };
  // Without a file, libpq would trust no CA.
  if (env.PGSSLMODE?.startsWith('verify-'))
    env.PGSSLROOTCERT ??= env.NODE_EXTRA_CA_CERTS ?? '/etc/ssl/certs/ca-certificates.crt';
  try {
    return (await promisify(execFile)(program, options, { env, maxBuffer: 2 ** 26 })).stdout;
  } catch (error) {
    const { code, stderr = '' } = error as { code?: string | number; stderr?: string };
    if (code === 'ENOENT') throw new StoreError(`${program} is not installed here: apt-get install postgresql-client`);
    const reason = password ? stderr.replaceAll(password, '***') : stderr;
    throw new StoreError(reason.trim() || `${program} failed (${code})`);
  }
}

/** Imports a backup of SQLite into an empty PostgreSQL database, in one transaction. */
async function importSqlite(file: string, url: string) {
  await using opened = new AsyncDisposableStack();
  const copy = join(opened.use(mkdtempDisposableSync(join(tmpdir(), 'hosting-api-'))).path, 'hosting.sqlite');
  await restoreSqlite(file, copy);
  // Migrate a copy of an older backup; the backup itself stays unchanged.
  const source = await openSqlite(copy);
  opened.defer(source.close);
  await createDatabase(url);
  const target = await openPostgres(url);
  await target.close();
  if (target.versions.to !== source.versions.to) {
    throw new StoreError(
      `the backup has version ${source.versions.to} and the database has version ${target.versions.to}: ` +
        'use the newer program for both',
    );
  }
  return await withConnection(url, (query) => copyTables(source.query, query));
}

/** Not imported: versions, which the target has; rate limits, which refill within an hour; health. */
const notImported = ['hosting_migrations', 'hosting_limits', 'hosting_health'];

async function copyTables(source: Query, target: Query) {
  // The names are safe: the schema matches our migrations.
  const find = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'hosting_*' ORDER BY name`;
  const tables = (await source(find)).map(({ name }) => String(name)).filter((name) => !notImported.includes(name));
  return await inTransaction(target, postgresDialect, async () => {
    // A running server must not write between the check and the commit.
    await target(`LOCK TABLE ${tables.map(escapeIdentifier).join(', ')} IN EXCLUSIVE MODE`);
    for (const table of tables) {
      if ((await target(`SELECT 1 FROM ${escapeIdentifier(table)} LIMIT 1`)).length === 0) continue;
      throw new StoreError(`the PostgreSQL database has records (in ${table}): choose an empty database`);
    }
    const imported = await Array.fromAsync(tables, async (table) => {
      return { table, records: await copyTable(source, target, table) };
    });
    // Continue the ids, even if the newest records were removed.
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
    // Small enough for the timeout of a statement.
    const page = `SELECT rowid AS last, * FROM ${escapeIdentifier(table)} WHERE rowid > $1 ORDER BY rowid LIMIT 1000`;
    const rows = await source(page, [last]);
    if (rows.length === 0) return records;
    const columns = Object.keys(rows[0]!).slice(1).map(escapeIdentifier).join(', ');
    // Keep the ids: the cursors of customers contain them.
    await target(
      `INSERT INTO ${escapeIdentifier(table)} (${columns}) OVERRIDING SYSTEM VALUE
        SELECT ${columns} FROM json_populate_recordset(NULL::${escapeIdentifier(table)}, $1)`,
      [JSON.stringify(rows)],
    );
    records += rows.length;
    last = Number(rows.at(-1)!['last']);
  }
}
