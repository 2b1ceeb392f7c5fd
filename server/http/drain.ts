import { randomUUID } from 'node:crypto';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';

/**
 * Answers the requests of a server, and keeps the answers under way on each connection. Returns how it is drained: it
 * takes no new connections, lets requests finish, and cuts after the grace what is left. Node's own closeIdleConnections
 * takes a connection for idle once its answer was handed over, and cuts what a slow client has yet to read; and it leaves
 * alone those that never sent anything, as browsers and load balancers open them.
 */
export function answerRequests(server: Server, listener: RequestListener): (graceSeconds: number) => Promise<void> {
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
  // An upgraded connection is ended by what it was upgraded to.
  server.on('upgrade', (_request, socket: Socket) => answersOf.delete(socket));
  // Answers what Node.js cannot read, unless that would come in the middle of another answer.
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
    const answers = [...(answersOf.get(socket) ?? [])];
    const isFree = answers.length < 2 && !answers[0]?.headersSent;
    if (isFree && socket.writable) socket.write(toRefusal(refusals[code] ?? 400));
    socket.destroySoon();
  });
  return async (graceSeconds) => {
    isDraining = true;
    const end = setTimeout(() => server.closeAllConnections(), graceSeconds * 1000);
    await new Promise<void>((resolve) => {
      // The close of an HTTP server would close idle connections in Node's way.
      NetServer.prototype.close.call(server, () => resolve());
      for (const [socket, answers] of answersOf) {
        if (answers.size === 0) socket.destroy();
        for (const answer of answers) if (!answer.headersSent) answer.setHeader('Connection', 'close');
      }
    });
    clearTimeout(end);
  };
}

/** The statuses of what Node.js cannot read or waits for in vain, as its own answers have them; all else is 400. */
const refusals: Partial<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** An answer without a body, with the headers that every answer has. */
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
