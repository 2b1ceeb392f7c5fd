import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { ServerName } from '#contract/api-keys.ts';
import { streamLimits } from '#contract/console-stream.ts';
import type { Relay } from './relay.ts';
import { pingData } from './stream.ts';
import type { Route } from '../../http/handle.ts';
import { redactKeys } from '../../log.ts';
import type { Logger } from '../../log.ts';
import { answeredRequests, assertAllowed, linger, toLogged } from '../../http/request.ts';
import type { RequestContext, Requests } from '../../http/request.ts';
import { Problem, renderRawError } from '../../problem.ts';

/** Answers requests for a stream that are not websocket handshakes. */
export const streamRoute: Route = {
  endpoint: {
    method: 'GET',
    path: '/v1/hosting/game/console/{server_id}/stream',
    tag: 'Game servers',
    summary: 'A console stream, as a websocket',
    description: 'Not in the OpenAPI document, which has no websockets.',
    stored: false,
    errorStyle: 'json',
    replies: {},
    problems: ['upgrade_required'],
    failure: 'internal_error',
  },
  answer({ rest }) {
    if (!ServerName.safeParse(`game:${rest}`).success) throw new Problem('not_found');
    // RFC 9110 7.8: the sender of Upgrade also sends it as a connection option.
    throw new Problem('upgrade_required', undefined, { headers: { Upgrade: 'websocket', Connection: 'Upgrade' } });
  },
};

/** The interval of pings. A connection without traffic between two pings is closed. */
const pingMs = 30_000;

/** `maxPayload` fits an escaped command. The types of ws lack the last two options; streams limit pings themselves. */
const serverOptions = {
  noServer: true,
  handleProtocols: () => false as const,
  perMessageDeflate: false,
  maxPayload: streamLimits.messageBytes,
  closeTimeout: 2000,
  maxPendingAutoPongs: 0,
};

/** The target of a stream, also in absolute form (RFC 9112 3.2.2). */
const streamTarget = /^(?:[A-Za-z]+:\/\/[^/?#]*)?\/v1\/hosting\/game\/console\/([^/?#]+)\/stream(?:\?|$)/;

interface UpgradeOptions {
  readonly relay: Relay;
  readonly requests: Requests;
  readonly log: Logger;
}

/** Serves the websocket endpoint; returns a function that closes all streams with 1012. */
export function handleUpgrades(http: Server, { relay, requests, log }: UpgradeOptions) {
  // Any Origin is allowed: the only credential is the token in the first message, not a cookie of a visitor's browser.
  const websockets = new WebSocketServer(serverOptions);
  websockets.on('headers', (headers, request) => {
    headers.push(`X-Request-Id: ${requests.begin(request).id}`, 'X-Content-Type-Options: nosniff');
  });
  // Without this listener, ws would answer in another format.
  websockets.on('wsClientError', (_error, socket, request) => {
    refuseUpgrade(requests.begin(request), socket, notAHandshake());
  });

  const open = (
    websocket: WebSocket,
    socket: Duplex,
    server: ServerName,
    { id, trace, client }: RequestContext,
  ): void => {
    answeredRequests.publish({ route: streamRoute.endpoint.path, method: 'GET', status: 101 });
    const openedAt = performance.now();
    const stream = relay.connect(websocket, socket, server, { id, client });
    let isAlive = true;
    const pings = setInterval(() => {
      if (!isAlive) return websocket.terminate();
      isAlive = false;
      websocket.ping(pingData);
    }, pingMs).unref();
    for (const event of ['message', 'ping', 'pong']) websocket.on(event, () => (isAlive = true));
    // ws closes connections that violate the protocol.
    websocket.on('error', () => undefined);
    websocket.on('close', (code) => {
      clearInterval(pings);
      const seconds = Math.round((performance.now() - openedAt) / 100) / 10;
      const [ip, key] = [client.address, stream.grant()?.keyId];
      const line = { id, trace_id: trace?.id, ip, server: redactKeys(server), key, code, seconds };
      log.info(line, 'console stream closed');
    });
  };
  /** Returns the server of an upgrade request, or throws a Problem. */
  const admit = (context: RequestContext): ServerName => {
    const { request, target } = context;
    assertAllowed(context, requests.consume(context, false));
    requests.assertOwnHost(context);
    const [, id = ''] = streamTarget.exec(target) ?? [];
    const { data: server } = ServerName.safeParse(`game:${id}`);
    if (!server || request.method !== 'GET') throw new Problem('not_found');
    if (!relay.admits(context)) throw new Problem('rate_limited', undefined, { headers: { 'Retry-After': '1' } });
    // RFC 6455 4.2.1; ws would also accept version 8.
    if (request.headers['sec-websocket-version'] !== '13') throw notAHandshake();
    return server;
  };
  const refuseUpgrade = (context: RequestContext, socket: Duplex, error: unknown, isAnswered = false): void => {
    const { id, trace, client, request, target, limits } = context;
    const { method } = request;
    const { status, text } = renderRawError(error, id, limits);
    if (isAnswered) socket.destroy();
    else {
      socket.write(text);
      linger(socket);
    }
    const line = { id, trace_id: trace?.id, ip: client.address, method, url: toLogged(target), status };
    const route = streamTarget.test(target) ? streamRoute.endpoint.path : undefined;
    answeredRequests.publish({ route, method, status });
    if (error instanceof Problem) log.info(line, 'upgrade refused');
    else log.error({ ...line, err: error }, 'upgrade failed');
  };
  http.on('upgrade', (request, socket, head) => {
    // Before ws adds its listeners, a connection reset would be an uncaught exception.
    socket.on('error', () => socket.destroy());
    const context = requests.begin(request);
    let isAnswered = false;
    try {
      const server = admit(context);
      isAnswered = true;
      websockets.handleUpgrade(request, socket, head, (websocket) => open(websocket, socket, server, context));
    } catch (error) {
      refuseUpgrade(context, socket, error, isAnswered);
    }
  });
  return async (): Promise<void> => {
    relay.close();
    // ws terminates the streams of clients that do not answer the close frame.
    const { clients } = websockets;
    await Promise.all([...clients].map((websocket) => new Promise((resolve) => websocket.once('close', resolve))));
  };
}

const notAHandshake = (): Problem =>
  new Problem('validation_error', 'This is not a websocket handshake of version 13', {
    headers: { 'Sec-WebSocket-Version': '13' },
  });
