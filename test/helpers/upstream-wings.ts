import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { OnEnd } from './upstream.ts';

const keptLines = 150;

/** Options of the Wings stand-in. */
export interface WingsOptions {
  readonly uuid: string;
  /** The interval at which Wings checks its tokens. */
  readonly tickMs: number;
  /** Answer pings; false simulates a dead connection. */
  readonly autoPong: boolean;
  readonly onEnd: OnEnd;
}

/** Sends an event; without arguments, omits the `args` key. */
function send(socket: WebSocket, event: string, ...args: readonly string[]): void {
  socket.send(JSON.stringify(args.length > 0 ? { event, args } : { event }));
}

/** Adds Wings to an HTTP server, with the quirks of its source. The Origin of clients must be the panel's. */
export function createWings(server: Server, origin: string, { uuid, tickMs, autoPong, onEnd }: WingsOptions) {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 4096, perMessageDeflate: false, autoPong });
  /** The expiry of each token, and of the last token of each socket, in seconds since 1970. */
  const issued = new Map<string, number>();
  const tokens = new Map<WebSocket, number>();
  const denied = new Set<string>();
  const forbidden: string[] = [];
  const auths: number[] = [];
  const history: string[] = [];
  let pings = 0;
  let logsSent = 0;
  let authsDropped = 0;
  let statsSent = 0;
  let state = 'offline';
  let answersStats = true;
  let usage: Readonly<Record<string, unknown>> = {};
  let refused: number | undefined;
  let panel = origin;
  let authLimit = Number.POSITIVE_INFINITY;

  const reject = (exp: number): string | undefined =>
    Date.now() / 1000 >= exp ? 'jwt: exp claim is invalid' : undefined;
  const publishTo = (socket: WebSocket, event: string, ...args: readonly string[]): void => {
    const exp = tokens.get(socket);
    if (exp === undefined) return;
    const reason = reject(exp);
    // The error replaces the line.
    if (reason) send(socket, 'jwt error', reason);
    else send(socket, event, ...args);
  };
  const publish = (event: string, ...args: readonly string[]): void => {
    for (const socket of tokens.keys()) publishTo(socket, event, ...args);
  };
  /** Encodes the statistics as Wings does: with the state, and zeros for an offline server. */
  const toStats = (): string =>
    JSON.stringify({
      memory_bytes: 0,
      memory_limit_bytes: 0,
      cpu_absolute: 0,
      network: { rx_bytes: 0, tx_bytes: 0 },
      uptime: 0,
      disk_bytes: 1_048_576,
      ...(state !== 'offline' && usage),
      state,
    });
  const authenticate = (socket: WebSocket, token: string): void => {
    const exp = issued.get(token);
    if (!exp) return send(socket, 'daemon error', 'an unexpected error was encountered while handling this request');
    const reason = denied.has(token) ? 'jwt: created too far in past (denylist)' : reject(exp);
    if (reason) return send(socket, 'jwt error', `Error Event [${randomUUID()}]: ${reason}`);
    auths.push(Date.now());
    const isFirst = !tokens.has(socket);
    tokens.set(socket, exp);
    send(socket, 'auth success');
    if (!isFirst) return;
    send(socket, 'status', state);
    const ticker = setInterval(() => {
      const left = tokens.get(socket)! - Date.now() / 1000;
      if (left <= 0) publishTo(socket, 'token expired');
      else if (left <= 60) publishTo(socket, 'token expiring');
    }, tickMs);
    socket.on('close', () => clearInterval(ticker));
  };
  const handleMessage = (socket: WebSocket, data: string, limit: { recent: number[]; isNotified: boolean }): void => {
    const { event, args = [] } = JSON.parse(data) as { event: string; args?: string[] };
    if (event === 'auth') {
      limit.recent = limit.recent.filter((at) => Date.now() - at < 5000);
      if (limit.recent.length >= authLimit) {
        authsDropped += 1;
        if (!limit.isNotified) send(socket, 'throttled', 'auth');
        limit.isNotified = true;
        return;
      }
      limit.isNotified = false;
      limit.recent.push(Date.now());
      return authenticate(socket, args.join(''));
    }
    if (event === 'send command' || event === 'set state') forbidden.push(event);
    if (event === 'send stats') {
      statsSent += 1;
      if (answersStats) publishTo(socket, 'stats', toStats());
    }
    if (event !== 'send logs') return;
    logsSent += 1;
    if (state === 'offline') return;
    for (const line of history) publishTo(socket, 'console output', line);
  };
  sockets.on('connection', (socket: WebSocket) => {
    // The times of accepted `auth` messages; the socket is notified of the limit once.
    const limit = { recent: [], isNotified: false };
    socket.on('message', (data: Buffer) => handleMessage(socket, data.toString(), limit));
    socket.on('ping', () => (pings += 1));
    socket.on('close', () => tokens.delete(socket));
    socket.on('error', () => undefined);
  });
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const answer = (status: number): unknown => stream.end(`HTTP/1.1 ${status} No\r\nconnection: close\r\n\r\n`);
    if (refused !== undefined) answer(refused);
    else if (request.url !== `/api/servers/${uuid}/ws`) answer(404);
    else if (request.headers.origin !== panel) answer(403);
    else sockets.handleUpgrade(request, stream, head, (socket) => sockets.emit('connection', socket, request));
  });
  const cut = (): void => sockets.clients.forEach((socket) => socket.terminate());
  onEnd(cut);
  return {
    uuid,
    /** Received events that a read-only console must never send. */
    forbidden: forbidden as readonly string[],
    /** Times of successful `auth` messages. */
    auths: auths as readonly number[],
    pings: () => pings,
    /** Number of open sockets, authenticated or not. */
    sockets: () => sockets.clients.size,
    /** The number of `send logs` and `send stats` received. */
    logsSent: () => logsSent,
    statsSent: () => statsSent,
    /** The number of `auth` messages dropped by the limit. */
    authsDropped: () => authsDropped,
    issue(permissions: readonly string[], seconds: number): string {
      const iat = Math.floor(Date.now() / 1000);
      const claims = JSON.stringify({ iat, exp: iat + seconds, permissions, unique_id: randomUUID() });
      const token = `header.${Buffer.from(claims).toString('base64url')}.signature`;
      issued.set(token, iat + seconds);
      return token;
    },
    /** Sets the resource usage, and publishes the statistics, as Wings does each second. */
    use(next: Readonly<Record<string, unknown>>): void {
      usage = next;
      publish('stats', toStats());
    },
    answerStats: (answers: boolean) => (answersStats = answers),
    print(line: string): void {
      history.push(line);
      history.splice(0, history.length - keptLines);
      publish('console output', line);
    },
    publish,
    /** Sends data that is not a Wings event. */
    sendRaw: (data: string | Buffer) => sockets.clients.forEach((socket) => socket.send(data)),
    state: () => state,
    become(next: string): void {
      if (state === next) return;
      // The history belongs to the container, and each start creates a container.
      if (state === 'offline') history.length = 0;
      state = next;
      publish('status', next);
      if (next === 'offline') publish('stats', toStats());
    },
    /** Terminates all sockets without a close frame, as Wings does after a change of subusers. */
    cut,
    close: (code: number, reason: string) => sockets.clients.forEach((socket) => socket.close(code, reason)),
    /** Answers handshakes with this status; undefined accepts them again. */
    refuse: (status: number | undefined) => (refused = status),
    /** Denies all tokens issued so far, as a restart does. */
    denyOldTokens: () => issued.forEach((_, token) => denied.add(token)),
    /** Sets the Origin that handshakes must have. */
    expectOrigin: (next: string) => (panel = next),
    /** Limits the `auth` messages of a socket in 5 s, as newer versions do. Only the first drop is answered. */
    throttleAuth: (limit: number) => (authLimit = limit),
  };
}
