import { hash } from 'node:crypto';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Environment } from '#common/environment.ts';
import type { Env } from '../env.ts';
import { ProvidersError, createProviders, loadProviders } from '../hosting/providers.ts';
import type { Provider } from '../hosting/providers/types.ts';
import { waitMs } from '../limits.ts';
import { createLog } from '../log.ts';
import { ReleaseError } from '../releases/files.ts';
import { openReleases } from '../releases/service.ts';
import type { Release } from '../releases/service.ts';
import { toWindows } from '../status/platform.ts';
import { StoreError } from '../store/database.ts';
import type { Dialect, Query, StoreSettings } from '../store/database.ts';
import { createApiKeyRecords, createServerRecords, sqliteFileIn } from '../store/index.ts';
import { migrations, readVersion } from '../store/migrations.ts';
import { readSqlite, sqliteDialect } from '../store/sqlite.ts';
import type { ApiKeyRecord, ServerRecord } from '../store/types.ts';
import { codeOf, createVisit, judgeSkew } from './client.ts';
import type { Seen, Visit } from './client.ts';
import { fault, hint, ok, skipped } from './run.ts';
import type { Outcome } from './run.ts';

/** What the checks of an installation look at. */
export type Installation = ReturnType<typeof openInstallation>;

/** A part of an installation, unless it cannot be read, and what was seen of it. */
interface Fact<Value> {
  readonly value?: Value | undefined;
  readonly outcomes: readonly Outcome[];
}

const toFact = <Value>(value: Value, outcome: Outcome): Fact<Value> => ({ value, outcomes: [outcome] });

/** Whether a server that does not run is a fault, unless it is before the start of this version. */
export interface Expected {
  readonly running?: boolean | undefined;
  readonly beforeStart?: boolean | undefined;
}

/** Creates a log that writes nothing: what a check finds is its outcome. */
export const createSilentLog = () => createLog({ level: 'silent', format: 'json', destination: process.stdout });

/** Opens an installation for looking. Each fact is read once, when the first check asks; clients close with `opened`. */
export function openInstallation(
  env: Env,
  environment: Environment,
  options: Expected & { readonly opened: AsyncDisposableStack; readonly installed: string },
) {
  const { opened, installed } = options;
  const release = once('run `npm run build`, or `npm run releases -- rollback` to the release before', async () => {
    const value = await readRelease(env.DIST_DIR);
    return toFact(value, ok(`${value.id} is whole`));
  });
  const storeAdvice =
    env.DATABASE_URL === undefined
      ? 'see who owns the file, and restore a backup if it is damaged: `npm run store -- restore FILE`'
      : 'see that PostgreSQL runs, that this machine may connect, and the user and password of DATABASE_URL';
  const store = once(storeAdvice, () => checkStore(env));
  /** Whether our server answers on HOST and PORT. */
  const server = once('', async () => findServer(env, options, (await store()).outcomes, (await release()).value));
  const providers = once('correct the file; docs/reference.md has an example of each type', async () => {
    const { PROVIDERS_FILE: file, DATA_DIR: dataDir, UPSTREAM_TIMEOUT_SECONDS: seconds } = env;
    if (file === undefined) return { outcomes: [skipped('PROVIDERS_FILE is not set: there are no servers')] };
    const config = loadProviders(file, environment);
    const created = createProviders(config, { dataDir, log: createSilentLog(), timeoutMs: seconds * 1000 });
    for (const provider of created.values()) opened.defer(() => provider.close());
    return await askProviders(created, config);
  });
  return { env, environment, installed, now: () => Date.now(), release, store, server, providers };
}

/** Reads a fact once. If that fails with an error for people, `advice` says what to do. */
function once<Value>(advice: string, read: () => Promise<Fact<Value>>): () => Promise<Fact<Value>> {
  const onError = (error: unknown): Fact<Value> => {
    const isForPeople = [ReleaseError, StoreError, ProvidersError].some((kind) => error instanceof kind);
    if (!isForPeople) return { outcomes: [toSkipped(error)] };
    return { outcomes: (error as Error).message.split('\n').map((line) => fault(line, advice)) };
  };
  let fact: Promise<Fact<Value>> | undefined;
  return () => (fact ??= read().catch(onError));
}

/** Without the message of the error: it may hold a path, an address or a value. */
export function toSkipped(error: unknown): Outcome {
  const { code, name } = error as NodeJS.ErrnoException;
  return skipped(`the check failed (${code ?? name})`);
}

/** Loads the current release as the server does, which verifies every file. Throws a ReleaseError. */
export async function readRelease(dist: string): Promise<Release> {
  const releases = await openReleases({
    dist,
    cacheBytes: 0,
    checkStatus: ({ maintenance }) => void toWindows(maintenance),
    onLoaded() {},
    onRejected() {},
  });
  releases.stop();
  return releases.current();
}

