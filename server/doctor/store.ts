import { constants, existsSync, statSync } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { waitMs } from '../limits.ts';
import type { Database, Dialect, StoreSettings } from '../store/database.ts';
import { StoreError } from '../store/database.ts';
import { createApiKeyRecords, createServerRecords, sqliteFileIn } from '../store/index.ts';
import { migrations, readVersion } from '../store/migrations.ts';
import { readSqlite, sqliteDialect } from '../store/sqlite.ts';
import type { ApiKeyRecord, ServerRecord } from '../store/types.ts';
import { judgeSkew } from './client.ts';
import { fault, hint, ok } from './run.ts';
import type { Outcome } from './run.ts';

/** What the checks of the store found. */
export interface StoreReport {
  readonly outcomes: readonly Outcome[];
  /** The records that other checks look at; undefined if they cannot be read. */
  readonly records:
    | { readonly servers: readonly ServerRecord[]; readonly apiKeys: readonly ApiKeyRecord[] }
    | undefined;
}

type Connection = Pick<Database, 'query' | 'close'>;

const noRecords = { servers: [], apiKeys: [] } as const;

/** A WAL is emptied every half minute; beyond this size, something keeps it. */
const maxWalBytes = 64 * 1024 * 1024;

/** Checks the store without writing to it. It is opened for reading alone, and not migrated. */
export async function checkStore({ DATA_DIR, DATABASE_URL: url }: StoreSettings): Promise<StoreReport> {
  const file = sqliteFileIn(DATA_DIR);
  if (url === undefined && !existsSync(file)) {
    const { folder } = await findExisting(resolve(dirname(file)));
    const outcome = (await isWritable(folder))
      ? ok('there is none yet: the first start creates it')
      : fault(`this user can neither open nor create it in ${folder}`, ownerAdvice(folder));
    return { outcomes: [outcome], records: noRecords };
  }
  try {
    const postgres = url === undefined ? undefined : await import('../store/postgres.ts');
    const connection = postgres ? await postgres.readPostgres(url!) : readSqlite(file);
    try {
      return await (postgres ? examinePostgres(connection, postgres.postgresDialect) : examineSqlite(connection, file));
    } finally {
      await connection.close();
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const advice =
      url === undefined
        ? 'see who owns the file, and restore a backup if it is damaged: `npm run store -- restore FILE`'
        : 'see that PostgreSQL runs, that this machine may connect, and the user and password of DATABASE_URL';
    return { outcomes: [fault(error.message, advice)], records: undefined };
  }
}

const ownerAdvice = (path: string): string =>
  `run this as the user of the server; if it is, make the user own ${resolve(path)}, on a disk that is not read-only`;

/** Whether this user may write to a file, or create files in a folder. */
export async function isWritable(path: string): Promise<boolean> {
  return await access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** Finds the nearest folder that exists: one that is created later lies where it does. */
export async function findExisting(folder: string): Promise<{ folder: string; device: number }> {
  const found = await stat(folder).catch(() => undefined);
  if (found || folder === dirname(folder)) return { folder, device: found?.dev ?? 0 };
  return findExisting(dirname(folder));
}

async function examineSqlite(connection: Connection, file: string): Promise<StoreReport> {
  const [first] = await connection.query('PRAGMA quick_check(1)');
  const isWhole = first?.['quick_check'] === 'ok';
  const outcomes = [
    isWhole
      ? ok(`SQLite, whole; ${(await isWal(file)) ? 'WAL' : 'the next start switches to WAL'}`)
      : fault('the database is damaged', 'stop the server, move the file away, and `npm run store -- restore FILE`'),
  ];
  for (const path of [dirname(file), file]) {
    // oxlint-disable-next-line no-await-in-loop
    if (!(await isWritable(path))) outcomes.push(fault(`this user cannot write ${path}`, ownerAdvice(path)));
  }
  const walBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes > maxWalBytes) {
    const seen = `hosting.sqlite-wal has ${Math.round(walBytes / 1024 / 1024)} MiB`;
    outcomes.push(fault(seen, 'end the program that keeps the database open: lsof names it'));
  }
  if (!isWhole) return { outcomes, records: undefined };
  return { outcomes, records: await readRecords(connection, sqliteDialect, outcomes) };
}

/** Whether the header of a database names the WAL: a connection that only reads may say something else. */
async function isWal(file: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, 18);
  return buffer[0] === 2;
}

