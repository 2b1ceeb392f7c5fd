import { createApp } from './app.ts';
import type { Env } from './env.ts';
import { createListener } from './http/listener.ts';
import { listenOn } from './http/server.ts';
import type { Logger } from './log.ts';
import { createClientFinder } from './middleware/client-ip.ts';
import { createCors } from './middleware/cors.ts';
import { createRateLimit } from './middleware/rate-limit.ts';
import { createLifecycle } from './services/lifecycle.ts';
import { openReleases } from './services/releases.ts';

/** A server that answers. */
export interface RunningServer {
  readonly url: string;
  /** Stops it: no new connections, running requests finish, and what outlasts the grace is cut. */
  stop(): Promise<void>;
}

/** Puts the service together and opens it: releases, limits, app, listener. Throws where it cannot serve. */
export async function startServer(env: Env, log: Logger): Promise<RunningServer> {
  const releases = await openReleases(env.DIST_DIR, {
    taken: ({ id }) => log.info({ release: id }, 'new release'),
    refused: (error) => log.error({ err: error }, 'new release refused; the one before is still served'),
  });
  const lifecycle = createLifecycle();
  const limit = createRateLimit({
    name: 'default',
    rps: env.RATELIMIT_RPS,
    burst: env.RATELIMIT_BURST,
    blockSeconds: env.RATELIMIT_BLOCK_SECONDS,
  });
  const app = createApp({ releases, lifecycle, version: env.SERVICE_VERSION }, limit);
  const listener = createListener({
    app,
    releases,
    limit,
    log,
    findClient: createClientFinder(env.TRUSTED_PROXIES),
    cors: createCors({ origins: env.CORS_ORIGINS, allowLocal: env.ALLOW_LOCAL_ORIGINS }),
    draining: () => lifecycle.state() === 'draining',
  });
  const server = await listenOn(listener, env.HOST, env.PORT);
  log.info({ url: server.url, release: releases.current().id, version: env.SERVICE_VERSION }, 'listening');
  return {
    url: server.url,
    async stop() {
      lifecycle.drain();
      releases.stop();
      await server.stop(env.SHUTDOWN_GRACE_SECONDS);
    },
  };
}
