import type { IncomingMessage, Server } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Peer } from 'crossws';
import { ServerName } from '#contract/api-keys.ts';
import type { Relay, StreamClient } from './relay.ts';
import type { Session } from './session.ts';
import { closeCodes } from './socket.ts';
import type { ClientSocket } from './socket.ts';
import type { Logger } from '../../log.ts';
import { renderError } from '../../http/errors.ts';
import type { Identify } from '../../http/identify.ts';
import type { LocalBucket } from '../../token-bucket.ts';
import { Problem } from '../../problem.ts';

/** What stands behind the websocket endpoint. */
export interface UpgradeOptions {
  readonly relay: Relay;
  readonly identify: Identify;
  readonly limit: LocalBucket;
  readonly log: Logger;
  /** How often connections are pinged; one that has not answered by the next ping is cut. */
  readonly pingSeconds?: number;
}

/** The door for websockets. */
export interface UpgradeHandler {
  /** Takes the websocket upgrades of a server; other upgrades (h2c) are left to be answered as plain requests. */
  attach(server: Server): void;
  /** Ends all streams by 1012, and cuts after a moment what is left. */
  close(): Promise<void>;
}

/** A request that may become a stream. */
interface Link {
  readonly server: ServerName;
  readonly client: StreamClient;
  readonly socket: Duplex;
}

/** A stream that was opened. */
interface OpenStream extends Link {
  readonly session: Session;
  readonly openedAt: number;
}

/** How long a client may take to answer a close frame. */
const closeMs = 2000;

/** Options of ws, the last unknown to crossws' types. The longest message is a command of 1,024 characters, escaped. */
const serverOptions = { maxPayload: 16 * 1024, perMessageDeflate: false, closeTimeout: closeMs };

