import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';
import type { Server } from 'node:http';

/**
 * Watches the connections of a server from now on, and answers the function that ends it: no new connections, what is
 * under way is finished, and what is left after the grace is cut.
 *
 * Node's own closeIdleConnections takes a connection for idle as soon as its answer was handed over, and cuts what a
 * slow client has yet to read; and for busy when nothing was ever sent on it, as browsers and load balancers do.
 */
export function watchConnections(server: Server): (graceSeconds: number) => Promise<void> {
  const states = new Map<Socket, { answers: number; bytesRead: number; readonly answered: () => void }>();
  server.on('connection', (socket: Socket) => {
    const state = {
      answers: 0,
      bytesRead: 0,
      answered(): void {
        state.answers -= 1;
        state.bytesRead = socket.bytesRead;
      },
    };
    states.set(socket, state);
    socket.once('close', () => states.delete(socket));
  });
  server.prependListener('request', ({ socket }, response) => {
    const state = states.get(socket)!;
    state.answers += 1;
    response.on('close', state.answered);
  });
  const closeIdle = (): void => {
    for (const [socket, { answers, bytesRead }] of states) {
      if (answers === 0 && bytesRead === socket.bytesRead) socket.destroy();
    }
  };
  return async (graceSeconds) => {
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
}
