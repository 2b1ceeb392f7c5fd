import { randomUUID } from 'node:crypto';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';

/**
 * Answers the requests of a server, and tracks the open responses of each connection. From `announce` on, each response
 * closes its connection. `drain` accepts no new connections, finishes requests, and closes all connections after the grace
 * period. Node's
 * closeIdleConnections is no replacement. It closes connections whose response a slow client is still reading, and keeps
 * those without any request, which browsers and load balancers open in advance.
 */
export function answerRequests(server: Server, listener: RequestListener) {
  const answersOf = new Map<Socket, Set<ServerResponse>>();
  let isDraining = false;
  server.on('connection', (socket: Socket) => {
    answersOf.set(socket, new Set());
    socket.once('close', () => answersOf.delete(socket));
  });
  const respond: RequestListener = (request, response) => {
    const { socket } = request;
    const answers = answersOf.get(socket);
    if (isDraining) response.setHeader('Connection', 'close');
    answers?.add(response);
    response.on('close', () => {
      answers?.delete(response);
      if (isDraining && answers?.size === 0) socket.destroySoon();
    });
    listener(request, response);
  };
  server.on('request', respond);
  // The upgrade handler closes upgraded connections.
  server.on('upgrade', (_request, socket: Socket) => answersOf.delete(socket));
  // Answers requests that Node.js cannot parse, unless another response is being written.
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
    const answers = [...(answersOf.get(socket) ?? [])];
    const isFree = answers.length < 2 && !answers[0]?.headersSent;
    if (isFree && socket.writable) socket.write(toRefusal(refusals[code] ?? 400));
    socket.destroySoon();
  });
  const announce = (): void => {
    isDraining = true;
    for (const answer of [...answersOf.values()].flatMap((answers) => [...answers])) {
      if (!answer.headersSent) answer.setHeader('Connection', 'close');
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
  return { announce, drain };
}

/** The statuses that Node.js itself gives to parse errors and timeouts; all others are 400. */
const refusals: Partial<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** A response without a body, with the headers of every response. */
function toRefusal(status: number): string {
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-Id: ${randomUUID()}`,
    'X-Content-Type-Options: nosniff',
    'Content-Length: 0',
    'Connection: close',
    '\r\n',
  ].join('\r\n');
}
