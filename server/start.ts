import { existsSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { toNodeHandler } from 'h3';
import { createApp } from './app.ts';
import { openDomains } from './domains/service.ts';
import type { Env } from './env.ts';
import { createChat } from './feedback/chat.ts';
import { createFeedback } from './feedback/service.ts';
import type { Feedback } from './feedback/service.ts';
import type { Relay } from './hosting/console/relay.ts';
import { createUpgradeHandler, streamRoute } from './hosting/console/upgrade.ts';
import { openHosting, openProviders } from './hosting/index.ts';
import { listenOn } from './http/listen.ts';
import { createRequests } from './http/request.ts';
import { createAuthenticate } from './keys/authorize.ts';
import { createLimits, toKeyLimits } from './limits.ts';
import type { Limits } from './limits.ts';
import { createLifecycle } from './lifecycle.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Logger } from './log.ts';
import { openMetrics } from './metrics/index.ts';
import { createFastPath } from './releases/serve.ts';
import { findArticle, openReleases } from './releases/service.ts';
import type { Releases } from './releases/service.ts';
import { createRoutes } from './routes.ts';
import { EnvError, checkFolder, prepareFolder } from './settings.ts';
import type { Environment } from '#common/environment.ts';
import { toWindows } from './status/monitors.ts';
import { openStatus } from './status/service.ts';
import { createStoreHealth, reportLoss, reportTo } from './store/health.ts';
import { openStore } from './store/index.ts';
import type { Store } from './store/types.ts';
import { createSharedBuckets } from './shared-bucket.ts';
import { createTokenBucket } from './token-bucket.ts';
import type { CreateBucket } from './token-bucket.ts';

interface StartOptions {
  /** The environment variables that PROVIDERS_FILE may refer to. */
  readonly environment?: Environment;
  /** Whether to add the demo servers, and a key for them. */
  readonly demo?: boolean;
  /** In development: where /preview is rendered. Requests are not logged. */
  readonly preview?: string | undefined;
  /** How many lines of the log were dropped. */
  readonly droppedLines?: () => number;
}

/** After this time in addition, a client that does not read its response is disconnected: the response is in memory. */
const stalledClientMs = 120_000;

const untrustedMessage =
  'X-Forwarded-For of an address that is not in TRUSTED_PROXIES is ignored; if it is your proxy, all its visitors share one limit';

/** Creates the service and starts listening. Throws if it cannot serve. */
export async function startServer(env: Env, log: Logger, options: StartOptions = {}) {
  const { environment = {}, demo = false, preview, droppedLines = () => 0 } = options;
  // Resources are closed in reverse order, also if the start fails.
  await using opened = new AsyncDisposableStack();
  const metrics = await openMetrics(env, log);
  opened.defer(async () => await metrics?.close());
  const health = createStoreHealth(log);
  const lifecycle = createLifecycle(health.answers);
  let url = '';
  const releases = await openReleases({
    dist: env.DIST_DIR,
    cacheBytes: env.RELEASE_CACHE_BYTES,
    checkStatus: ({ maintenance }) => void toWindows(maintenance),
    onLoaded: ({ id }) => log.info({ release: id }, 'new release'),
    onRejected: reportTo(log, 'new release rejected; the previous one is still served'),
  });
  opened.defer(() => releases.stop());
  const store = await openStore(env, health.onFailure);
  opened.defer(() => store.close());
  opened.defer(() => health.stop());
  opened.defer(() => lifecycle.idle());
  const createBucket = openBuckets({ log, opened, store });
  const timeoutMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000;
  const providers = await openProviders({
    file: env.PROVIDERS_FILE,
    environment,
    demo,
    dataDir: env.DATA_DIR,
    prepareDataDir: () => prepareFolder('DATA_DIR', env.DATA_DIR, 0o700),
    log,
    timeoutMs,
    createBucket,
  });
  opened.defer(async () => void (await Promise.all([...providers.values()].map((provider) => provider.close()))));

  const limits = createLimits(env, createBucket);
  const base: Base = { env, log, opened, lifecycle, releases, store, limits, createBucket };
  const hosting = openHosting({
    store,
    providers,
    lifecycle,
    actions: limits.actions,
    timeoutMs,
    tokenSeconds: env.CONSOLE_TOKEN_TTL_SECONDS,
    auditDays: env.AUDIT_RETENTION_DAYS,
    publicUrl: () => env.PUBLIC_URL ?? url,
    onFailure: (message, error) => reportTo(log, message)(error),
    onLoss: (message, error) => reportLoss(log, message)(error),
  });
  opened.defer(() => hosting.close());
  const { relay } = hosting;
  metrics?.observe({ releases, relay, storeAnswers: health.answers, droppedLines });
  const domains = openDomains(base);
  if (env.STATUS_FILE !== undefined) checkStatusFile(env.STATUS_FILE);
  const status = openStatus(base, () => url);
  const feedback = openFeedback(base);
  const version = env.SERVICE_VERSION;
  const keys = { apiKeys: store.apiKeys, keyLimits: toKeyLimits(env) };
  const routes = createRoutes({ version, releases, domains, feedback, status, ...keys, ...hosting.routes });

  const { server, upgrades } = await openListeners(base, routes, relay, preview);
  url = server.url;
  log.info({ url, release: releases.current().id, version }, 'listening');

  // Background work starts after the server listens.
  health.watch(() => store.check());
  domains.start();
  status.start();
  hosting.start();
  // Loaded now, so that the first request does not wait for it.
  const { watchInstallation } = await import('./doctor/watch.ts');
  opened.defer(watchInstallation({ ...base, environment, providers, isPreview: preview !== undefined }));
  const demoKey = demo ? await addDemo(store, log) : undefined;

  const running = opened.move();
  return {
    url,
    metricsUrl: metrics?.url,
    /** The text of the demo key, at the start that created it. */
    demoKey,
    /** Makes /ready say `draining`; each response closes its connection. */
    drain(): void {
      lifecycle.drain();
      server.announce();
    },
    /** Stops the service: no new connections; running requests finish, or are aborted after the grace period. */
    async stop(): Promise<void> {
      lifecycle.drain();
      for (const provider of providers.values()) provider.drain?.();
      await Promise.all([upgrades.close(), running.disposeAsync()]);
    },
  };
}

/** Dependencies of all features. */
interface Base {
  readonly env: Env;
  readonly log: Logger;
  /** Collects the resources to close. */
  readonly opened: AsyncDisposableStack;
  readonly lifecycle: Lifecycle;
  readonly releases: Releases;
  readonly store: Store;
  readonly limits: Limits;
  /** Creates the limits that all instances share. */
  readonly createBucket: CreateBucket;
}

/** Opens the token buckets: in PostgreSQL for all instances, else in memory. */
function openBuckets(base: Pick<Base, 'log' | 'opened' | 'store'>): CreateBucket {
  const { log, opened, store } = base;
  if (!store.limits) return createTokenBucket;
  const onFailure = reportTo(log, 'the database does not count limits in time; this instance counts alone');
  const { create, close } = createSharedBuckets({ limits: store.limits, onFailure });
  opened.defer(close);
  return create;
}

/** The folder is not created: a mistyped one would hide that the file is not where the CDN reads it. */
function checkStatusFile(file: string): void {
  checkFolder('STATUS_FILE', dirname(file));
  if (existsSync(file) && !statSync(file).isFile()) throw new EnvError('STATUS_FILE: this is not a regular file');
}

/** Opens feedback, which is forwarded to a chat if configured. */
function openFeedback({ env, log, opened, lifecycle, releases, store }: Base): Feedback {
  const { CHAT_FEEDBACK_WEBHOOK_URL: url, CHAT_FEEDBACK_WEBHOOK_KIND: kind, SERVICE_VERSION: version } = env;
  const chat = url === undefined ? undefined : createChat({ kind, url, version });
  opened.defer(async () => await chat?.close());
  return createFeedback({
    store,
    chat,
    findArticle: (path) => findArticle(releases, path),
    finish: (work) => lifecycle.finish(work),
    onCountFailure: reportTo(log, 'a vote could not be counted'),
  });
}

/** Starts listening: the fast path for files, the app behind it, and websockets. */
async function openListeners(
  { env, log, opened, releases, store, limits }: Base,
  routes: ReturnType<typeof createRoutes>,
  relay: Relay,
  preview: string | undefined,
) {
  const requests = createRequests({
    trustedProxies: env.TRUSTED_PROXIES,
    onUntrusted: (address) => log.warn({ address }, untrustedMessage),
    cors: { origins: env.CORS_ORIGINS, allowLocal: env.ALLOW_LOCAL_ORIGINS },
    limit: limits.client,
    log: preview === undefined ? log : log.child({}, { level: 'error' }),
  });
  const app = createApp({
    routes: [...Object.values(routes), streamRoute],
    preview,
    requests,
    limits,
    authenticate: createAuthenticate({
      apiKeys: store.apiKeys,
      onTouchFailure: reportTo(log, 'the last use of a key could not be stored'),
    }),
    maxBodyBytes: { feedback: env.MAX_FEEDBACK_BODY_BYTES },
  });
  const handleByApp = toNodeHandler(app);
  const handleFile = createFastPath(releases, requests, preview !== undefined);
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (!handleFile(request, response)) void handleByApp(request, response);
  };
  const stalledMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000 + stalledClientMs;
  const server = await listenOn(listener, { host: env.HOST, port: env.PORT, stalledMs });
  opened.defer(() => server.drain(env.SHUTDOWN_GRACE_SECONDS));
  const upgrades = createUpgradeHandler({ relay, requests, log });
  upgrades.attach(server.http);
  return { server, upgrades };
}

/** Adds the demo servers and their key; returns the text of the key at the start that creates it. */
async function addDemo(store: Store, log: Logger): Promise<string | undefined> {
  const { ensureDemo } = await import('./hosting/demo.ts');
  return await ensureDemo(store, reportTo(log, 'the end of a change could not be written to the audit log'));
}
