import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { Server as NetServer, createServer } from 'node:net';
import type { Socket } from 'node:net';
import type * as Listhen from 'listhen';
import { z } from 'zod';
import { Problem, renderRawError } from '../problem.ts';
import { integer } from '../settings.ts';
import { answeredRequests } from './request.ts';

/** Its CommonJS build loads in half of the time, which is a twentieth of the start. */
const { listen } = createRequire(import.meta.url)('listhen') as typeof Listhen;

/** The settings of the port and its end. */
export const ListenSettings = z.object({
  PORT: integer(0, 65_535).default(3000).describe('The port to listen on; 0 takes a free one.'),
  SHUTDOWN_DELAY_SECONDS: integer(0, 3600)
    .default(0)
    .describe('How long the port stays open after SIGTERM, so that a load balancer sees `/ready` say `draining`.'),
  SHUTDOWN_GRACE_SECONDS: integer(0, 3600)
    .default(10)
    .describe('How long running requests may take after the port is closed.'),
});
export type ListenSettings = z.infer<typeof ListenSettings>;

/** The server cannot listen on its address. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** The address and timeouts of a server. */
export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Closes a connection without traffic for this long during a request. */
  readonly stalledMs: number;
  /** Closes an idle connection after this long; by default after the 60 s of nginx, so that nginx closes first. */
  readonly idleMs?: number;
}

/** Opens a server with listhen, without its development features. Throws a {@link ListenError}. */
export async function listenOn(listener: RequestListener, { host, port, stalledMs, idleMs = 65_000 }: ListenOptions) {
  const { server, url } = await listen(listener, {
    port: port === 0 ? { port, random: true } : port,
    hostname: host,
    // With false, listhen treats "0.0.0.0" as a mistake and listens on localhost.
    public: !/^(?:localhost|127\.|::1$)/.test(host),
    isProd: true,
    showURL: false,
    autoClose: false,
  }).catch(async (error: unknown) => {
    throw new ListenError(await findListenProblem({ host, port }), { cause: error });
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
    throw new ListenError(await findListenProblem({ host, port }));
  }
  http.headersTimeout = 15_000;
  http.requestTimeout = 30_000;
  http.keepAliveTimeout = idleMs;
  http.timeout = stalledMs;
  // The app refuses a request without Host; Node.js would answer without our headers. A client that sends no more may
  // still wait for its answer; Node.js would disconnect it.
  // Behind an unfinished request, the answer of that one would follow the 101 within the websocket.
  const shouldUpgradeCallback = (request: IncomingMessage): boolean =>
    isWebsocket(request) && !connections.isAnswering(request.socket);
  Object.assign(http, { requireHostHeader: false, httpAllowHalfOpen: true, shouldUpgradeCallback });
  // Without this listener, Node.js answers 417.
  http.on('checkExpectation', (request, response) => http.emit('request', request, response));
  return { url: url.replace(/\/$/, ''), http, ...connections };
}

/** Java's HTTP client offers h2c with every request, which must be served as a plain request. */
export function isWebsocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** Finds out why listhen cannot use an address: its own error has no reason. */
async function findListenProblem(address: { readonly host: string; readonly port: number }): Promise<string> {
  const trial = createServer();
  try {
    await once(trial.listen(address), 'listening');
    trial.close();
    // The port is free, and listhen refused it.
    return `PORT: browsers do not open port ${address.port}; use another`;
  } catch (error) {
    return describeListenError((error as NodeJS.ErrnoException).code ?? 'unknown', address);
  }
}

/** Describes why an address cannot be used, by the code of the error. */
export function describeListenError(
  code: string,
  { host, port, setting = 'PORT' }: { readonly host: string; readonly port: number; readonly setting?: string },
): string {
  if (code === 'EADDRINUSE') return `${setting}: port ${port} of ${host} is in use`;
  if (code === 'EADDRNOTAVAIL') return `HOST: ${host} is not an address of this machine`;
  if (code === 'EACCES') {
    return `${setting}: this user may not listen on port ${port}: use one above 1023, or permit it (CAP_NET_BIND_SERVICE)`;
  }
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return `HOST: the name ${host} cannot be resolved (${code})`;
  return `cannot listen on port ${port} of ${host} (${code})`;
}

/**
 * Answers the requests of a server. From `announce` on, each response closes its connection; `drain` accepts no new
 * ones, and closes all after the grace period. Node's closeIdleConnections closes those whose response a slow client is
 * still reading, and keeps those without any request, which browsers and load balancers open in advance.
 */
function answerRequests(server: Server, listener: RequestListener) {
  const answersOf = new Map<Socket, Set<ServerResponse>>();
  let isDraining = false;
  server.on('connection', (socket: Socket) => {
    answersOf.set(socket, new Set());
    socket.once('close', () => answersOf.delete(socket));
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    const answers = answersOf.get(socket);
    if (isDraining) response.setHeader('Connection', 'close');
    answers?.add(response);
    response.on('close', () => {
      answers?.delete(response);
      if (isDraining && answers?.size === 0) socket.destroySoon();
    });
    listener(request, response);
  });
  // The upgrade handler closes upgraded connections.
  server.on('upgrade', (_request, socket: Socket) => answersOf.delete(socket));
  // What Node.js cannot parse ends its connection.
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const answers = [...(answersOf.get(socket) ?? [])];
    const last = answers.findLast(({ req }) => req.complete);
    if (last) {
      // Requests that arrived completely get their own answers first. Node.js closes the connection after the last one
      // if that has this header, but not if it was sent before.
      if (!last.headersSent) last.setHeader('Connection', 'close');
      last.once('close', () => socket.destroySoon());
      return;
    }
    // At most one request is incomplete: it gets a refusal, unless its response has begun. The access log has it.
    const [incomplete] = answers;
    if (socket.writable && !incomplete?.headersSent) {
      const { status, text } = renderRawError(toProblem(error), randomUUID());
      socket.write(text);
      if (!incomplete) answeredRequests.publish({ route: undefined, method: undefined, status });
    }
    socket.destroySoon();
  });
  const announce = (): void => {
    isDraining = true;
    for (const answers of answersOf.values()) {
      for (const answer of answers) if (!answer.headersSent) answer.setHeader('Connection', 'close');
    }
  };
  const drain = async (graceSeconds: number): Promise<void> => {
    announce();
    const end = setTimeout(() => server.closeAllConnections(), graceSeconds * 1000);
    await new Promise<void>((resolve) => {
      // The close() of an HTTP server calls closeIdleConnections.
      NetServer.prototype.close.call(server, () => resolve());
      for (const [socket, answers] of answersOf) if (answers.size === 0) socket.destroy();
    });
    clearTimeout(end);
  };
  /** Whether an answer on a connection is not ended, or waits for one before it. */
  const isAnswering = (socket: Socket): boolean => {
    const [first, ...others] = answersOf.get(socket) ?? [];
    return others.length > 0 || first?.writableEnded === false;
  };
  return { announce, drain, isAnswering };
}

function toProblem({ code }: NodeJS.ErrnoException): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('request_timeout', 'The request did not arrive in time');
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('headers_too_long');
  return new Problem('validation_error', 'This is not a valid HTTP request');
}
