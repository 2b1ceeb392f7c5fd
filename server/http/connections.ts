import { randomUUID } from 'node:crypto';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';
import type { OnAnswered } from './access-log.ts';
import { Problem } from '../problem.ts';
import { renderRawError } from './errors.ts';

/**
 * Answers the requests of a server, and tracks the open responses of each connection. From `announce` on, each response
 * closes its connection. `drain` accepts no new connections, finishes requests, and closes all connections after the grace
 * period. Node's closeIdleConnections is no replacement. It closes connections whose response a slow client is still
 * reading, and keeps those without any request, which browsers and load balancers open in advance.
 */
export function answerRequests(server: Server, listener: RequestListener, onAnswered?: OnAnswered) {
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
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    refuseRest(socket, answersOf.get(socket) ?? new Set(), error, onAnswered);
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

/**
 * Ends a connection whose bytes Node.js cannot parse. Requests that arrived completely get their own answers first. A
 * request that did not gets a refusal, unless its response has begun.
 */
function refuseRest(
  socket: Socket,
  answers: ReadonlySet<ServerResponse>,
  error: NodeJS.ErrnoException,
  onAnswered?: OnAnswered,
): void {
  const accepted = [...answers].filter(({ req }) => req.complete);
  if (accepted.length === 0) {
    const isFree = answers.size < 2 && ![...answers].some(({ headersSent }) => headersSent);
    if (isFree && socket.writable) {
      const { status, text } = renderRawError(toProblem(error), randomUUID());
      socket.write(text);
      // The access log has a request whose body is cut off.
      if (answers.size === 0) onAnswered?.({ route: undefined, method: undefined, status });
    }
    return socket.destroySoon();
  }
  // Node.js closes the connection after the last response if that has this header, but not if it was sent before.
  const last = accepted.at(-1)!;
  if (!last.headersSent) last.setHeader('Connection', 'close');
  last.once('close', () => socket.destroySoon());
}

function toProblem({ code }: NodeJS.ErrnoException): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('request_timeout', 'The request did not arrive in time');
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('headers_too_long');
  return new Problem('validation_error', 'This is not a valid HTTP request');
}
