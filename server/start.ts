import { createApp } from './app.ts';
import { createRelay } from './console/relay.ts';
import type { Env } from './env.ts';
import { createListener } from './http/listener.ts';
import { listenOn } from './http/server.ts';
import { createUpgradeHandler } from './http/upgrade.ts';
import type { Logger } from './log.ts';
import { createAuthorize } from './middleware/authorize.ts';
import { createClientFinder } from './middleware/client-ip.ts';
import { createCors } from './middleware/cors.ts';
import { createRateLimit } from './middleware/rate-limit.ts';
import { demoProviders, loadProviders } from './providers/config.ts';
import { createProviders } from './providers/index.ts';
import type { Provider } from './providers/types.ts';
import { createCheckAccess } from './services/access.ts';
import { ensureDemo } from './services/demo.ts';
import { createHosting } from './services/hosting.ts';
import { createIdempotency } from './services/idempotency.ts';
import { createLifecycle } from './services/lifecycle.ts';
import { openReleases } from './services/releases.ts';
import type { Environment } from './settings.ts';
import { openStore } from './store/index.ts';

/** A server that answers. */
export interface RunningServer {
  readonly url: string;
  /** The text of the demo key, at the one start that made it. */
  readonly demoKey: string | undefined;
  /** Stops it: no new connections, running requests finish, and what outlasts the grace is cut. */
  stop(): Promise<void>;
}

/** How a server is started. */
export interface StartOptions {
  /** The environment, for a PROVIDERS_FILE that names its variables. */
  readonly environment?: Environment;
  /** Whether there are demo servers, and a key for them. */
  readonly demo?: boolean;
}

/** Past the time of its action, a request may wait this long for the store in all. */
const storeMs = 30_000;

/** Puts the service together and opens it: releases, store, providers, relay, limits, app. Throws where it cannot serve. */
export async function startServer(
  env: Env,
  log: Logger,
  { environment = {}, demo = false }: StartOptions = {},
): Promise<RunningServer> {
  const lifecycle = createLifecycle();
  const timeoutMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000;
  const failed = (what: string) => (error: unknown) => log.error({ err: error }, what);
  // What was opened, to be closed in the opposite order: also where the start fails half way.
  await using opened = new AsyncDisposableStack();

  const releases = await openReleases(env.DIST_DIR, {
    taken: ({ id }) => log.info({ release: id }, 'new release'),
    refused: (error) => log.error({ err: error }, 'new release refused; the one before is still served'),
  });
  opened.defer(() => releases.stop());
  const store = await openStore({ databaseUrl: env.DATABASE_URL, dataDir: env.DATA_DIR });
  opened.defer(() => store.close());
  opened.defer(() => lifecycle.idle());
  const providers = createProviders(
    {
      ...(env.PROVIDERS_FILE !== undefined && loadProviders(env.PROVIDERS_FILE, environment)),
      ...(demo && demoProviders(environment)),
    },
    { dataDir: env.DATA_DIR, log, timeoutMs },
  );
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
  let url = '';
  const hosting = createHosting({
    store,
    providers,
    timeoutMs,
    actionLimit,
    publicUrl: () => env.PUBLIC_URL ?? url,
    issueToken: (stream) => relay.issueToken(stream),
    history: (server) => relay.history(server),
    onAuditFailure: failed('an action could not be noted in the audit log'),
  });

  const limit = createRateLimit({
    name: 'default',
    rps: env.RATELIMIT_RPS,
    burst: env.RATELIMIT_BURST,
    blockSeconds: env.RATELIMIT_BLOCK_SECONDS,
  });
  const cors = createCors({ origins: env.CORS_ORIGINS, allowLocal: env.ALLOW_LOCAL_ORIGINS });
  const findClient = createClientFinder(env.TRUSTED_PROXIES);
  const authorize = createAuthorize({
    apiKeys: store.apiKeys,
    limit: actionLimit,
    onTouchFailure: failed('a key could not be marked as used'),
  });
  const idempotency = createIdempotency({
    store: store.idempotency,
    longestMs: timeoutMs + storeMs,
    onStoreFailure: failed('the outcome of a request could not be noted'),
  });
  const app = createApp(
    { releases, lifecycle, hosting, version: env.SERVICE_VERSION },
    { limit, cors, authorize, idempotency },
  );
  const draining = () => lifecycle.state() === 'draining';
  const listener = createListener({ app, releases, limit, log, findClient, cors, draining });
  const server = await listenOn(listener, env.HOST, env.PORT);
  opened.defer(() => server.stop(env.SHUTDOWN_GRACE_SECONDS));
  const upgrades = createUpgradeHandler({ relay, findClient, limit, log });
  upgrades.attach(server.http);
  url = server.url;
  log.info({ url, release: releases.current().id, version: env.SERVICE_VERSION }, 'listening');
  if (env.PUBLIC_URL === undefined && isWildcard(env.HOST)) {
    log.warn('PUBLIC_URL is not set: clients are told to open console streams at an address that leads nowhere');
  }
  checkProviders(providers, log);
  const demoKey = demo ? await ensureDemo(store, 'demo') : undefined;

  const running = opened.move();
  return {
    url,
    demoKey,
    async stop() {
      lifecycle.drain();
      for (const provider of providers.values()) provider.drain?.();
      await Promise.all([upgrades.close(), running.disposeAsync()]);
    },
  };
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** Looks at the credentials beside the first requests: a panel that does not answer must not keep all else from starting. */
function checkProviders(providers: ReadonlyMap<string, Provider>, log: Logger): void {
  const check = async (name: string, provider: Provider): Promise<void> => {
    for (const { level, message } of await provider.check()) log[level]({ provider: name }, message);
  };
  for (const [name, provider] of providers) void check(name, provider);
}
