import type { RequestListener, Server } from 'node:http';
import { listen } from 'listhen';
import { answerRequests } from './connections.ts';

/** The server cannot listen on its address. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** The address and timeouts of a server. */
export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Closes a connection without traffic for this long during a request. */
  readonly stalledMs: number;
  /**
   * Closes an idle connection after this long. The default is more than the 60 s that nginx keeps an idle upstream
   * connection, so that nginx closes first.
   */
  readonly idleMs?: number;
}

/**
 * Opens a server with listhen, without its development features. Throws a {@link ListenError} if the port cannot be
 * used.
 */
export async function listenOn(listener: RequestListener, { host, port, stalledMs, idleMs = 65_000 }: ListenOptions) {
  const refused = `cannot listen on port ${port} of ${host}: the port is in use, reserved or not allowed`;
  const { server, url } = await listen(listener, {
    port: port === 0 ? { port, random: true } : port,
    hostname: host,
    // With false, listhen treats "0.0.0.0" as a mistake and listens on localhost.
    public: !/^(?:localhost|127\.|::1$)/.test(host),
    isProd: true,
    showURL: false,
    autoClose: false,
  }).catch((error: unknown) => {
    throw new ListenError(refused, { cause: error });
  });
  // listhen types its server as HTTP or HTTPS. Without a certificate it is HTTP.
  const http = server as Server;
  // The shutdown helper of listhen marks sockets on each request, and throws when a client disconnects during its body.
  http.removeAllListeners('request');
  const connections = answerRequests(http, listener);
  // For ports that browsers block, listhen uses 3000 instead.
  const address = http.address();
  if (port !== 0 && (typeof address !== 'object' || address?.port !== port)) {
    http.close();
    throw new ListenError(refused);
  }
  http.headersTimeout = 15_000;
  http.requestTimeout = 30_000;
  http.keepAliveTimeout = idleMs;
  http.timeout = stalledMs;
  // The app refuses a request without Host; Node.js would answer without our headers. A client that sends no more may
  // still wait for its answer; Node.js would disconnect it.
  Object.assign(http, { requireHostHeader: false, httpAllowHalfOpen: true });
  // Without this listener, Node.js answers 417.
  http.on('checkExpectation', (request, response) => http.emit('request', request, response));
  return { url: url.replace(/\/$/, ''), http, ...connections };
}