/** The target of a stream, also in the absolute form that servers must understand (RFC 9112 3.2.2). */
const streamTarget = /^(?:[A-Za-z]+:\/\/[^/?#]*)?\/v1\/hosting\/game\/console\/([^/?#]+)\/stream(?:\?|$)/;

/**
 * Creates the websocket endpoint. Any Origin may use it: the token that comes in the first message is the only
 * credential, so a foreign page gains nothing by a visitor's browser. What is refused is answered as plain HTTP.
 */
export function createUpgradeHandler({
  relay,
  identify,
  limit,
  log,
  pingSeconds = 30,
}: UpgradeOptions): UpgradeHandler {
  const links = new WeakMap<Request, Link>();
  const streams = new Map<Peer, OpenStream>();
  let emptied: (() => void) | undefined;

  const createAdapter = async () => {
    const { default: create } = await import('crossws/adapters/node');
    return create({
      idleTimeout: pingSeconds,
      // By default crossws keeps a set of peers for every path ever asked for.
      getNamespace: () => 'console',
      serverOptions,
      hooks: {
        upgrade(request) {
          const link = links.get(request)!;
          return { headers: { 'X-Request-Id': link.client.requestId }, context: { link } };
        },
        open(peer) {
          const link = peer.context.link as Link;
          const session = relay.connect(toClientSocket(peer, link.socket), link.server, link.client);
          streams.set(peer, { ...link, session, openedAt: performance.now() });
        },
        message(peer, { rawData }) {
          streams.get(peer)?.session.message(typeof rawData === 'string' ? rawData : undefined);
        },
        ping: (peer) => streams.get(peer)?.session.control(),
        pong: (peer) => streams.get(peer)?.session.control(),
        drain: (peer) => streams.get(peer)?.session.drained(),
        close(peer, { code }) {
          const stream = streams.get(peer);
          if (!stream) return;
          streams.delete(peer);
          stream.session.closed();
          const { server, session, client, openedAt } = stream;
          const seconds = Math.round((performance.now() - openedAt) / 100) / 10;
          const line = { id: client.requestId, ip: client.address, server, key: session.keyId(), code, seconds };
          log.info(line, 'console stream closed');
          if (streams.size === 0) emptied?.();
        },
      },
    });
  };
  // Made for the first stream.
  let adapter: ReturnType<typeof createAdapter> | undefined;

  const admit = (request: IncomingMessage, socket: Duplex, client: StreamClient): Link => {
    const [, id = ''] = streamTarget.exec(request.url!) ?? [];
    const { data: server } = ServerName.safeParse(`game:${id}`);
    if (!server || request.method !== 'GET') throw new Problem('not_found');
    const { allowed, headers, retryAfter } = limit.consume(client.key);
    if (!allowed || !relay.admits(client)) {
      const pairs = Array.from({ length: headers.length / 2 }, (_, at) => [headers[at * 2]!, headers[at * 2 + 1]!]);
      const retry = { 'Retry-After': String(retryAfter) };
      throw new Problem('rate_limited', undefined, { headers: { ...Object.fromEntries(pairs), ...retry } });
    }
    if (!isHandshake(request)) {
      throw new Problem('validation_error', 'This is not a websocket handshake of version 13', {
        headers: { 'Sec-WebSocket-Version': '13' },
      });
    }
    return { server, client, socket };
  };

  const serve = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const { id, client: found } = identify(request);
    const client: StreamClient = { requestId: id, ...found };
    let link: Link;
    try {
      link = admit(request, socket, client);
    } catch (error) {
      const status = refuse(socket, error, client.requestId);
      // Without the query: a client may have put its token there.
      const url = request.url?.split('?', 1)[0]?.slice(0, 256);
      const line = { id: client.requestId, ip: client.address, method: request.method, url, status };
      if (error instanceof Problem) log.info(line, 'upgrade refused');
      else log.error({ ...line, err: error }, 'upgrade failed');
      return;
    }
    // crossws would build a request of the Host header; this one only leads to its link.
    const handle = new Request('http://localhost');
    links.set(handle, link);
    await (await (adapter ??= createAdapter())).handleUpgrade(request, socket, head, handle);
  };
  const handle = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    // Between the HTTP parser and ws nobody listens: a reset would be an uncaught exception.
    socket.on('error', () => socket.destroy());
    serve(request, socket, head).catch((error: unknown) => {
      // The handshake may be answered already: there is nothing left to say.
      socket.destroy();
      log.error({ err: error }, 'upgrade failed');
    });
  };

  return {
    attach(server) {
      // Java's HTTP client offers h2c with every request: as an upgrade it would be refused, as a request it is served.
      Object.assign(server, { shouldUpgradeCallback: isWebsocket });
      server.on('upgrade', handle);
    },
    async close() {
      relay.close();
      const opened = await adapter;
      await opened?.close(closeCodes.restart, 'service restart');
      if (!opened || streams.size === 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      emptied = resolve;
      const timer = setTimeout(() => opened.closeAll(undefined, undefined, true), closeMs);
      await promise;
      clearTimeout(timer);
    },
  };
}

/**
 * Output is written past ws, to the connection itself: whole frames, and only while ws has not begun to close. ws
 * does the same with its own frames, each in one piece, so that they never mix.
 */
function toClientSocket(peer: Peer, socket: Duplex): ClientSocket {
  return {
    send(frames) {
      if (peer.websocket.readyState === 1 && socket.writable) socket.write(frames);
    },
    isFull: () => socket.writableNeedDrain,
    bufferedAmount: () => peer.bufferedAmount,
    close: (code, reason) => peer.close(code, reason),
    terminate: () => peer.terminate(),
  };
}

function isWebsocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** RFC 6455 4.2.1, of which ws would answer a breach in its own style. */
function isHandshake({ headers }: IncomingMessage): boolean {
  return headers['sec-websocket-version'] === '13' && /^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '');
}

/** Answers an upgrade as plain HTTP and closes; says with which status. */
function refuse(socket: Duplex, error: unknown, requestId: string): number {
  const { status, headers, body } = renderError(error, undefined);
  const all = { ...headers, 'X-Request-Id': requestId, 'X-Content-Type-Options': 'nosniff', Connection: 'close' };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
  return status;
}
