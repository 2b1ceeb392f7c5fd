import { hash } from 'node:crypto';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Environment } from '#common/environment.ts';
import type { Env } from '../env.ts';
import { createProviders, loadProviders } from '../hosting/providers.ts';
import type { Provider } from '../hosting/providers/types.ts';
import { waitMs } from '../limits.ts';
import { createLog } from '../log.ts';
import { OperatorError } from '../problem.ts';
import { loadRelease } from '../releases/service.ts';
import type { Release } from '../releases/service.ts';
import { StoreError } from '../store/database.ts';
import type { Dialect, Query, StoreSettings } from '../store/database.ts';
import { createServerRecords, sqliteFileIn } from '../store/index.ts';
import { OperatorToken, createApiKeyRecords, createSecretRecords } from '../store/keys.ts';
import { migrations, readSchemaVersion } from '../store/migrations.ts';
import { wentBackId } from '../store/instance.ts';
import { readSqlite, sqliteDialect } from '../store/sqlite.ts';
import type { ApiKeyRecord, ServerRecord } from '../store/types.ts';
import { codeOf, createVisit, judgeSkew } from './client.ts';
import type { Seen, Visit } from './client.ts';
import { fault, hint, ok, skipped } from './run.ts';
import type { DoctorResult } from './run.ts';

/** An installation as the checks see it. */
export type Installation = ReturnType<typeof openInstallation>;

/** A part of an installation, undefined if unreadable, with the results of reading it. */
interface Fact<Value> {
  readonly value?: Value | undefined;
  readonly results: readonly DoctorResult[];
}

const toFact = <Value>(value: Value, result: DoctorResult): Fact<Value> => ({ value, results: [result] });

/** The expected state of the server. */
export interface Expected {
  /** A stopped server is a fault. */
  readonly running?: boolean | undefined;
  /** The installed version has not started yet: a stopped server or another version is fine. */
  readonly beforeStart?: boolean | undefined;
}

/** Creates a log without output. */
export const createSilentLog = () => createLog({ level: 'silent', destination: process.stdout });

/** Opens an installation read-only; each part is read once, at its first use. */
export function openInstallation(
  env: Env,
  environment: Environment,
  options: Expected & { readonly opened: AsyncDisposableStack; readonly installed: string },
) {
  const { opened, installed } = options;
  const release = readOnce('run `npm run build`, or go back with `npm run releases -- rollback`', async () => {
    const value = await readRelease(env.DIST_DIR);
    return toFact(value, ok(`${value.id} is complete`));
  });
  const storeAdvice =
    env.DATABASE_URL === undefined
      ? 'check the owner of the file; if the file is damaged, restore a backup: `npm run store -- restore FILE`'
      : 'check that PostgreSQL is running, has connections left and allows this machine, and the user and password in DATABASE_URL';
  const store = readOnce(storeAdvice, () => checkStore(env));
  /** True if our server answers on HOST and PORT. */
  const server = readOnce('', async () => findServer(env, options, (await store()).results, (await release()).value));
  const providers = readOnce('correct PROVIDERS_FILE; docs/reference.md has an example of each type', async () => {
    const { PROVIDERS_FILE: file, DATA_DIR: dataDir, UPSTREAM_TIMEOUT_SECONDS: seconds } = env;
    if (file === undefined) return { results: [skipped('PROVIDERS_FILE is not set')] };
    const config = loadProviders(file, environment);
    const created = createProviders(config, { dataDir, log: createSilentLog(), timeoutMs: seconds * 1000 });
    for (const provider of created.values()) opened.defer(() => provider.close());
    return await askProviders(created, config);
  });
  return { env, environment, installed, release, store, server, providers };
}

/** Reads a fact once; an expected error becomes a fault with `advice`. */
function readOnce<Value>(advice: string, read: () => Promise<Fact<Value>>): () => Promise<Fact<Value>> {
  const onError = (error: unknown): Fact<Value> => {
    if (!(error instanceof OperatorError)) return { results: [toSkipped(error)] };
    return { results: error.message.split('\n').map((line) => fault(line, advice)) };
  };
  let fact: Promise<Fact<Value>> | undefined;
  return () => (fact ??= read().catch(onError));
}

