import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from 'h3';
import { createApp } from './app.ts';
import type { Env } from './env.ts';
import type { Relay } from './hosting/console/relay.ts';
import { createUpgradeHandler, streamRoute } from './hosting/console/upgrade.ts';
import type { Route } from './http/handle.ts';
import { listenOn } from './http/listen.ts';
import { createHostCheck, createRequests } from './http/request.ts';
import { createAuthenticate } from './keys/authorize.ts';
import type { Limits } from './limits.ts';
import type { Logger } from './log.ts';
import { createFastPath } from './releases/serve.ts';
import type { Releases } from './releases/service.ts';
import type { Store } from './store/types.ts';

/** What listening needs of the server. */
export interface ListenersBase {
  readonly env: Env;
  readonly log: Logger;
  readonly opened: AsyncDisposableStack;
  readonly releases: Releases;
  readonly store: Store;
  readonly limits: Limits;
  readonly relay: Relay;
  /** In development: where /preview is rendered. Requests are not logged. */
  readonly preview: string | undefined;
  /** Creates what logs an error. */
  readonly report: (message: string) => (error: unknown) => void;
}

/** After this time in addition, a client that does not read its response is disconnected: the response is in memory. */
const stalledClientMs = 120_000;

const untrustedMessage =
  'X-Forwarded-For of an address that is not in TRUSTED_PROXIES is ignored; if it is your proxy, all its visitors share one limit';

/** Starts listening: the fast path for files, the app behind it, and websockets. It is closed with the server. */
export async function openListeners(base: ListenersBase, routes: readonly Route[]) {
  const { env, log, opened, releases, store, limits, relay, preview, report } = base;
  const requests = createRequests({
    trustedProxies: env.TRUSTED_PROXIES,
    onUntrusted: (address) => log.warn({ address }, untrustedMessage),
    cors: { origins: env.CORS_ORIGINS, allowLocal: env.ALLOW_LOCAL_ORIGINS },
    isOwnHost: preview === undefined ? undefined : createHostCheck(env),
    limit: limits.client,
    log: preview === undefined ? log : log.child({}, { level: 'error' }),
  });
  const app = createApp({
    routes: [...routes, streamRoute],
    preview,
    requests,
    limits,
    authenticate: createAuthenticate({
      apiKeys: store.apiKeys,
      onTouchFailure: report('the last use of a key could not be stored'),
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
  upgrades.attach(server.http, server.isAnswering);
  return {
    url: server.url,
    /** Makes each response close its connection. */
    announce: () => server.announce(),
    /** Closes the streams. */
    closeStreams: () => upgrades.close(),
  };
}
