import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';

/** Answers a request, and returns what is to be done when the exchange has ended, however it does. */
export type Serve = (request: IncomingMessage, response: ServerResponse) => () => void;

/** The connections of a server. */
export interface Connections {
  /** Serves what comes in on them. */
  readonly listener: RequestListener;
  /**
   * Watches the server that has this listener, and answers the function that ends it: no new connections, what is under
   * way is finished, and what is left after the grace is cut.
   */
  watch(server: Server): (graceSeconds: number) => Promise<void>;
}

/**
 * Keeps count of what is under way on each connection.
 *
 * Node's own closeIdleConnections takes a connection for idle as soon as its answer was handed over, and cuts what a
 * slow client has yet to read; and for busy when nothing was ever sent on it, as browsers and load balancers do.
 */
export function createConnections(serve: Serve): Connections {
  const states = new Map<Socket, { answers: number; bytesRead: number }>();
  const stateOf = (socket: Socket) => {
    const known = states.get(socket);
    if (known) return known;
    const state = { answers: 0, bytesRead: 0 };
    states.set(socket, state);
    socket.once('close', () => states.delete(socket));
    return state;
  };
  const closeIdle = (): void => {
    for (const [socket, { answers, bytesRead }] of states) {
      if (answers === 0 && bytesRead === socket.bytesRead) socket.destroy();
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
  return {
    listener(request, response) {
      const { socket } = request;
      const state = stateOf(socket);
      state.answers += 1;
      const ended = serve(request, response);
      // The one listener of its kind: two would be an array more for each request.
      response.on('close', () => {
        state.answers -= 1;
        state.bytesRead = socket.bytesRead;
        ended();
      });
    },
    watch(server) {
      server.on('connection', stateOf);
      return (graceSeconds) => stop(server, graceSeconds);
    },
  };
}
