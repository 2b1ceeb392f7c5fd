import { constants, existsSync, statSync } from 'node:fs';
import { access, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { waitMs } from '../../shared-bucket.ts';
import { createApiKeys } from '../../store/api-keys.ts';
import type { Database, Dialect } from '../../store/database.ts';
import type { StoreSettings } from '../../store/env.ts';
import { StoreError } from '../../store/error.ts';
import { sqliteFileIn } from '../../store/index.ts';
import { migrations, readVersion } from '../../store/migrations.ts';
import { createServers } from '../../store/servers.ts';
import { readSqlite, sqliteDialect } from '../../store/sqlite.ts';
import type { ApiKeyRecord, ServerRecord } from '../../store/types.ts';
import type { Finding, Outcome } from '../finding.ts';
import { fault, hint, ok } from '../finding.ts';
import { findExisting } from './disk.ts';
import { compareClocks } from './clock.ts';

type Connection = Pick<Database, 'query' | 'close'>;

/** What the checks of the store found, and the records that others look at. */
export interface StoreReport {
  readonly findings: readonly Finding[];
  readonly servers: readonly ServerRecord[];
  readonly apiKeys: readonly ApiKeyRecord[];
  /** Whether the records were read. */
  readonly isReadable: boolean;
}

/** A WAL is emptied every half minute; beyond this size, something keeps it. */
const maxWalBytes = 64 * 1024 * 1024;

const empty = { servers: [], apiKeys: [], isReadable: true } as const;
/** The records of a store that cannot be read. */
export const unreadable = { ...empty, isReadable: false } as const;

/** Checks the store without writing to it. It is opened for reading alone, and not migrated. */
export async function checkStore({ DATA_DIR, DATABASE_URL: url }: StoreSettings): Promise<StoreReport> {
  const file = sqliteFileIn(DATA_DIR);
  if (url === undefined && !existsSync(file)) return checkFutureStore(file);
  try {
    const connection = url === undefined ? readSqlite(file) : await connectPostgres(url);
    try {
      return await (url === undefined ? examineSqlite(file, connection) : examinePostgres(connection));
    } finally {
      await connection.close();
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const advice =
      url === undefined
        ? 'see who owns the file, and restore a backup if it is damaged: `npm run store -- restore FILE`'
        : 'see that PostgreSQL runs, that this machine may connect, and the user and password of DATABASE_URL';
    return { findings: [{ check: 'store', ...fault(error.message, advice) }], ...unreadable };
  }
}

async function connectPostgres(url: string): Promise<Connection> {
  const { readPostgres } = await import('../../store/postgres.ts');
  return await readPostgres(url);
}

/** The store of an installation that has not been started yet. */
async function checkFutureStore(file: string): Promise<StoreReport> {
  const { folder: parent } = await findExisting(resolve(dirname(file)));
  const outcome = (await isWritable(parent))
    ? ok('there is none yet: the first start creates it')
    : fault(`this user can neither open nor create it in ${parent}`, ownerAdvice(parent));
  return { findings: [{ check: 'store', ...outcome }], ...empty };
}

const ownerAdvice = (path: string): string =>
  `run this as the user of the server; if it is, make the user own ${resolve(path)}, on a disk that is not read-only`;

async function isWritable(path: string): Promise<boolean> {
  return await access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}

async function examineSqlite(file: string, connection: Connection): Promise<StoreReport> {
  const findings: Finding[] = [];
  const add = (check: string, outcome: Outcome): void => void findings.push({ check, ...outcome });
  const [first] = await connection.query('PRAGMA quick_check(1)');
  const isWhole = first?.['quick_check'] === 'ok';
  add(
    'store',
    isWhole
      ? ok(`SQLite, whole; ${(await isWal(file)) ? 'WAL' : 'the next start switches to WAL'}`)
      : fault('the database is damaged', 'stop the server, move the file away, and `npm run store -- restore FILE`'),
  );
  for (const path of [dirname(file), file]) {
    // oxlint-disable-next-line no-await-in-loop
    if (!(await isWritable(path))) add('store', fault(`this user cannot write ${path}`, ownerAdvice(path)));
  }
  const walBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes > maxWalBytes) {
    const seen = `hosting.sqlite-wal has ${Math.round(walBytes / 1024 / 1024)} MiB`;
    add('store', fault(seen, 'end the program that keeps the database open: lsof names it'));
  }
  if (!isWhole) return { findings, ...unreadable };
  return { ...(await readRecords(connection, sqliteDialect, add)), findings };
}

/** Whether the header of a database names the WAL: a connection that only reads may say something else. */
async function isWal(file: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, 18);
  return buffer[0] === 2;
}

