import type { Env } from '../../env.ts';
import type { Environment } from '#common/environment.ts';
import { createPriceSource } from '../../domains/sources.ts';
import type { ProviderSettings } from '../../hosting/providers/config.ts';
import { createLog } from '../../log.ts';
import { ProviderError } from '../../upstream/error.ts';
import type { Finding, Outcome } from '../finding.ts';
import { fault, ok, skipped } from '../finding.ts';
import { checkClock, checkUpstreamClock } from './clock.ts';
import { checkDisks } from './disk.ts';
import { checkListening, checkMetrics } from './listening.ts';
import { checkProviders } from './providers.ts';
import type { ProviderReport } from './providers.ts';
import { checkRelease, checkReleaseAge, checkRollback } from './release.ts';
import { checkRights } from './rights.ts';
import { checkKeys, checkRefs, checkServers } from './servers.ts';
import { readSettings } from './settings.ts';
import { checkStatus } from './status.ts';
import { checkStore, unreadable } from './store.ts';
import type { StoreReport } from './store.ts';
import { checkWebhook } from './webhook.ts';

const silent = createLog({ level: 'silent', format: 'json', destination: process.stdout });

/**
 * Looks at this installation for all that visitors would notice, whether the server runs or not. It changes nothing: it
 * writes no file, migrates no store, and sends no action, command or message.
 */
export async function examineInstallation(environment: Environment): Promise<readonly Finding[]> {
  const { env, findings } = readSettings(environment);
  if (!env) return [...findings, { check: 'all others', ...skipped('the server does not start with these settings') }];
  const { release, outcome } = await checkRelease(env.DIST_DIR);
  await using open = new AsyncDisposableStack();
  const [clock, disks, rights, rollback, listening, store, hosting, webhook, prices] = await Promise.all([
    attempt('clock', () => checkClock(env.DIST_DIR)),
    attempt('disk', () => checkDisks(env)),
    attempt('rights', () => checkRights(env, environment)),
    attempt('rollback', () => checkRollback(env.DIST_DIR)),
    checkListening(env, release),
    checkStore(env).catch((error: unknown) => ({ ...unreadable, findings: [toSkipped('store', error)] })),
    checkHosting(env, environment, open).catch((error: unknown) => ({
      ...noHosting,
      findings: [toSkipped('providers', error)],
    })),
    attempt('webhook', () => checkWebhook(env)),
    attempt('domain prices', () => checkPrices(env)),
  ]);
  const urls = [...hosting.urls, ...(env.UPTIME_KUMA_URL === undefined ? [] : [env.UPTIME_KUMA_URL])];
  const [upstreamClock, metrics, records, status] = await Promise.all([
    attempt('clock of an upstream', () => checkUpstreamClock(urls)),
    attempt('metrics', () => checkMetrics(env, listening.isRunning)),
    attempt('servers', () => checkRecords(env, store, hosting.reports)),
    attempt('status', () => checkStatus(env, release, listening.isRunning)),
  ]);
  return [
    ...findings,
    ...clock,
    ...upstreamClock,
    ...disks,
    ...rights,
    ...store.findings,
    { check: 'release', ...outcome },
    ...(release ? [checkReleaseAge(release, Date.now())] : []),
    ...rollback,
    ...listening.findings,
    ...metrics,
    ...hosting.findings,
    ...records,
    ...status,
    ...webhook,
    ...prices,
    { check: 'domain look-ups', ...skipped('`npm run domains -- doctor` asks the registry of each TLD') },
  ];
}

/** Makes a check. One that fails unexpectedly does not hide what the others found. */
async function attempt(check: string, make: () => Promise<Outcome | readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    const found = await make();
    return 'state' in found ? [{ check, ...found }] : found;
  } catch (error) {
    return [toSkipped(check, error)];
  }
}

/** What a check says that failed unexpectedly. */
function toSkipped(check: string, error: unknown): Finding {
  const { code, name } = error as NodeJS.ErrnoException;
  // A message may hold a path, an address or a value.
  return { check, ...skipped(`the check failed (${code ?? name})`) };
}

interface Hosting {
  /** The providers, with clients that are still open. */
  readonly reports: readonly ProviderReport[];
  /** The addresses of the upstreams that answer. */
  readonly urls: readonly string[];
  readonly findings: readonly Finding[];
}

const noHosting = { reports: [], urls: [] } as const;

/** Checks the providers, with clients of their own, which are closed with `open`. */
async function checkHosting(env: Env, environment: Environment, open: AsyncDisposableStack): Promise<Hosting> {
  const check = 'providers';
  if (env.PROVIDERS_FILE === undefined) {
    return { ...noHosting, findings: [{ check, ...skipped('PROVIDERS_FILE is not set: there are no servers') }] };
  }
  const { ProvidersError, loadProviders } = await import('../../hosting/providers/config.ts');
  const { createProviders } = await import('../../hosting/providers/index.ts');
  let config: Record<string, ProviderSettings>;
  try {
    config = loadProviders(env.PROVIDERS_FILE, environment);
  } catch (error) {
    if (!(error instanceof ProvidersError)) throw error;
    const advice = 'correct the file; docs/operating.md has an example of each type';
    return { ...noHosting, findings: error.message.split('\n').map((line) => ({ check, ...fault(line, advice) })) };
  }
  const timeoutMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000;
  const providers = createProviders(config, { dataDir: env.DATA_DIR, log: silent, timeoutMs });
  for (const provider of providers.values()) open.defer(() => provider.close());
  const reports = await checkProviders(providers);
  const urls = reports.flatMap(({ name, answers }) => {
    const settings = config[name]!;
    return answers && 'url' in settings ? [settings.url] : [];
  });
  return { reports, urls, findings: reports.flatMap(({ findings }) => findings) };
}

/** Checks the records of the store, if it could be read, against the providers. */
async function checkRecords(
  env: Env,
  { servers, apiKeys, isReadable }: StoreReport,
  reports: Hosting['reports'],
): Promise<readonly Finding[]> {
  if (!isReadable) return [{ check: 'servers', ...skipped('the store cannot be read') }];
  const [records, refs] = await Promise.all([checkServers(servers, env.PROVIDERS_FILE), checkRefs(servers, reports)]);
  return [...records, ...refs, ...checkKeys(apiKeys, servers, Date.now())];
}

/** Reads the prices of a billing system once. */
async function checkPrices(env: Env): Promise<Outcome> {
  const source = createPriceSource(env, silent);
  if (!source) return skipped('they are in catalog/domains.yaml');
  const advice = `see that the ${env.DOMAIN_PRICES} settings are right, and that it allows the address of this machine`;
  try {
    const { size } = await source.read();
    return size > 0 ? ok(`${size} TLDs`) : fault('no TLD has complete prices in EUR for one year', advice);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return fault('the billing system does not answer as it should', advice);
  } finally {
    await source.close();
  }
}
