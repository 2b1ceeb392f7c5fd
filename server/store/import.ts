import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { restoreSqlite } from './backup.ts';
import type { Query } from './database.ts';
import { StoreError } from './error.ts';
import { openPostgres, postgresDialect, withConnection } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

/** The number of records that were imported into a table. */
export interface ImportedTable {
  readonly table: string;
  readonly records: number;
}

/** Records of one statement: few enough to end within its timeout. */
const batchSize = 1000;

/** The versions, which the target has already, and limits, which are used up or full again within an hour. */
const skipped = new Set(['hosting_migrations', 'hosting_limits']);

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
    const { versions, close } = await openSqlite(copy);
    await close();
    await assertSameVersion(versions.to, url);
    using source = new DatabaseSync(copy, { readOnly: true });
    return await withConnection(url, (query) => copyTables(source, query));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Migrates the target, and checks that both have the same tables. */
async function assertSameVersion(version: number, url: string): Promise<void> {
  const { versions, close } = await openPostgres(url);
  await close();
  if (versions.to === version) return;
  throw new StoreError(
    `the tables of the backup have version ${version}, those of the database ${versions.to}: use the newer program for both`,
  );
}

async function copyTables(source: DatabaseSync, query: Query): Promise<ImportedTable[]> {
  const tables = source
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'hosting!_%' ESCAPE '!' ORDER BY name`)
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !skipped.has(name));
  for (const statement of postgresDialect.beginMigration) await query(statement);
  try {
    // A server that runs already must not write between the check and the end.
    await query(`LOCK TABLE ${tables.join(', ')} IN EXCLUSIVE MODE`);
    for (const table of tables) await assertEmpty(query, table);
    const imported: ImportedTable[] = [];
    for (const table of tables) imported.push({ table, records: await copyTable(source, query, table) });
    await copySequences(source, query, tables);
    await query('COMMIT');
    return imported;
  } catch (error) {
    await query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function assertEmpty(query: Query, table: string): Promise<void> {
  const rows = await query(`SELECT 1 FROM ${table} LIMIT 1`);
  if (rows.length === 0) return;
  throw new StoreError(`the PostgreSQL database holds records already (in ${table}): name an empty one`);
}

async function copyTable(source: DatabaseSync, query: Query, table: string): Promise<number> {
  const statement = source.prepare(`SELECT * FROM ${table} ORDER BY rowid`);
  const columns = statement
    .columns()
    .map(({ name }) => name)
    .join(', ');
  // The ids stay: customers have positions in their activity that are made of them.
  const insert = `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1)`;
  let records = 0;
  for (let batch = takeBatch(statement.iterate()); batch.rows.length > 0; batch = takeBatch(batch.rest)) {
    await query(insert, [JSON.stringify(batch.rows)]);
    records += batch.rows.length;
  }
  return records;
}

function takeBatch(rest: Iterator<unknown>): { rows: unknown[]; rest: Iterator<unknown> } {
  const rows: unknown[] = [];
  while (rows.length < batchSize) {
    const { done, value } = rest.next();
    if (done) break;
    rows.push(value);
  }
  return { rows, rest };
}

/** Lets the ids go on where they were, also after the newest records were removed. */
async function copySequences(source: DatabaseSync, query: Query, tables: readonly string[]): Promise<void> {
  for (const { name, seq } of source.prepare('SELECT name, seq FROM sqlite_sequence').all()) {
    const [table, last] = [String(name), Number(seq)];
    if (tables.includes(table) && last > 0) {
      await query(`SELECT setval(pg_get_serial_sequence($1, 'id'), $2)`, [table, last]);
    }
  }
}