async function examinePostgres(connection: Connection): Promise<StoreReport> {
  const { postgresDialect } = await import('../../store/postgres.ts');
  const findings: Finding[] = [];
  const add = (check: string, outcome: Outcome): void => void findings.push({ check, ...outcome });
  const asked = Date.now();
  const [facts = {}] = await connection.query(
    `SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS standby,
      has_schema_privilege(current_schema(), 'CREATE') AS creates,
      CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now`,
  );
  const answered = Date.now();
  const ms = await measureLatency(connection);
  const slow = 'move the instance nearer to its database, or see what loads it: pg_stat_activity';
  const seen = `PostgreSQL ${String(facts['version']).split(' ')[0]}, answers in ${ms} ms`;
  add('store', ms > waitMs ? fault(`${seen}: limits are counted by each instance alone`, slow) : ok(seen));
  if (facts['standby'] === true) {
    add('store', fault('it is a standby, which takes no writes', 'set DATABASE_URL to the primary'));
  }
  add('clock of the store', compareClocks('the database', asked, answered, Number(facts['now'])));
  const records = await readRecords(connection, postgresDialect, add);
  await checkPrivileges(connection, facts['creates'] === true, add);
  return { ...records, findings };
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

async function checkPrivileges(
  { query }: Connection,
  creates: boolean,
  add: (check: string, outcome: Outcome) => void,
): Promise<void> {
  const denied = await query(
    String.raw`SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'hosting\_%' AND pg_table_is_visible(oid)
      AND relname <> 'hosting_migrations' AND NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
        AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')) ORDER BY relname`,
  );
  const check = 'rights in the store';
  if (denied.length > 0) {
    const names = denied.map(({ relname }) => String(relname)).join(', ');
    const advice = 'as the owner of the tables: GRANT SELECT, INSERT, UPDATE, DELETE on them to the user';
    add(check, fault(`the user of DATABASE_URL may not read and write ${names}`, advice));
  } else if (creates) add(check, ok('reads, writes, and creates tables'));
  else {
    const advice = 'before an update, run `npm run store -- migrate` as the owner, or GRANT CREATE ON SCHEMA to it';
    add(check, hint('reads and writes, but cannot create tables', advice));
  }
}

/** Checks the version of the tables, and reads the records that other checks look at. */
async function readRecords(
  { query }: Connection,
  dialect: Dialect,
  add: (check: string, outcome: Outcome) => void,
): Promise<Omit<StoreReport, 'findings'>> {
  const check = 'tables';
  if ((await query(dialect.findMigrations)).length === 0) {
    add(check, ok('there are none yet: the first start creates them'));
    return empty;
  }
  try {
    const version = await readVersion(query);
    const latest = migrations.length;
    add(
      check,
      version < latest
        ? hint(
            `version ${version} of ${latest}: the next start migrates them`,
            'or before it: `npm run store -- migrate`',
          )
        : ok(
            version === latest ? `version ${version}` : `version ${version}, newer than this program, which can use it`,
          ),
    );
    return { servers: await createServers(query).list(), apiKeys: await createApiKeys(query).list(), isReadable: true };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const advice = 'install the version of the program that wrote it, or replace what is corrupted';
    add(check, fault(error.message, advice));
    return unreadable;
  }
}