/** Compares a time that the database said with the middle of asking for it. Instances may differ by 2 s (docs/reference.md). */
export function compareClocks(whose: string, asked: number, answered: number, theirs: number): Outcome {
  return judgeSkew(whose, theirs - (asked + answered) / 2, 2000 + (answered - asked) / 2);
}

async function examinePostgres(connection: Connection, dialect: Dialect): Promise<StoreReport> {
  const asked = Date.now();
  const [facts = {}] = await connection.query(
    `SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS standby,
      (SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_read_only') AS read_only,
      has_schema_privilege(current_schema(), 'CREATE') AS creates,
      CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now`,
  );
  const clock = compareClocks('the database', asked, Date.now(), Number(facts['now']));
  const ms = await measureLatency(connection);
  const seen = `PostgreSQL ${String(facts['version']).split(' ')[0]}, answers in ${ms} ms`;
  const slow = 'move the instance nearer to its database, or see what loads it: pg_stat_activity';
  const outcomes = [ms > waitMs ? fault(`${seen}: limits are counted by each instance alone`, slow) : ok(seen)];
  if (facts['standby'] === true) {
    outcomes.push(fault('it is a standby, which takes no writes', 'set DATABASE_URL to the primary'));
  }
  // This session is read-only itself.
  if (facts['read_only'] === 'on') {
    const advice =
      'a managed database does this when its disk is full: give it room, then set default_transaction_read_only = off';
    outcomes.push(fault('it takes no writes: default_transaction_read_only is on', advice));
  }
  outcomes.push({ ...clock, check: 'clock of the store' });
  const records = await readRecords(connection, dialect, outcomes);
  const rights = await checkPrivileges(connection, facts['creates'] === true);
  outcomes.push({ ...rights, check: 'rights in the store' });
  return { outcomes, records };
}

/** The median time of an answer, in milliseconds. */
async function measureLatency({ query }: Connection): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const since = performance.now();
    // oxlint-disable-next-line no-await-in-loop
    await query('SELECT 1');
    times.push(performance.now() - since);
  }
  return Math.ceil(times.toSorted((a, b) => a - b)[2]!);
}

async function checkPrivileges({ query }: Connection, creates: boolean): Promise<Outcome> {
  const denied = await query(
    String.raw`SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'hosting\_%' AND pg_table_is_visible(oid)
      AND relname <> 'hosting_migrations' AND NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
        AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')) ORDER BY relname`,
  );
  if (denied.length > 0) {
    const names = denied.map(({ relname }) => String(relname)).join(', ');
    const advice = 'as the owner of the tables: GRANT SELECT, INSERT, UPDATE, DELETE on them to the user';
    return fault(`the user of DATABASE_URL may not read and write ${names}`, advice);
  }
  if (creates) return ok('reads, writes, and creates tables');
  const advice = 'before an update, run `npm run store -- migrate` as the owner, or GRANT CREATE ON SCHEMA to it';
  return hint('reads and writes, but cannot create tables', advice);
}

/** Checks the version of the tables, and reads the records; undefined if they cannot be read. */
async function readRecords(
  { query }: Connection,
  dialect: Dialect,
  outcomes: Outcome[],
): Promise<StoreReport['records']> {
  const add = (outcome: Outcome): void => void outcomes.push({ ...outcome, check: 'tables' });
  if ((await query(dialect.findMigrations)).length === 0) {
    add(ok('there are none yet: the first start creates them'));
    return noRecords;
  }
  try {
    const version = await readVersion(query);
    const latest = migrations.length;
    const seen = `version ${version}`;
    if (version < latest) {
      add(hint(`${seen} of ${latest}: the next start migrates them`, 'or before it: `npm run store -- migrate`'));
    } else add(ok(version === latest ? seen : `${seen}, newer than this program, which can use it`));
    return { servers: await createServerRecords(query).list(), apiKeys: await createApiKeyRecords(query).list() };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    add(fault(error.message, 'install the version of the program that wrote it, or replace what is corrupted'));
    return undefined;
  }
}