/** Checks the credentials of providers; the settings have the `url` of their upstreams. */
export async function askProviders(
  providers: ReadonlyMap<string, Provider>,
  settings: Readonly<Record<string, object>> = {},
) {
  const reports = [...providers].map(async ([name, provider]) => {
    const { url } = (settings[name] ?? {}) as { readonly url?: string };
    const found = await provider.check();
    const [lost, ...again] = found.filter((one) => one.level !== 'info' && one.isUnreachable);
    // An upstream that is down is so for each of its credentials.
    const outcomes = found
      .filter((one) => !again.includes(one))
      .map((one): Outcome => {
        const outcome = one.level === 'info' ? ok(one.message) : fault(one.message, one.advice);
        return { check: `provider ${name}`, ...outcome, ...(lost && url && { url }) };
      });
    return { name, provider, url, outcomes, answers: !lost };
  });
  const value = await Promise.all(reports);
  return { value, outcomes: value.flatMap(({ outcomes }) => outcomes) };
}

/** Creates the client of a port of this machine; a server on all addresses is reached by that of loopback. */
export function visitHere(host: string, port: number): Visit {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return createVisit(new URL(`http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`));
}

/** Whether a failed visit found no program that listens. */
export const isFree = (found: Seen | string): found is string =>
  typeof found === 'string' && /REFUSED|UNREACH|NOTAVAIL|NOTFOUND|EAI_AGAIN|ETIMEDOUT/.test(found);

async function findServer(env: Env, expected: Expected, store: readonly Outcome[], release: Release | undefined) {
  const { HOST, PORT: port, SERVICE_VERSION: version } = env;
  if (port === 0) return toFact(false, skipped('PORT is 0, so its port is not known'));
  const visit = visitHere(HOST, port);
  const health = await visit('/health').catch(codeOf);
  if (isFree(health)) {
    if (!expected.running || expected.beforeStart) return toFact(false, ok('it does not run; its port is free'));
    const advice = `start it, and see why it ended: journalctl -u hosting-api@${port}`;
    return toFact(false, fault('it does not run', advice));
  }
  const { status, version: running } = typeof health === 'string' ? {} : health.fields;
  if (status !== 'healthy') {
    const advice = 'set another PORT, or end the program: `ss -tlnp` names it';
    return toFact(false, fault(`another program listens on port ${port}`, advice));
  }
  if (running === version) {
    const gone = skipped('it stopped answering while it was looked at');
    return toFact(true, await checkServer(visit, version, store, release).catch(() => gone));
  }
  if (expected.beforeStart) return toFact(true, ok(`it runs another version until it is restarted with ${version}`));
  return toFact(true, fault(`it runs another version than ${version}, which is installed here`, 'restart it'));
}

/** Files that change with every release, but for one whose only change is a picture. */
const compared = ['/v1/blog/list', '/v1/kb/list', '/v1/plans', '/v1/kb/search.json', '/v1/openapi.json'];

async function checkServer(
  visit: Visit,
  version: string,
  store: readonly Outcome[],
  release?: Release,
): Promise<Outcome> {
  const differs = compared.map(async (target) => {
    const expected = release?.find(target)?.variants.identity.sha256;
    const { bytes, status } = await visit(target);
    return expected !== undefined && status === 200 && hash('sha256', bytes) !== expected;
  });
  if ((await Promise.all(differs)).includes(true)) {
    const advice = 'see its log for "new release rejected", and whether it has the same DIST_DIR';
    return fault('it serves another release than DIST_DIR/current', advice);
  }
  const { status } = await visit('/ready');
  if (status === 200) return ok(`it runs with version ${version}${release ? ' and this release' : ''}`);
  if (store.some(({ state }) => state !== 'ok')) return skipped(`/ready answers ${status}, as its store has a fault`);
  return fault(`/ready answers ${status}`, 'its store does not answer, or it is being stopped: see its log');
}

/** The records that other checks look at. */
interface Records {
  readonly servers: readonly ServerRecord[];
  readonly apiKeys: readonly ApiKeyRecord[];
}

const noRecords: Records = { servers: [], apiKeys: [] };

/** A WAL is emptied every half minute; beyond this size, something keeps it. */
const maxWalBytes = 64 * 1024 * 1024;

const ownerAdvice = (path: string): string =>
  `run this as the user of the server; if it is, make the user own ${resolve(path)}, on a disk that is not read-only`;

/** Whether this user may write to a file, or create files in a folder. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Finds the nearest folder that exists: one that is created later lies where it does. */
export async function findExisting(folder: string): Promise<{ folder: string; device: number }> {
  const found = await stat(folder).catch(() => undefined);
  if (found || folder === dirname(folder)) return { folder, device: found?.dev ?? 0 };
  return findExisting(dirname(folder));
}

