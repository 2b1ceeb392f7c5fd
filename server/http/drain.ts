import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';
import { toRequestId } from './request-id.ts';

/** Answers a request, and returns what is to be done when the exchange has ended, however it does. */
export type Serve = (request: IncomingMessage, response: ServerResponse) => () => void;

/** The connections of a server. */
export interface Connections {
  /** Serves what comes in on them. */
  readonly listener: RequestListener;
  /**
   * Watches the server that has this listener, cuts connections where its patience ends, and answers the function that
   * ends it: no new connections, what is under way is finished, and what is left after the grace is cut.
   */
  watch(server: Server, patience: Patience): (graceSeconds: number) => Promise<void>;
}

/** For how long nothing need come or go on a connection, in milliseconds. */
export interface Patience {
  /** While a request is under way. */
  readonly stalledMs: number;
  /** While none is. */
  readonly idleMs: number;
}

/** What is under way on a connection. */
interface State {
  answers: number;
  /** When the last answer ended. */
  bytesRead: number;
  /** The last answer that is not at its end. */
  last: ServerResponse | undefined;
  /** What had been read when it was last looked at. */
  seen: number;
  /** When a look last found that it was in use. */
  usedAt: number;
  /** Whether Node.js keeps time for it. */
  isTimed: boolean;
}

/** How often connections are looked at. */
const lookMs = 1000;

/**
 * Keeps count of what is under way on each connection.
 *
 * Node's own closeIdleConnections takes a connection for idle as soon as its answer was handed over, and cuts what a
 * slow client has yet to read; and for busy when nothing was ever sent on it, as browsers and load balancers do.
 */
export function createConnections(serve: Serve): Connections {
  const states = new Map<Socket, State>();
  const stateOf = (socket: Socket) => {
    const known = states.get(socket);
    if (known) return known;
    const state: State = { answers: 0, bytesRead: 0, last: undefined, seen: -1, usedAt: 0, isTimed: false };
    states.set(socket, state);
    socket.once('close', () => states.delete(socket));
    return state;
  };
  /** Answers what Node cannot read, unless that would come in the middle of another answer, and closes the connection. */
  const refuse = ({ code = '' }: NodeJS.ErrnoException, socket: Socket): void => {
    const { answers, last } = stateOf(socket);
    const isFree = answers === 0 || (answers === 1 && !last!.headersSent);
    if (isFree && socket.writable) socket.write(toRefusal(refusals[code] ?? 400));
    socket.destroySoon();
  };
  const closeIdle = (): void => {
    for (const [socket, state] of states) if (isIdle(socket, state)) socket.destroy();
  };
  const look = ({ stalledMs, idleMs }: Patience): void => {
    const now = performance.now();
    for (const [socket, state] of states) {
      const isAsBefore = state.seen === socket.bytesRead;
      state.seen = socket.bytesRead;
      if (!isAsBefore || !isIdle(socket, state)) state.usedAt = now;
      if (now - state.usedAt >= idleMs) socket.destroy();
      // What the kernel has yet to send, and whether it becomes less, only Node.js knows.
      if (isAsBefore && state.answers > 0 && !state.isTimed) {
        state.isTimed = true;
        socket.setTimeout(stalledMs);
      }
    }
  };
  const stop = async (server: Server, graceSeconds: number): Promise<void> => {
    const idle = setInterval(closeIdle, 50);
    const end = setTimeout(() => server.closeAllConnections(), graceSeconds * 1000);
    await new Promise<void>((resolve) => {
      // The close of an HTTP server would close idle connections in Node's way first.
      NetServer.prototype.close.call(server, () => resolve());
      closeIdle();
    });
    clearInterval(idle);
    clearTimeout(end);
  };
  const listener: RequestListener = (request, response) => {
    const { socket } = request;
    const state = stateOf(socket);
    state.answers += 1;
    state.last = response;
    const ended = serve(request, response);
    // The one listener of its kind: two would be an array more for each request.
    response.on('close', () => {
      state.answers -= 1;
      state.bytesRead = socket.bytesRead;
      if (state.answers === 0) state.last = undefined;
      ended();
    });
  };
  return {
    listener,
    watch(server, patience) {
      // Node's own timers are made anew for each connection at the end of each answer and the begin of the next, which is
      // a fiftieth of what an article takes.
      server.timeout = 0;
      server.keepAliveTimeout = 0;
      const looks = setInterval(look, lookMs, patience).unref();
      server.once('close', () => clearInterval(looks));
      server.on('connection', stateOf);
      server.on('clientError', refuse);
      // Without it, Node would answer 417 by itself.
      server.on('checkExpectation', listener);
      return (graceSeconds) => stop(server, graceSeconds);
    },
  };
}

/** Whether all that came on a connection is answered. */
function isIdle(socket: Socket, { answers, bytesRead }: State): boolean {
  return answers === 0 && bytesRead === socket.bytesRead;
}

/** The statuses of what Node cannot read or waits for in vain, as its own answers have them; all else is 400. */
const refusals: Partial<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** An answer without a body, with the headers that every answer has. */
function toRefusal(status: number): string {
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-Id: ${toRequestId(undefined)}`,
    'X-Content-Type-Options: nosniff',
    'Content-Length: 0',
    'Connection: close',
    '\r\n',
  ].join('\r\n');
}
