import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as NetServer, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { listen } from 'listhen';
import { z } from 'zod';
import { OperatorError, Problem, renderRawError } from '../problem.ts';
import { integer } from '../settings.ts';
import { answeredRequests, linger } from './request.ts';

/** The settings of the port and of the shutdown. */
export const ListenSettings = z.object({
  PORT: integer(0, 65_535).default(3000).describe('The port to listen on; 0 picks a free port.'),
  KEEP_ALIVE_SECONDS: integer(1, 86_400)
    .default(65)
    .describe(
      'How long an idle connection stays open; longer than in the balancer in front, which must close it first (`docs/cdn.md`).',
    ),
  SHUTDOWN_DELAY_SECONDS: integer(0, 3600)
    .default(0)
    .describe('How long the port stays open after SIGTERM, for a load balancer to see `draining` in `/ready`.'),
  SHUTDOWN_GRACE_SECONDS: integer(0, 3600).default(10).describe('How long requests may run after the port is closed.'),
});
export type ListenSettings = z.infer<typeof ListenSettings>;

/** The address and timeouts of a server. */
export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** The setting of the port; default: PORT. */
  readonly setting?: string;
  /** Closes a connection after this long without traffic during a request. */
  readonly stalledMs: number;
  /** Closes an idle connection after this long. */
  readonly idleMs: number;
}

/** Opens the port with listhen, without its development features. Throws an {@link OperatorError}. */
export async function listenOn(listener: RequestListener, options: ListenOptions) {
  const { host, port, stalledMs, idleMs } = options;
  const { server, url } = await listen(listener, {
    port: port === 0 ? { port, random: true } : port,
    hostname: host,
    // With `false`, listhen replaces 0.0.0.0 by localhost.
    public: !/^(?:localhost|127\.|::1$)/.test(host),
    isProd: true,
    showURL: false,
    autoClose: false,
  }).catch(async (error: unknown) => {
    throw new OperatorError(await findListenProblem(options), { cause: error });
  });
  // The type of listhen is HTTP or HTTPS; without a certificate, the server is HTTP.
  const http = server as Server;
  // Remove listhen's shutdown helper, which throws when a client disconnects during its body.
  http.removeAllListeners('request');
  const connections = answerRequests(http, listener);
  // Listhen replaces ports that browsers block by 3000.
  const address = http.address();
  if (port !== 0 && (typeof address !== 'object' || address?.port !== port)) {
    http.close();
    throw new OperatorError(await findListenProblem(options));
  }
  http.headersTimeout = 15_000;
  // A body has 30 s (handle.ts).
  http.requestTimeout = 45_000;
  http.keepAliveTimeout = idleMs;
  http.timeout = stalledMs;
  // The response to an earlier, unfinished request would follow the 101 within the websocket.
  const shouldUpgradeCallback = (request: IncomingMessage): boolean =>
    isWebsocket(request) && !connections.isAnswering(request.socket);
  // The app refuses a missing Host with our headers. A half-closed client may still wait for its response.
  const behaviour = { requireHostHeader: false, httpAllowHalfOpen: true, connectionsCheckingInterval: 1000 };
  Object.assign(http, { ...behaviour, shouldUpgradeCallback });
  // On this event, Node.js starts to check the timeouts, else only every 30 s.
  http.emit('listening');
  // Without this listener, Node.js answers 417.
  http.on('checkExpectation', (request, response) => http.emit('request', request, response));
  return { url: url.replace(/\/$/, ''), http, ...connections };
}

/** Recognizes a websocket handshake. Java's HTTP client offers h2c with every request, served as plain HTTP. */
export function isWebsocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** Finds out why listhen cannot use an address; its own error has no reason. */
async function findListenProblem(options: ListenOptions): Promise<string> {
  const { host, port, setting = 'PORT' } = options;
  const trial = createServer();
  try {
    await once(trial.listen({ host, port }), 'listening');
    trial.close();
    // Listhen refused a free port.
    return `${setting}: browsers block port ${port}; choose another`;
  } catch (error) {
    return describeListenError((error as NodeJS.ErrnoException).code ?? 'unknown', options);
  }
}