/** Checks the store without writing to it. It is opened for reading alone, and not migrated. Throws a StoreError. */
export async function checkStore({ DATA_DIR, DATABASE_URL: url }: StoreSettings): Promise<Fact<Records>> {
  await using opened = new AsyncDisposableStack();
  if (url !== undefined) {
    const { postgresDialect, readPostgres } = await import('../store/postgres.ts');
    const { query } = opened.adopt(await readPostgres(url), ({ close }) => close());
    const outcomes = await examinePostgres(query);
    const value = await readRecords(query, postgresDialect, outcomes);
    outcomes.push({ check: 'rights in the store', ...(await checkPrivileges(query)) });
    return { value, outcomes };
  }
  const file = sqliteFileIn(DATA_DIR);
  if (!existsSync(file)) {
    const { folder } = await findExisting(resolve(DATA_DIR));
    const outcome = isWritable(folder)
      ? ok('there is none yet: the first start creates it')
      : fault(`this user can neither open nor create it in ${folder}`, ownerAdvice(folder));
    return toFact(noRecords, outcome);
  }
  const { query } = opened.adopt(readSqlite(file), ({ close }) => close());
  const outcomes = await examineSqlite(query, file);
  // What is left of a damaged file is not read.
  if (outcomes[0]!.state === 'fault') return { outcomes };
  return { value: await readRecords(query, sqliteDialect, outcomes), outcomes };
}

async function examineSqlite(query: Query, file: string): Promise<Outcome[]> {
  const [first] = await query('PRAGMA quick_check(1)');
  const outcomes = [
    first?.quick_check === 'ok'
      ? ok(`SQLite, whole; ${(await isWal(file)) ? 'WAL' : 'the next start switches to WAL'}`)
      : fault('the database is damaged', 'stop the server, move the file away, and `npm run store -- restore FILE`'),
  ];
  // On a disk that is read-only, none of them can be written: the first says so.
  const paths = [dirname(file), file, `${file}-wal`, `${file}-shm`];
  const closed = paths.find((path) => existsSync(path) && !isWritable(path));
  if (closed !== undefined) outcomes.push(fault(`this user cannot write ${closed}`, ownerAdvice(closed)));
  const walBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes > maxWalBytes) {
    const seen = `hosting.sqlite-wal has ${Math.round(walBytes / 1024 / 1024)} MiB`;
    outcomes.push(fault(seen, 'end the program that keeps the database open: lsof names it'));
  }
  return outcomes;
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

async function examinePostgres(query: Query): Promise<Outcome[]> {
  const asked = Date.now();
  const [facts = {}] = await query(
    `SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS standby,
      (SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_read_only') AS read_only,
      CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now`,
  );
  const clock = compareClocks('the database', asked, Date.now(), Number(facts.now));
  const times = await Array.fromAsync({ length: 5 }, async () => {
    const since = performance.now();
    await query('SELECT 1');
    return performance.now() - since;
  });
  const ms = Math.ceil(times.toSorted((a, b) => a - b)[2]!);
  const seen = `PostgreSQL ${String(facts.version).split(' ')[0]}, answers in ${ms} ms`;
  const slow = 'move the instance nearer to its database, or see what loads it: pg_stat_activity';
  const outcomes = [ms > waitMs ? fault(`${seen}: limits are counted by each instance alone`, slow) : ok(seen)];
  if (facts.standby === true)
    outcomes.push(fault('it is a standby, which takes no writes', 'set DATABASE_URL to the primary'));
  // This session is read-only itself.
  if (facts.read_only === 'on') {
    const advice =
      'a managed database does this when its disk is full: give it room, then set default_transaction_read_only = off';
    outcomes.push(fault('it takes no writes: default_transaction_read_only is on', advice));
  }
  return [...outcomes, { check: 'clock of the store', ...clock }];
}

async function checkPrivileges(query: Query): Promise<Outcome> {
  const [{ denied, creates } = {}] = await query(
    String.raw`SELECT has_schema_privilege(current_schema(), 'CREATE') AS creates,
      (SELECT string_agg(relname, ', ' ORDER BY relname) FROM pg_class WHERE relkind = 'r'
        AND relname LIKE 'hosting\_%' AND relname <> 'hosting_migrations' AND pg_table_is_visible(oid)
        AND NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
          AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))) AS denied`,
  );
  if (typeof denied === 'string') {
    const advice = 'as the owner of the tables: GRANT SELECT, INSERT, UPDATE, DELETE on them to the user';
    return fault(`the user of DATABASE_URL may not read and write ${denied}`, advice);
  }
  if (creates === true) return ok('reads, writes, and creates tables');
  const advice = 'before an update, run `npm run store -- migrate` as the owner, or GRANT CREATE ON SCHEMA to it';
  return hint('reads and writes, but cannot create tables', advice);
}

/** Checks the version of the tables, and reads the records; undefined if they cannot be read. */
async function readRecords(query: Query, dialect: Dialect, outcomes: Outcome[]): Promise<Records | undefined> {
  const add = (outcome: Outcome): void => void outcomes.push({ check: 'tables', ...outcome });
  if ((await query(dialect.findMigrations)).length === 0) {
    add(ok('there are none yet: the first start creates them'));
    return noRecords;
  }
  try {
    const version = await readVersion(query);
    const latest = migrations.length;
    const seen = `version ${version}`;
    const migrate = 'or before it: `npm run store -- migrate`';
    if (version < latest) add(hint(`${seen} of ${latest}: the next start migrates them`, migrate));
    else add(ok(version === latest ? seen : `${seen}, newer than this program, which can use it`));
    return { servers: await createServerRecords(query).list(), apiKeys: await createApiKeyRecords(query).list() };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    add(fault(error.message, 'install the version of the program that wrote it, or replace what is corrupted'));
    return undefined;
  }
}