/** Omits the message of the error: it may contain a path, an address or a value. */
export function toSkipped(error: unknown): DoctorResult {
  const { code, name } = error as NodeJS.ErrnoException;
  return skipped(`the check failed (${code ?? name})`);
}

/** Loads the current release and verifies every file, as the server does. Throws a ReleaseError. */
export function readRelease(dist: string): Promise<Release> {
  return loadRelease(join(dist, 'current'));
}

/** Checks the credentials of providers; the settings contain the URLs of their upstreams. */
export async function askProviders(
  providers: ReadonlyMap<string, Provider>,
  settings: Readonly<Record<string, object>> = {},
) {
  const reports = [...providers].map(async ([name, provider]) => {
    const { url } = (settings[name] ?? {}) as { readonly url?: string };
    const found = await provider.check();
    // An unreachable upstream fails for each of its credentials: report the first.
    const [lost, ...repeated] = found.filter((report) => report.level !== 'info' && report.isUnreachable);
    const results = found
      .filter((report) => !repeated.includes(report))
      .map((report): DoctorResult => {
        const { level, message, advice } = report;
        const result = level === 'info' ? { ...ok(message), ...(advice && { advice }) } : fault(message, advice);
        return { check: `provider ${name}`, ...result };
      });
    return { name, provider, url, results, answers: !lost };
  });
  const value = await Promise.all(reports);
  return { value, results: value.flatMap(({ results }) => results) };
}

/** Creates a client for a port of this machine; wildcard addresses become loopback. */
export function visitHere(host: string, port: number): Visit {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return createVisit(new URL(`http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`));
}

/** Returns true if a visit failed because nothing listens on the port. */
export const isFree = (found: Seen | string): found is string =>
  typeof found === 'string' && /REFUSED|UNREACH|NOTAVAIL|NOTFOUND|EAI_AGAIN|ETIMEDOUT/.test(found);

async function findServer(env: Env, expected: Expected, store: readonly DoctorResult[], release: Release | undefined) {
  const { HOST, PORT: port, SERVICE_VERSION: version } = env;
  if (port === 0) return toFact(false, skipped('PORT is 0: the port is unknown'));
  const visit = visitHere(HOST, port);
  const health = await visit('/health').catch(codeOf);
  if (isFree(health)) {
    if (!expected.running || expected.beforeStart) return toFact(false, ok('not running (port is free)'));
    const advice = `start the server, and find out why it stopped: journalctl -u hosting-api@${port}`;
    return toFact(false, fault('the server is not running', advice));
  }
  const { status, version: running } = typeof health === 'string' ? {} : health.fields;
  if (status !== 'healthy') {
    const advice = 'choose another PORT, or stop the program: `ss -tlnp` shows its name';
    return toFact(false, fault(`PORT ${port} is in use by another program`, advice));
  }
  if (running === version) {
    const gone = skipped('the server stopped answering during the check');
    return toFact(true, await checkServer(visit, version, store, release).catch(() => gone));
  }
  if (expected.beforeStart) return toFact(true, ok(`another version is running until the restart with ${version}`));
  return toFact(true, fault(`the server runs another version than the installed ${version}`, 'restart the server'));
}

async function checkServer(
  visit: Visit,
  version: string,
  store: readonly DoctorResult[],
  release?: Release,
): Promise<DoctorResult> {
  // The file has the hash of each other file.
  const target = '/v1/content.json';
  const expected = release?.find(target)?.variants.identity.sha256;
  const content = await visit(target);
  if (expected !== undefined && content.status === 200 && hash('sha256', content.bytes) !== expected) {
    const advice = 'search the server log for "new release rejected", and check that the server has the same DIST_DIR';
    return fault('the server serves another release than DIST_DIR/current', advice);
  }
  const { status } = await visit('/ready');
  if (status === 200) return ok(`version ${version} is running${release ? ' with this release' : ''}`);
  if (store.some(({ state }) => state !== 'ok')) return skipped(`/ready answers ${status}: the store has a fault`);
  return fault(`/ready answers ${status}`, 'the store does not answer, or the server is stopping: see the server log');
}

