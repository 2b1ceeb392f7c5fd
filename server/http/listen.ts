import type { RequestListener, Server } from 'node:http';
import { listen } from 'listhen';
import { createConnections } from './drain.ts';
import type { Serve } from './drain.ts';

/** An HTTP server that listens, and how it stops. */
export interface HttpServer {
  readonly url: string;
  readonly http: Server;
  /** Takes no new connections, lets requests finish, and cuts after the grace what is left. */
  stop(graceSeconds: number): Promise<void>;
}

/** An address that cannot be listened on. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Longer than the 60 s that nginx keeps an idle upstream connection, so that it is never the server that closes first. */
const idleMs = 65_000;

/** Where a server listens, and how long it waits. */
export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** A connection on which nothing comes or goes for so long while a request is under way is cut. */
  readonly stalledMs: number;
}

/**
 * Opens a server by listhen, without what listhen adds for development. Throws a {@link ListenError} where the port is
 * taken.
 */
export async function listenOn(serve: Serve, { host, port, stalledMs }: ListenOptions): Promise<HttpServer> {
  const connections = createConnections(serve);
  const { listener } = connections;
  const refused = `cannot listen on port ${port} of ${host}: it is taken, reserved or not allowed`;
  const { server, url } = await listen(listener, {
    port: port === 0 ? { port, random: true } : port,
    hostname: host,
    // With false, listhen takes "0.0.0.0" for a mistake and listens on localhost.
    public: !/^(?:localhost|127\.|::1$)/.test(host),
    isProd: true,
    showURL: false,
    autoClose: false,
  }).catch((error: unknown) => {
    throw new ListenError(refused, { cause: error });
  });
  // listhen types its server as HTTP or HTTPS; no certificate was given, so it is HTTP.
  const opened = server as Server;
  // listhen's shutdown helper marks sockets on each request, and throws when a client is cut off in its body.
  for (const added of opened.listeners('request')) {
    if (added !== listener) opened.off('request', added as RequestListener);
  }
  // listhen passes over ports that browsers refuse, and would take 3000 in their place.
  const address = opened.address();
  if (port !== 0 && (typeof address !== 'object' || address?.port !== port)) {
    opened.close();
    throw new ListenError(refused);
  }
  opened.headersTimeout = 15_000;
  opened.requestTimeout = 30_000;
  return { url: url.replace(/\/$/, ''), http: opened, stop: connections.watch(opened, { stalledMs, idleMs }) };
}