/** Describes a failure to listen, by its error code. */
export function describeListenError(
  code: string,
  { host, port, setting = 'PORT' }: Pick<ListenOptions, 'host' | 'port' | 'setting'>,
): string {
  const hostSetting = setting === 'OPERATOR_PORT' ? 'OPERATOR_HOST' : 'HOST';
  if (code === 'EADDRINUSE') return `${setting}: port ${port} of ${host} is in use; choose another`;
  if (code === 'EADDRNOTAVAIL')
    return `${hostSetting}: ${host} is not an address of this machine; use 127.0.0.1 or the address of an interface`;
  if (code === 'EACCES') {
    return `${setting}: this user may not listen on port ${port}; choose a port above 1023, or grant CAP_NET_BIND_SERVICE`;
  }
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return `${hostSetting}: the name ${host} cannot be resolved (${code})`;
  return `cannot listen on port ${port} of ${host} (${code})`;
}

/**
 * Answers the requests of a server. After `announce`, each response closes its connection; `drain` accepts no more
 * connections, and closes all after the grace period. Node's closeIdleConnections would break responses that a slow
 * client still reads, and keep connections without a request, which browsers and load balancers open in advance.
 */
function answerRequests(server: Server, listener: RequestListener) {
  /** The open responses of each connection, in the order of their requests. */
  const answersOf = new Map<Socket, ServerResponse[]>();
  let isDraining = false;
  const lingering = new WeakSet<Socket>();
  const lingerOnce = (socket: Socket): void => {
    if (!lingering.has(socket)) linger(socket);
    lingering.add(socket);
  };
  server.on('connection', (socket: Socket) => {
    answersOf.set(socket, []);
    socket.once('close', () => answersOf.delete(socket));
    const destroySoon = socket.destroySoon.bind(socket);
    // Node.js calls this after the last response of a connection.
    socket.destroySoon = () => {
      const isIncomplete = answersOf.get(socket)?.at(-1)?.req.complete === false;
      return isIncomplete ? lingerOnce(socket) : destroySoon();
    };
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    const answers = answersOf.get(socket) ?? [];
    answers.push(response);
    if (isDraining) response.setHeader('Connection', 'close');
    response.on('close', () => {
      if (isDraining && answers.length === 1) socket.destroySoon();
      answers.splice(answers.indexOf(response), 1);
    });
    listener(request, response);
  });
  // The upgrade handler closes upgraded connections.
  server.on('upgrade', (_request, socket: Socket) => answersOf.delete(socket));
  // An unparsable request ends its connection.
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (lingering.has(socket)) return;
    const answers = answersOf.get(socket) ?? [];
    const last = answers.findLast(({ req }) => req.complete);
    if (last) {
      // Complete requests get their responses first. After the last one, Node.js closes the connection by this header,
      // or we do if the header is too late.
      if (!last.headersSent) last.setHeader('Connection', 'close');
      last.once('close', () => lingerOnce(socket));
      return;
    }
    // At most one request is incomplete: refuse it, unless its response has begun. The access log counts it.
    const [incomplete] = answers;
    if (socket.writable && !incomplete?.headersSent) {
      const { status, text } = renderRawError(toParseProblem(error), randomUUID());
      socket.write(text);
      if (!incomplete) answeredRequests.publish({ route: undefined, method: undefined, status });
    }
    lingerOnce(socket);
  });
  const announce = (): void => {
    isDraining = true;
    for (const answers of answersOf.values()) {
      // Node.js closes the connection after this response.
      const last = answers.at(-1);
      if (last?.headersSent === false) last.setHeader('Connection', 'close');
    }
  };
  const drain = async (graceSeconds: number): Promise<void> => {
    announce();
    const end = setTimeout(() => server.closeAllConnections(), graceSeconds * 1000);
    await new Promise<void>((resolve) => {
      // http.Server#close would call closeIdleConnections.
      NetServer.prototype.close.call(server, () => resolve());
      for (const [socket, answers] of answersOf) if (answers.length === 0 && !lingering.has(socket)) socket.destroy();
    });
    clearTimeout(end);
  };
  /** Finds out whether a response on a connection is unfinished or queued. */
  const isAnswering = (socket: Socket): boolean => {
    const [first, ...others] = answersOf.get(socket) ?? [];
    return others.length > 0 || first?.writableEnded === false;
  };
  return { announce, drain, isAnswering };
}

function toParseProblem({ code }: NodeJS.ErrnoException): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('request_timeout', 'The request did not arrive in time');
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('headers_too_long');
  return new Problem('validation_error', 'This is not a valid HTTP request');
}
