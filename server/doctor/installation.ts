import { hash } from 'node:crypto';
import type { Environment } from '#common/environment.ts';
import type { Env } from '../env.ts';
import { createProviders, loadProviders } from '../hosting/providers/index.ts';
import type { Provider } from '../hosting/providers/types.ts';
import { createLog } from '../log.ts';
import type { Release } from '../releases/load.ts';
import { openReleases } from '../releases/service.ts';
import { toWindows } from '../status/platform.ts';
import { connectTo, createVisit } from './client.ts';
import type { Visit } from './client.ts';
import { fault, ok, skipped } from './run.ts';
import type { Outcome } from './run.ts';
import { checkStore } from './store.ts';

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

/** Opens an installation for looking. Each part is read once, when the first check asks; its clients close with `open`. */
export function openInstallation(env: Env, environment: Environment, open: AsyncDisposableStack, mustRun = false) {
  const release = once(() => loadRelease(env.DIST_DIR));
  return {
    env,
    environment,
    now: () => Date.now(),
    /** Throws a ReleaseError if the server would refuse the release. */
    release,
    store: once(() => checkStore(env)),
    /** Whether our server answers on HOST and PORT, and what is wrong with it. */
    server: once(async () => findServer(env, mustRun, await release().catch(() => undefined))),
    /** The reports of the providers; undefined if PROVIDERS_FILE is not set. */
    providers: once(() => openProviders(env, environment, open)),
  };
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  return () => (value ??= read());
}

/** Loads the current release as the server does, which verifies every file. */
async function loadRelease(dist: string): Promise<Release> {
  const releases = await openReleases({
    dist,
    cacheBytes: 0,
    checkStatus: ({ maintenance }) => void toWindows(maintenance),
    onLoaded: () => undefined,
    onRejected: () => undefined,
  });
  releases.stop();
  return releases.current();
}

/** Checks the credentials of providers. */
export async function askProviders(providers: ReadonlyMap<string, Provider>): Promise<readonly ProviderReport[]> {
  const reports = [...providers].map(async ([name, provider]) => {
    const found = await provider.check();
    const outcomes = found.map((one) => ({
      check: `provider ${name}`,
      ...(one.level === 'info' ? ok(one.message) : fault(one.message, one.advice)),
    }));
    return { name, provider, outcomes, answers: !found.some((one) => one.level !== 'info' && one.isUnreachable) };
  });
  return await Promise.all(reports);
}

async function openProviders(
  env: Env,
  environment: Environment,
  open: AsyncDisposableStack,
): Promise<readonly ProviderReport[] | undefined> {
  if (env.PROVIDERS_FILE === undefined) return undefined;
  const config = loadProviders(env.PROVIDERS_FILE, environment);
  const timeoutMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000;
  const providers = createProviders(config, { dataDir: env.DATA_DIR, log: createSilentLog(), timeoutMs });
  for (const provider of providers.values()) open.defer(() => provider.close());
  const urlOf = (name: string): string | undefined => (config[name] as { readonly url?: string }).url;
  return (await askProviders(providers)).map((report) => ({ ...report, url: urlOf(report.name) }));
}

async function findServer(env: Env, mustRun: boolean, release: Release | undefined) {
  const { HOST, PORT: port, SERVICE_VERSION: version } = env;
  if (port === 0) return { isRunning: false, outcome: skipped('PORT is 0, so its port is not known') };
  const url = toUrl(HOST, port);
  if (!(await isTaken(url))) {
    const advice = `start it, and see why it ended: journalctl -u hosting-api@${port}`;
    const outcome = mustRun ? fault('it does not run', advice) : ok('it does not run; its port is free');
    return { isRunning: false, outcome };
  }
  const visit = createVisit(url);
  const health = (await visit('/health').catch(() => undefined))?.fields();
  if (health?.['status'] !== 'healthy') {
    const advice = 'set another PORT, or end the program: `ss -tlnp` names it';
    return { isRunning: false, outcome: fault(`another program listens on port ${port}`, advice) };
  }
  const outcome =
    health['version'] === version
      ? await checkServer(visit, version, release).catch(() => skipped('it stopped answering while it was looked at'))
      : fault(`it runs another version than ${version}, which is installed here`, 'restart it');
  return { isRunning: true, outcome };
}

/** Files that change with every release, but for one whose only change is a picture. */
const compared = ['/v1/blog/list', '/v1/kb/list', '/v1/plans', '/v1/kb/search.json', '/v1/openapi.json'];

async function checkServer(visit: Visit, version: string, release: Release | undefined): Promise<Outcome> {
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
  return fault(`/ready answers ${status}`, 'its store does not answer, or it is being stopped: see its log');
}

/** The address of a server on this machine; one on all addresses is reached by that of loopback. */
export function toUrl(host: string, port: number): URL {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return new URL(`http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`);
}

/** Whether a program accepts connections. */
export async function isTaken(url: URL): Promise<boolean> {
  return await connectTo(url).then(
    (socket) => socket.destroy().destroyed,
    () => false,
  );
}
