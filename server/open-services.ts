import { hash } from 'node:crypto';
import { join } from 'node:path';
import { createRelay } from './hosting/console/relay.ts';
import type { Relay } from './hosting/console/relay.ts';
import type { Env } from './env.ts';
import type { Logger } from './log.ts';
import { createRateLimit } from './token-bucket.ts';
import type { RateLimit } from './token-bucket.ts';
import { createChat } from './feedback/chat/index.ts';
import { createDomainRegistries, createPriceSource } from './domains/sources.ts';
import { probe } from './status/probe.ts';
import type { Provider } from './hosting/providers/types.ts';
import { createUptimeKuma } from './status/uptime-kuma.ts';
import type { Services } from './routes.ts';
import { createCheckAccess } from './keys/access.ts';
import { createAvailability } from './domains/availability.ts';
import { createLivePrices } from './domains/prices/live.ts';
import { createDomains } from './domains/service.ts';
import { createFeedback } from './feedback/service.ts';
import { createHosting } from './hosting/service.ts';
import type { Lifecycle } from './lifecycle.ts';
import { createMonitors } from './status/monitors.ts';
import { openReleases } from './releases/service.ts';
import type { Releases } from './releases/service.ts';
import { createStatus } from './status/service.ts';
import type { Environment } from './settings.ts';
import { openStore } from './store/index.ts';
import type { Store } from './store/types.ts';

/** For an Uptime Kuma, which answers in a moment or not at all; visitors wait for it. */
const statusMs = 5000;

/** What the services are opened with. */
export interface ServicesOptions {
  readonly env: Env;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
  /** The environment, for a PROVIDERS_FILE that names its variables. */
  readonly environment: Environment;
  /** Whether the demo servers run. */
  readonly demo: boolean;
  /** Where clients reach this service. */
  readonly publicUrl: () => string;
  /** Resolves a while after the start: what asks others without a request waits for it. */
  readonly settled: Promise<void>;
  /** Is given what must be closed, in the order in which it was opened. */
  readonly opened: AsyncDisposableStack;
}

/** Everything behind the app. */
export interface OpenServices {
  readonly services: Services;
  readonly store: Store;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly relay: Relay;
  /** The limit on what an API key does, over HTTP and over streams. */
  readonly actionLimit: RateLimit;
}

/** Opens releases, the store, providers and the services over them. Throws where the service cannot run. */
export async function openServices(options: ServicesOptions): Promise<OpenServices> {
  const { env, log, lifecycle, opened } = options;
  const keeping = { memoryBytes: env.RELEASE_CACHE_BYTES, dataDir: env.DATA_DIR };
  const releases = await openReleases(env.DIST_DIR, keeping, {
    taken: ({ id }) => log.info({ release: id }, 'new release'),
    refused: (error) => log.error({ err: error }, 'new release refused; the one before is still served'),
  });
  opened.defer(() => releases.stop());
  const store = await openStore({ databaseUrl: env.DATABASE_URL, dataDir: env.DATA_DIR });
  opened.defer(() => store.close());
  opened.defer(() => lifecycle.idle());

  const hosting = await openHosting(options, store);
  const services = {
    releases,
    lifecycle,
    version: env.SERVICE_VERSION,
    domains: openDomains(options, releases),
    feedback: openFeedback(options, store, releases),
    hosting: hosting.hosting,
    status: openStatus(options, releases),
  };
  return { services, store, ...hosting };
}

/** Loads what speaks to panels and clouds only where there are any: a server of content alone starts without. */
async function openProviders({ env, log, environment, demo }: ServicesOptions, timeoutMs: number) {
  if (env.PROVIDERS_FILE === undefined && !demo) return new Map<string, Provider>();
  const { demoProviders, loadProviders } = await import('./hosting/providers/config.ts');
  const { createProviders } = await import('./hosting/providers/index.ts');
  return createProviders(
    {
      ...(env.PROVIDERS_FILE !== undefined && loadProviders(env.PROVIDERS_FILE, environment)),
      ...(demo && demoProviders(environment)),
    },
    { dataDir: env.DATA_DIR, log, timeoutMs },
  );
}

