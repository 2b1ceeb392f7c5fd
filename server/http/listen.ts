import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:net';
import { listen } from 'listhen';
import type { OnAnswered } from './access-log.ts';
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
  /** Called for each refusal of bytes that Node.js cannot parse. */
  readonly onAnswered?: OnAnswered | undefined;
}

/**
 * Opens a server with listhen, without its development features. Throws a {@link ListenError} if the port cannot be
 * used.
 */
export async function listenOn(
  listener: RequestListener,
  { host, port, stalledMs, idleMs = 65_000, onAnswered }: ListenOptions,
) {
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
  const connections = answerRequests(http, listener, onAnswered);
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
  Object.assign(http, { requireHostHeader: false, httpAllowHalfOpen: true });
  // Without this listener, Node.js answers 417.
  http.on('checkExpectation', (request, response) => http.emit('request', request, response));
  return { url: url.replace(/\/$/, ''), http, ...connections };
}

interface Address extends Pick<ListenOptions, 'host' | 'port'> {
  /** The setting with the port. */
  readonly setting?: string;
}

/** Finds out why listhen cannot use an address: its own error has no reason. */
async function findListenProblem(address: Address): Promise<string> {
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
export function describeListenError(code: string, { host, port, setting = 'PORT' }: Address): string {
  if (code === 'EADDRINUSE') return `${setting}: port ${port} of ${host} is in use`;
  if (code === 'EADDRNOTAVAIL') return `HOST: ${host} is not an address of this machine`;
  if (code === 'EACCES') {
    return `${setting}: this user may not listen on port ${port}: use one above 1023, or permit it (CAP_NET_BIND_SERVICE)`;
  }
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return `HOST: the name ${host} cannot be resolved (${code})`;
  return `cannot listen on port ${port} of ${host} (${code})`;
}
