import { createApp } from './app.ts';
import type { Env } from './env.ts';
import { createListener } from './http/listener.ts';
import { createStaticTable } from './releases/serve.ts';
import { listenOn } from './http/listen.ts';
import { createUpgradeHandler } from './hosting/console/upgrade.ts';
import type { Logger } from './log.ts';
import { createAuthorize } from './keys/authorize.ts';
import { createClientFinder } from './http/client-ip.ts';
import { createCors } from './http/cors.ts';
import { createRateLimit } from './token-bucket.ts';
import { openServices } from './open-services.ts';
import type { Provider } from './hosting/providers/types.ts';
import { ensureDemo } from './hosting/demo/seed.ts';
import { createIdempotency } from './hosting/idempotency.ts';
import { createLifecycle } from './lifecycle.ts';
import type { Environment } from './settings.ts';

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

/** So long after it listens, a server begins to ask others by itself: to load what that needs takes 40 ms. */
const quietMs = 200;

/** Past that, a client that reads nothing of its answer is cut: what it is sent is kept for it in memory. */
const stalledClientMs = 120_000;

/** Puts the service together and opens it: services, limits, app, listener. Throws where it cannot serve. */
export async function startServer(
  env: Env,
  log: Logger,
  { environment = {}, demo = false }: StartOptions = {},
): Promise<RunningServer> {
  // What was opened, to be closed in the opposite order: also where the start fails half way.
  await using opened = new AsyncDisposableStack();
  let url = '';
  const lifecycle = createLifecycle();
  const publicUrl = () => env.PUBLIC_URL ?? url;
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
  let settling: NodeJS.Timeout | undefined;
  // Ended last of all: what waits for it in a request that is under way must not wait for ever.
  opened.defer(() => clearTimeout(settling));
  const { services, store, providers, relay, actionLimit } = await openServices({
    env,
    log,
    lifecycle,
    environment,
    demo,
    publicUrl,
    settled,
    opened,
  });

  const limit = createRateLimit({
    name: 'default',
    rps: env.RATELIMIT_RPS,
    burst: env.RATELIMIT_BURST,
    blockSeconds: env.RATELIMIT_BLOCK_SECONDS,
  });
  const domains = createRateLimit({
    name: 'domains',
    rps: env.DOMAIN_RATELIMIT_RPS,
    burst: env.DOMAIN_RATELIMIT_BURST,
    blockSeconds: 0,
  });
  const feedback = createRateLimit({
    name: 'feedback',
    rps: 1 / env.FEEDBACK_RATELIMIT_WINDOW_SECONDS,
    burst: env.FEEDBACK_RATELIMIT_BURST,
    blockSeconds: 0,
    retryAfterSeconds: env.FEEDBACK_RATELIMIT_WINDOW_SECONDS,
  });
  const cors = createCors({ origins: env.CORS_ORIGINS, allowLocal: env.ALLOW_LOCAL_ORIGINS });
  const findClient = createClientFinder(env.TRUSTED_PROXIES);
  const app = createApp(services, {
    limit,
    limits: { domains, feedback },
    maxBodyBytes: { feedback: env.MAX_FEEDBACK_BODY_BYTES },
    cors,
    authorize: createAuthorize({
      apiKeys: store.apiKeys,
      limit: actionLimit,
      onTouchFailure: (error) => log.error({ err: error }, 'a key could not be marked as used'),
    }),
    idempotency: createIdempotency({
      store: store.idempotency,
      longestMs: env.UPSTREAM_TIMEOUT_SECONDS * 1000 + storeMs,
      onStoreFailure: (error) => log.error({ err: error }, 'the outcome of a request could not be noted'),
    }),
  });
  const draining = () => lifecycle.state() === 'draining';
  const findFile = createStaticTable(services.releases);
  const listener = createListener({ app, findFile, limit, log, findClient, cors, draining });
  const stalledMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000 + stalledClientMs;
  const server = await listenOn(listener, { host: env.HOST, port: env.PORT, stalledMs });
  opened.defer(() => server.stop(env.SHUTDOWN_GRACE_SECONDS));
  const upgrades = createUpgradeHandler({ relay, findClient, limit, log });
  upgrades.attach(server.http);
  url = server.url;
  log.info({ url, release: services.releases.current().id, version: env.SERVICE_VERSION }, 'listening');
  if (env.PUBLIC_URL === undefined && isWildcard(env.HOST)) {
    log.warn('PUBLIC_URL is not set: clients are told to open console streams at an address that leads nowhere');
  }
  settling = setTimeout(settle, quietMs).unref();
  void settled.then(() => checkProviders(draining() ? new Map() : providers, log));
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

/** Looks at the credentials beside requests: a panel that does not answer must not keep all else from starting. */
function checkProviders(providers: ReadonlyMap<string, Provider>, log: Logger): void {
  const check = async (name: string, provider: Provider): Promise<void> => {
    for (const { level, message } of await provider.check()) log[level]({ provider: name }, message);
  };
  for (const [name, provider] of providers) void check(name, provider);
}
