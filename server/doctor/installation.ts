import { hash } from 'node:crypto';
import { constants, existsSync, statSync } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Environment } from '#common/environment.ts';
import type { Env } from '../env.ts';
import { createProviders, loadProviders } from '../hosting/providers.ts';
import type { Provider } from '../hosting/providers/types.ts';
import { waitMs } from '../limits.ts';
import { createLog } from '../log.ts';
import type { Release } from '../releases/service.ts';
import { openReleases } from '../releases/service.ts';
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

/** What the check of a provider found. */
export interface ProviderReport {
  readonly name: string;
  readonly provider: Provider;
  /** The address of its upstream, if it has one. */
  readonly url?: string | undefined;
  /** Whether its upstream answers, so that more can be asked. */
  readonly answers: boolean;
  readonly outcomes: readonly Outcome[];
}

/** Creates a log that writes nothing: what a check finds is its outcome. */
export const createSilentLog = () => createLog({ level: 'silent', format: 'json', destination: process.stdout });

/** Opens an installation for looking. Each part is read once, when the first check asks; its clients close with `opened`. */
export function openInstallation(env: Env, environment: Environment, opened: AsyncDisposableStack, expected: Expected) {
  const release = once(() => readRelease(env.DIST_DIR));
  const store = once(() => checkStore(env));
  return {
    env,
    environment,
    now: () => Date.now(),
    /** Throws a ReleaseError if the server would refuse the release. */
    release,
    store,
    /** Whether our server answers on HOST and PORT, and what is wrong with it, apart from its store. */
    server: once(async () => {
      const [current, report] = await Promise.all([release().catch(() => undefined), store().catch(() => undefined)]);
      const isStoreWrong = report?.outcomes.some(({ state }) => state === 'fault') ?? true;
      return findServer(env, expected, isStoreWrong, current);
    }),
    /** The reports of the providers; undefined if PROVIDERS_FILE is not set. */
    providers: once(async (): Promise<readonly ProviderReport[] | undefined> => {
      const { PROVIDERS_FILE: file, DATA_DIR: dataDir, UPSTREAM_TIMEOUT_SECONDS: seconds } = env;
      if (file === undefined) return undefined;
      const config = loadProviders(file, environment);
      const providers = createProviders(config, { dataDir, log: createSilentLog(), timeoutMs: seconds * 1000 });
      for (const provider of providers.values()) opened.defer(() => provider.close());
      const urlOf = (name: string): string | undefined => (config[name] as { readonly url?: string }).url;
      return (await askProviders(providers)).map((report) => ({ ...report, url: urlOf(report.name) }));
    }),
  };
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  return () => (value ??= read());
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

/** Checks the credentials of providers. */
export async function askProviders(providers: ReadonlyMap<string, Provider>): Promise<readonly ProviderReport[]> {
  const reports = [...providers].map(async ([name, provider]) => {
    const found = await provider.check();
    const [lost, ...again] = found.filter((one) => one.level !== 'info' && one.isUnreachable);
    // An upstream that is down is so for each of its credentials.
    const outcomes = found
      .filter((one) => !again.includes(one))
      .map((one) => ({
        check: `provider ${name}`,
        ...(one.level === 'info' ? ok(one.message) : fault(one.message, one.advice)),
      }));
    return { name, provider, outcomes, answers: !lost };
  });
  return await Promise.all(reports);
}

/** Creates the client of a port of this machine; a server on all addresses is reached by that of loopback. */
export function visitHere(host: string, port: number): Visit {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return createVisit(new URL(`http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`));
}

/** Whether a failed visit found no program that listens. */
export const isFree = (found: Seen | string): found is string =>
  typeof found === 'string' && /REFUSED|UNREACH|NOTAVAIL|NOTFOUND|EAI_AGAIN|ETIMEDOUT/.test(found);

/** A server of this version, none or one of the version before it, or whatever there is. */
export type Expected = 'running' | 'not yet' | 'any';

async function findServer(env: Env, expected: Expected, isStoreWrong: boolean, release: Release | undefined) {
  const { HOST, PORT: port, SERVICE_VERSION: version } = env;
  if (port === 0) return { isRunning: false, outcome: skipped('PORT is 0, so its port is not known') };
  const visit = visitHere(HOST, port);
  const health = await visit('/health').catch(codeOf);
  if (isFree(health)) {
    const advice = `start it, and see why it ended: journalctl -u hosting-api@${port}`;
    const outcome = expected === 'running' ? fault('it does not run', advice) : ok('it does not run; its port is free');
    return { isRunning: false, outcome };
  }
  const { status, version: running } = typeof health === 'string' ? {} : health.fields();
  if (status !== 'healthy') {
    const advice = 'set another PORT, or end the program: `ss -tlnp` names it';
    return { isRunning: false, outcome: fault(`another program listens on port ${port}`, advice) };
  }
  if (running !== version && expected === 'not yet') {
    return { isRunning: true, outcome: ok(`it runs another version until it is restarted with ${version}`) };
  }
  const gone = skipped('it stopped answering while it was looked at');
  const outcome =
    running === version
      ? await checkServer(visit, version, isStoreWrong, release).catch(() => gone)
      : fault(`it runs another version than ${version}, which is installed here`, 'restart it');
  return { isRunning: true, outcome };
}

/** Files that change with every release, but for one whose only change is a picture. */
const compared = ['/v1/blog/list', '/v1/kb/list', '/v1/plans', '/v1/kb/search.json', '/v1/openapi.json'];

async function checkServer(visit: Visit, version: string, isStoreWrong: boolean, release?: Release): Promise<Outcome> {
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
  if (isStoreWrong) return skipped(`/ready answers ${status}, as its store has a fault`);
  return fault(`/ready answers ${status}`, 'its store does not answer, or it is being stopped: see its log');
}

/** What the checks of the store found. */
export interface StoreReport {
  readonly outcomes: readonly Outcome[];
  /** The records that other checks look at; undefined if they cannot be read. */
  readonly records?:
    | { readonly servers: readonly ServerRecord[]; readonly apiKeys: readonly ApiKeyRecord[] }
    | undefined;
}

const noRecords = { servers: [], apiKeys: [] } as const;

/** A WAL is emptied every half minute; beyond this size, something keeps it. */
const maxWalBytes = 64 * 1024 * 1024;

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

/** Checks the store without writing to it. It is opened for reading alone, and not migrated. */
export async function checkStore({ DATA_DIR, DATABASE_URL: url }: StoreSettings): Promise<StoreReport> {
  const file = sqliteFileIn(DATA_DIR);
  try {
    await using opened = new AsyncDisposableStack();
    if (url !== undefined) {
      const { readPostgres, postgresDialect } = await import('../store/postgres.ts');
      const { query, close } = await readPostgres(url);
      opened.defer(close);
      const { outcomes, creates } = await examinePostgres(query);
      const records = await readRecords(query, postgresDialect, outcomes);
      outcomes.push({ ...(await checkPrivileges(query, creates)), check: 'rights in the store' });
      return { outcomes, records };
    }
    if (!existsSync(file)) {
      const { folder } = await findExisting(resolve(dirname(file)));
      const outcome = (await isWritable(folder))
        ? ok('there is none yet: the first start creates it')
        : fault(`this user can neither open nor create it in ${folder}`, ownerAdvice(folder));
      return { outcomes: [outcome], records: noRecords };
    }
    const { query, close } = readSqlite(file);
    opened.defer(close);
    const outcomes = await examineSqlite(query, file);
    const isWhole = outcomes[0]!.state === 'ok';
    return { outcomes, records: isWhole ? await readRecords(query, sqliteDialect, outcomes) : undefined };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const advice =
      url === undefined
        ? 'see who owns the file, and restore a backup if it is damaged: `npm run store -- restore FILE`'
        : 'see that PostgreSQL runs, that this machine may connect, and the user and password of DATABASE_URL';
    return { outcomes: [fault(error.message, advice)] };
  }
}

async function examineSqlite(query: Query, file: string): Promise<Outcome[]> {
  const [first] = await query('PRAGMA quick_check(1)');
  const outcomes = [
    first?.['quick_check'] === 'ok'
      ? ok(`SQLite, whole; ${(await isWal(file)) ? 'WAL' : 'the next start switches to WAL'}`)
      : fault('the database is damaged', 'stop the server, move the file away, and `npm run store -- restore FILE`'),
  ];
  // On a disk that is read-only, none of them can be written: the first says so.
  for (const path of [dirname(file), file, `${file}-wal`, `${file}-shm`].filter((one) => existsSync(one))) {
    // oxlint-disable-next-line no-await-in-loop
    if (await isWritable(path)) continue;
    outcomes.push(fault(`this user cannot write ${path}`, ownerAdvice(path)));
    break;
  }
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

async function examinePostgres(query: Query) {
  const asked = Date.now();
  const [facts = {}] = await query(
    `SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS standby,
      (SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_read_only') AS read_only,
      has_schema_privilege(current_schema(), 'CREATE') AS creates,
      CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now`,
  );
  const clock = compareClocks('the database', asked, Date.now(), Number(facts['now']));
  const times: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const since = performance.now();
    // oxlint-disable-next-line no-await-in-loop
    await query('SELECT 1');
    times.push(performance.now() - since);
  }
  const ms = Math.ceil(times.toSorted((a, b) => a - b)[2]!);
  const seen = `PostgreSQL ${String(facts['version']).split(' ')[0]}, answers in ${ms} ms`;
  const slow = 'move the instance nearer to its database, or see what loads it: pg_stat_activity';
  const outcomes = [ms > waitMs ? fault(`${seen}: limits are counted by each instance alone`, slow) : ok(seen)];
  if (facts['standby'] === true)
    outcomes.push(fault('it is a standby, which takes no writes', 'set DATABASE_URL to the primary'));
  // This session is read-only itself.
  if (facts['read_only'] === 'on') {
    const advice =
      'a managed database does this when its disk is full: give it room, then set default_transaction_read_only = off';
    outcomes.push(fault('it takes no writes: default_transaction_read_only is on', advice));
  }
  outcomes.push({ ...clock, check: 'clock of the store' });
  return { outcomes, creates: facts['creates'] === true };
}

async function checkPrivileges(query: Query, creates: boolean): Promise<Outcome> {
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
async function readRecords(query: Query, dialect: Dialect, outcomes: Outcome[]): Promise<StoreReport['records']> {
  const add = (outcome: Outcome): void => void outcomes.push({ ...outcome, check: 'tables' });
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