/** The records that other checks use. */
interface Records {
  readonly servers: readonly ServerRecord[];
  readonly apiKeys: readonly ApiKeyRecord[];
  readonly operators: readonly OperatorToken[];
}

const noRecords: Records = { servers: [], apiKeys: [], operators: [] };

/** The server empties the WAL every 30 s; a larger WAL is in use by another program. */
const maxWalBytes = 64 * 1024 * 1024;

const ownerAdvice = (path: string): string =>
  `run the doctor as the server's user, who must own ${resolve(path)}; check that the disk is not read-only`;

/** Checks that this user may write to a file, or create files in a folder. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Finds the nearest existing ancestor of a folder, which has the same file system. */
export async function findExisting(folder: string): Promise<{ folder: string; device: number }> {
  const found = await stat(folder).catch(() => undefined);
  if (found || folder === dirname(folder)) return { folder, device: found?.dev ?? 0 };
  return findExisting(dirname(folder));
}

/** Checks the store without writing to it or migrating it. Throws a StoreError. */
export async function checkStore({ DATA_DIR, DATABASE_URL: url }: StoreSettings): Promise<Fact<Records>> {
  if (url !== undefined) {
    const { postgresDialect, readClock, statementMs, withConnection } = await import('../store/postgres.ts');
    const read = async (query: Query): Promise<Fact<Records>> => {
      const results = await examinePostgres(query, () => readClock(query));
      const value = await readRecords(query, postgresDialect, results);
      results.push({ check: 'rights in the store', ...(await checkPrivileges(query)) });
      return { value, results };
    };
    return await withConnection(url, read, statementMs);
  }
  const file = sqliteFileIn(DATA_DIR);
  if (!existsSync(file)) {
    const { folder } = await findExisting(resolve(DATA_DIR));
    const result = isWritable(folder)
      ? ok('no database yet: the first start creates it')
      : fault(`this user can neither open nor create the database in ${folder}`, ownerAdvice(folder));
    return toFact(noRecords, result);
  }
  await using opened = new AsyncDisposableStack();
  const { query } = opened.adopt(readSqlite(file), ({ close }) => close());
  const results = await examineSqlite(query, file);
  // Records of a damaged file may be wrong.
  if (results[0]!.state === 'fault') return { results };
  return { value: await readRecords(query, sqliteDialect, results), results };
}

async function examineSqlite(query: Query, file: string): Promise<DoctorResult[]> {
  const [first] = await query('PRAGMA quick_check(1)');
  const results = [
    first?.quick_check === 'ok'
      ? ok('SQLite, intact')
      : fault('the database is damaged', 'stop the server, move the file away, run `npm run store -- restore FILE`'),
  ];
  // On a read-only disk every path is unwritable: report the first.
  const paths = [dirname(file), file, `${file}-wal`, `${file}-shm`];
  const closed = paths.find((path) => existsSync(path) && !isWritable(path));
  if (closed !== undefined) results.push(fault(`this user cannot write to ${closed}`, ownerAdvice(closed)));
  const walBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes > maxWalBytes) {
    const seen = `hosting.sqlite-wal has ${Math.round(walBytes / 1024 / 1024)} MiB`;
    results.push(fault(seen, 'stop the program that keeps the database open: `lsof` shows its name'));
  }
  return results;
}