async function openHosting(options: ServicesOptions, store: Store) {
  const { env, log, lifecycle, publicUrl, opened } = options;
  const timeoutMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000;
  const providers = await openProviders(options, timeoutMs);
  opened.defer(() => Promise.all([...providers.values()].map((provider) => provider.close())).then(() => undefined));
  const actionLimit = createRateLimit({
    name: 'actions',
    rps: env.POWER_RATELIMIT_RPS,
    burst: env.POWER_RATELIMIT_BURST,
    blockSeconds: 0,
  });
  const relay = createRelay({
    secret: await store.secret('console-stream'),
    ttlSeconds: env.CONSOLE_TOKEN_TTL_SECONDS,
    openSource: (server, events) => hosting.openConsole(server, events),
    sendCommand: (command) => lifecycle.finish(() => hosting.streamCommand(command)),
    checkAccess: createCheckAccess(store.apiKeys),
    failed: (what, error) => log.error({ err: error }, what),
  });
  opened.defer(() => relay.close());
  const hosting = createHosting({
    store,
    providers,
    timeoutMs,
    actionLimit,
    publicUrl,
    issueToken: (stream) => relay.issueToken(stream),
    history: (server) => relay.history(server),
    onAuditFailure: (error) => log.error({ err: error }, 'an action could not be noted in the audit log'),
  });
  return { hosting, relay, providers, actionLimit };
}

function openDomains({ env, log, settled, opened }: ServicesOptions, releases: Releases) {
  const registries = createDomainRegistries(env, log, settled);
  opened.defer(() => registries.close());
  const source = createPriceSource(env, log);
  const live =
    source &&
    createLivePrices({
      source,
      // Of one installation: another one's prices must not stand in for those that cannot be read.
      file: join(
        env.DATA_DIR,
        `domain-prices-${hash('sha256', env.WHMCS_URL ?? env.FOSSBILLING_URL ?? '').slice(0, 8)}.json`,
      ),
      after: settled,
      failed: (what, error) => log.error({ err: error }, what),
    });
  if (live) opened.defer(() => live.stop());
  return createDomains({
    catalog: () => releases.current().domains,
    live,
    availability: createAvailability(registries),
  });
}

function openMonitors({ log, settled }: ServicesOptions, releases: Releases) {
  return createMonitors({
    catalog: () => releases.current().status,
    probe,
    after: settled,
    onChange: (name, up, reason) => log.info({ name, reason }, up ? 'a monitor is up' : 'a monitor is down'),
  });
}

/** An Uptime Kuma knows the state of the platform where there is one, else monitors of our own. */
function openStatus(options: ServicesOptions, releases: Releases) {
  const { env, log, settled, opened } = options;
  const { UPTIME_KUMA_URL: url, UPTIME_KUMA_STATUS_PAGE: page } = env;
  const known =
    url !== undefined && page !== undefined
      ? { source: createUptimeKuma({ url, page }, { timeoutMs: statusMs }) }
      : { source: openMonitors(options, releases), cacheMs: 1000 };
  const status = createStatus({
    ...known,
    file: env.STATUS_FILE,
    after: settled,
    onFileFailure: (error) => log.error({ err: error }, 'the status cannot be written to STATUS_FILE'),
    onSourceFailure: (error) => log.warn({ err: error }, 'the status of the platform is not known'),
  });
  opened.defer(() => status.stop());
  return status;
}

const articles = '/v1/kb/article?path=';

function openFeedback({ env, log, lifecycle, opened }: ServicesOptions, store: Store, releases: Releases) {
  const { CHAT_FEEDBACK_WEBHOOK_URL: url, CHAT_FEEDBACK_WEBHOOK_KIND: kind, SERVICE_VERSION: version } = env;
  const chat = url === undefined ? undefined : createChat({ kind, url, version });
  if (chat) opened.defer(() => chat.close());
  return createFeedback({
    store,
    chat,
    findArticle(path) {
      const file = releases.current().find(`${articles}${path}`);
      return file && (file.canonical?.slice(articles.length) ?? path);
    },
    finish: (work) => lifecycle.finish(work),
    onCountFailure: (error) => log.error({ err: error }, 'a vote could not be counted'),
  });
}
