import type { RequestListener, Server } from 'node:http';
import { listen } from 'listhen';
import { answerRequests } from './drain.ts';

/** An address that cannot be listened on. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Where a server listens, and how long it waits. */
export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** A connection on which nothing comes or goes for so long while a request is under way is cut. */
  readonly stalledMs: number;
  /**
   * A connection on which everything is answered is closed after so long. Longer than the 60 s that nginx keeps an idle
   * upstream connection if left out, so that it is never the server that closes first.
   */
  readonly idleMs?: number;
}

/**
 * Opens a server by listhen, without what listhen adds for development. Throws a {@link ListenError} where the port is
 * taken.
 */
export async function listenOn(listener: RequestListener, { host, port, stalledMs, idleMs = 65_000 }: ListenOptions) {
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
  const http = server as Server;
  // listhen's shutdown helper marks sockets on each request, and throws when a client is cut off in its body.
  http.removeAllListeners('request');
  const drain = answerRequests(http, listener);
  // listhen passes over ports that browsers refuse, and would take 3000 in their place.
  const address = http.address();
  if (port !== 0 && (typeof address !== 'object' || address?.port !== port)) {
    http.close();
    throw new ListenError(refused);
  }
  http.headersTimeout = 15_000;
  http.requestTimeout = 30_000;
  http.keepAliveTimeout = idleMs;
  http.timeout = stalledMs;
  // Without it, Node.js would answer 417 by itself.
  http.on('checkExpectation', (request, response) => http.emit('request', request, response));
  return { url: url.replace(/\/$/, ''), http, drain };
}