async function examinePostgres(query: Query, readTime: () => Promise<number>): Promise<DoctorResult[]> {
  const [facts = {}] = await query(
    `SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS standby,
      current_setting('default_transaction_read_only') AS read_only,
      (SELECT COUNT(*) FROM pg_stat_replication WHERE state = 'streaming') AS standbys,
      current_setting('synchronous_standby_names') AS synchronous`,
  );
  const times = await Array.fromAsync({ length: 5 }, async () => {
    const since = performance.now();
    await query('SELECT 1');
    return performance.now() - since;
  });
  const ms = Math.ceil(times.toSorted((a, b) => a - b)[2]!);
  const seen = `PostgreSQL ${String(facts.version).split(' ')[0]}, answers in ${ms} ms`;
  const slow = 'move the instance closer to its database, or find the cause of the load in pg_stat_activity';
  const results = [ms > waitMs ? fault(`${seen}: too slow for rate limits shared by instances`, slow) : ok(seen)];
  if (facts.standby === true)
    results.push(fault('the database is a standby and takes no writes', 'set DATABASE_URL to the primary'));
  if (facts.read_only === 'on') {
    const advice =
      'managed databases do this when the disk is full: add disk space, then set default_transaction_read_only = off';
    results.push(fault('the database takes no writes: default_transaction_read_only is on', advice));
  }
  if (Number(facts.standbys) > 0 && facts.synchronous === '') {
    const streams = 'standbys stream, but none is synchronous: a failover loses actions and revocations';
    results.push(
      hint(streams, 'set synchronous_standby_names, or synchronous_mode of Patroni: docs/high-availability.md'),
    );
  }
  return [...results, await judgeClock(readTime)];
}

/** Compares the clock of the database with ours, corrected for half the round trip. */
export async function judgeClock(readTime: () => Promise<number>) {
  const asked = Date.now();
  const time = await readTime();
  const halfTripMs = (Date.now() - asked) / 2;
  // Clocks may differ by 2 s (docs/reference.md).
  return { check: 'clock of the store', ...judgeSkew('the database', time - asked - halfTripMs, 2000 + halfTripMs) };
}

/** Reports for a day that the store went back. */
async function checkWentBack(query: Query): Promise<DoctorResult[]> {
  const [row] = await query('SELECT written_at FROM hosting_health WHERE id = $1 AND written_at > $2', [
    wentBackId,
    Date.now() - 24 * 3_600_000,
  ]).catch(() => []);
  if (!row) return [];
  const seen = `the store went back at ${new Date(Number(row['written_at'])).toISOString()}: records are lost`;
  return [fault(seen, 'see docs/runbook.md, "The store went back"')];
}

async function checkPrivileges(query: Query): Promise<DoctorResult> {
  const [{ denied, creates } = {}] = await query(
    String.raw`SELECT has_schema_privilege(current_schema(), 'CREATE') AS creates,
      (SELECT string_agg(relname, ', ' ORDER BY relname) FROM pg_class WHERE relkind = 'r'
        AND relname LIKE 'hosting\_%' AND relname <> 'hosting_migrations' AND pg_table_is_visible(oid)
        AND NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
          AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))) AS denied`,
  );
  if (typeof denied === 'string') {
    const advice = 'as the owner, GRANT SELECT, INSERT, UPDATE, DELETE ON these tables TO the user';
    return fault(`the user of DATABASE_URL cannot read and write ${denied}`, advice);
  }
  if (creates === true) return ok('reads, writes, and creates tables');
  const advice = 'before an update, run `npm run store -- migrate` as the owner, or GRANT CREATE ON SCHEMA to the user';
  return hint('reads and writes, but cannot create tables', advice);
}

/** Checks the version of the tables and reads the records; undefined if unreadable. */
async function readRecords(query: Query, dialect: Dialect, results: DoctorResult[]): Promise<Records | undefined> {
  const add = (result: DoctorResult): void => void results.push({ check: 'tables', ...result });
  if ((await query(dialect.findMigrations)).length === 0) {
    add(ok('no tables yet: the first start creates them'));
    return noRecords;
  }
  try {
    const version = await readSchemaVersion(query);
    const latest = migrations.length;
    const seen = `version ${version}`;
    const migrate = 'to migrate before the start, run `npm run store -- migrate`';
    if (version < latest) add(hint(`${seen} of ${latest}: the next start migrates the tables`, migrate));
    else add(ok(version === latest ? seen : `${seen}, newer than this program but compatible`));
    results.push(...(await checkWentBack(query)));
    const [servers, apiKeys] = [await createServerRecords(query).list(), await createApiKeyRecords(query).list()];
    // Older versions have no such table.
    const tokens = createSecretRecords(query, 'hosting_operators', OperatorToken);
    return { servers, apiKeys, operators: version < latest ? [] : await tokens.list() };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    add(fault(error.message, 'install the version of the program that wrote the database, or replace the record'));
    return undefined;
  }
}
