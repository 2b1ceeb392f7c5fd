import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { createUpstream, json } from './upstream.ts';
import type { Answer, OnEnd, Seen } from './upstream.ts';

/** Accepted keys. `write` and `pelican` may act, `read` may only read the console. */
export const panelKeys = {
  write: 'ptlc_WriteWriteWrit0123456789abcdefghijklmnopqrstuv',
  pelican: 'pacc_WriteWriteWrit0123456789abcdefghijklmnopqrstuv',
  read: 'ptlc_ReadReadReadRe0123456789abcdefghijklmnopqrstuv',
};

/** A stand-in for a panel with one server and its Wings node. */
export type PanelUpstream = Awaited<ReturnType<typeof createPanelUpstream>>;

interface WingsOptions {
  readonly uuid: string;
  /** The interval at which Wings checks its tokens. */
  readonly tickMs: number;
  /** Answer pings; false simulates a dead connection. */
  readonly autoPong: boolean;
  readonly onEnd: OnEnd;
}

/** Options of the stand-in. */
export interface PanelOptions extends Partial<WingsOptions> {
  /** Pelican returns 204 for commands even if the server is offline. */
  readonly isPelican?: boolean;
  /** The server stays running after every power action. */
  readonly isSteady?: boolean;
}

interface PanelUser {
  admin: boolean;
  owner: boolean;
  permissions: string[];
}

/** Starts a stand-in for a panel. */
export async function createPanelUpstream({
  isPelican = false,
  tickMs = 30_000,
  uuid = randomUUID(),
  autoPong = true,
  isSteady = false,
  onEnd = onTestFinished,
}: PanelOptions = {}) {
  const actions = ['control.start', 'control.stop', 'control.restart'];
  const all = ['websocket.connect', 'control.console', ...actions, 'file.read', 'file.read-content'];
  const users = new Map<string, PanelUser>([
    [isPelican ? panelKeys.pelican : panelKeys.write, { admin: false, owner: false, permissions: all }],
    [panelKeys.read, { admin: false, owner: false, permissions: ['websocket.connect'] }],
  ]);
  const tokenTimes: number[] = [];
  const panel = {
    users,
    /** Accepted power signals, and commands that reached a running server. */
    signals: [] as string[],
    commands: [] as string[],
    files: new Map<string, string>(),
    /** The size of the largest file that the panel returns. */
    fileBytes: 4 * 1024 * 1024,
    tokenSeconds: 600,
    /** The limit of console tokens per minute; older panels have no such limit. */
    tokensPerMinute: 5,
    /** The limit of requests per minute and user, which all responses include. */
    requestsPerMinute: Number.POSITIVE_INFINITY,
    /** Cache time of `resources`; 20 s in a real panel. */
    resourcesMs: 0,
    /** A state such as suspended or installing, in which the panel refuses every request for the server. */
    conflict: undefined as string | undefined,
    /** The panel's own address in its tokens; the default is its URL. */
    issuer: undefined as string | undefined,
    /** The permissions in tokens, also in impossible shapes; the default are the user's. */
    grant: null as unknown,
    /** The address of the node in tokens; the default is the node of this stand-in. */
    socket: undefined as string | undefined,
    /** Called for a power action instead of its usual effect; Wings publishes states before the panel answers. */
    onPower: undefined as ((signal: string) => void) | undefined,
  };

  const power = (signal: string): Answer => {
    const next = { start: 'running', restart: 'running', stop: 'offline', kill: 'offline' }[signal];
    if (next === undefined) return failure(422, 'ValidationException', 'The selected signal is invalid.');
    panel.signals.push(signal);
    panel.onPower?.(signal);
    if (isSteady || panel.onPower) return { status: 204 };
    if (signal === 'restart') wings.become('offline');
    wings.become(next);
    // Wings tells its sockets before the panel answers.
    return { status: 204, ms: 5 };
  };
  const command = (text: string | undefined): Answer => {
    if (!text?.trim()) return failure(422, 'ValidationException', 'The command field is required.');
    if (wings.state() !== 'offline') panel.commands.push(text.trim());
    else if (!isPelican) return failure(502, 'HttpException', 'Server must be online in order to send commands.');
    return { status: 204 };
  };
  const socketUrl = (): string => `${upstream.url.replace('http', 'ws')}/api/servers/${wings.uuid}/ws`;
  const websocket = (user: PanelUser): Answer => {
    const since = Date.now() - 60_000;
    if (tokenTimes.filter((at) => at > since).length >= panel.tokensPerMinute) {
      const headers = { 'retry-after': '60', 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '0' };
      return { ...failure(429, 'ThrottleRequestsException', 'Too Many Attempts.'), headers };
    }
    tokenTimes.push(Date.now());
    const token = wings.issue(
      panel.grant === null ? permissionsOf(user) : panel.grant,
      panel.tokenSeconds,
      panel.issuer,
    );
    return json(200, { data: { token, socket: panel.socket ?? socketUrl() } });
  };
  const file = (name: string | null): Answer => {
    const content = panel.files.get(name ?? '');
    if (content === undefined) return isPelican ? failure(500, 'FileNotFoundException', unexpected) : nodeFailure;
    if (content.length > panel.fileBytes) return failure(400, 'FileSizeTooLargeException', 'The file is too large.');
    return { status: 200, headers: { 'content-type': 'text/plain; charset=UTF-8' }, body: content };
  };
  const listFiles = (directory: string): Answer => {
    const prefix = directory.endsWith('/') ? directory : `${directory}/`;
    const inside = [...panel.files.keys()].filter((name) => name.startsWith(prefix));
    if (inside.length === 0 && prefix !== '/') return nodeFailure;
    const data = inside.map((path) => {
      const [name, ...rest] = path.slice(prefix.length).split('/');
      return { object: 'file_object', attributes: { name, size: 1, is_file: rest.length === 0, is_symlink: false } };
    });
    return json(200, { object: 'list', data });
  };
  let resources = { at: Number.NEGATIVE_INFINITY, state: '' };
  const readResources = (): Answer => {
    if (performance.now() - resources.at >= panel.resourcesMs) {
      resources = { at: performance.now(), state: wings.state() };
    }
    return json(200, { object: 'stats', attributes: { current_state: resources.state, is_suspended: false } });
  };
  const needs: Partial<Record<string, string>> = {
    command: 'control.console',
    websocket: 'websocket.connect',
    'files/contents': 'file.read-content',
    'files/list': 'file.read',
  };
  const serve = (request: Seen, user: PanelUser): Answer => {
    const url = new URL(request.path, upstream.url);
    const path = url.pathname.replace('/api/client', '');
    const { admin } = user;
    const permissions = permissionsOf(user);
    const identifier = wings.uuid.slice(0, 8);
    const attributes = { server_owner: user.owner, identifier, uuid: wings.uuid, name: 'Server', node: 'Node 1' };
    const kind = isPelican ? { uuid: randomUUID(), root_admin: admin, '2fa_enabled': false } : { id: 4 };
    if (path === '/account') return json(200, { object: 'user', attributes: { ...kind, admin, username: 'svc' } });
    if (path === '') {
      const pagination = { total: 1, count: 1, per_page: 50, current_page: 1, total_pages: 1, links: {} };
      return json(200, { object: 'list', data: [{ object: 'server', attributes }], meta: { pagination } });
    }
    const [, id = '', rest = ''] = /^\/servers\/([^/]+)\/?(.*)$/.exec(path) ?? [];
    if (id !== wings.uuid && id !== identifier) return failure(404, 'NotFoundHttpException', 'Not found.');
    if (rest === '') return json(200, { object: 'server', attributes, meta: { user_permissions: permissions } });
    if (panel.conflict) return failure(409, 'ServerStateConflictException', panel.conflict);
    const body = request.body ? (JSON.parse(request.body) as { signal?: string; command?: string }) : {};
    const need = rest === 'power' ? `control.${body.signal?.replace('kill', 'stop')}` : needs[rest];
    const may = need === undefined || [need, '*'].some((name) => permissions.includes(name));
    if (!may) return failure(403, 'AccessDeniedHttpException', 'This action is unauthorized.');
    if (rest === 'power') return power(body.signal ?? '');
    if (rest === 'command') return command(body.command);
    if (rest === 'websocket') return websocket(user);
    if (rest === 'files/contents') return file(url.searchParams.get('file'));
    if (rest === 'files/list') return listFiles(url.searchParams.get('directory') ?? '/');
    if (rest === 'resources') return readResources();
    return failure(404, 'NotFoundHttpException', 'Not found.');
  };
  const permissionsOf = ({ admin, owner, permissions }: PanelUser) =>
    admin ? ['*', 'admin.websocket.errors', 'admin.websocket.install'] : owner ? ['*'] : permissions;
  const counts = new Map<PanelUser, number>();
  /** Laravel counts in fixed windows; the stand-in has a single window. */
  const countRequest = (request: Seen, user: PanelUser): Answer => {
    const left = panel.requestsPerMinute - (counts.get(user) ?? 0);
    if (!Number.isFinite(left)) return serve(request, user);
    counts.set(user, (counts.get(user) ?? 0) + 1);
    const limits = { 'x-ratelimit-limit': String(panel.requestsPerMinute) };
    const tooMany = failure(429, 'ThrottleRequestsException', 'Too Many Attempts.');
    const answer = left > 0 ? serve(request, user) : { ...tooMany, headers: { 'retry-after': '60' } };
    const remaining = { 'x-ratelimit-remaining': String(Math.max(0, left - 1)) };
    return { ...answer, headers: { ...answer.headers, ...limits, ...remaining } };
  };
  const upstream = await createUpstream(
    (request) => {
      const { headers } = request;
      const user = users.get(headers.authorization?.replace('Bearer ', '') ?? '');
      const wantsJson = headers.accept?.startsWith('application/json');
      if (!user && !wantsJson) return { status: 302, headers: { location: '/auth/login' } };
      if (!user) return failure(401, 'AuthenticationException', 'Unauthenticated.');
      // Laravel Sanctum treats a request with the panel's own Origin as a browser's and requires a CSRF token.
      if (headers.origin === upstream.url) return failure(419, 'HttpException', 'CSRF token mismatch.');
      return countRequest(request, user);
    },
    { onEnd },
  );
  const wings = createWings(upstream.server, upstream.url, { uuid, tickMs, autoPong, onEnd });
  if (isSteady) wings.become('running');
  const forget = (): void => {
    upstream.forget();
    panel.signals.length = 0;
    panel.commands.length = 0;
  };
  const token = isPelican ? panelKeys.pelican : panelKeys.write;
  const settings = { type: 'pterodactyl', url: upstream.url, token, read_only_token: panelKeys.read } as const;
  return Object.assign(panel, upstream, { wings, socketUrl, forget, settings });
}

/** Creates an error in the panel's format. */
export function failure(status: number, code: string, detail: string): Answer {
  return json(status, { errors: [{ code, status: String(status), detail }] });
}

/** Pelican's text for every failure of a node. */
const unexpected = 'An unexpected error was encountered while processing this request, please try again.';

/** The panel's answer for a 500 of the node, such as a missing file. */
const nodeFailure = failure(
  500,
  'DaemonConnectionException',
  'There was an error while communicating with the machine running this server. (code: 500) (request_id: 0)',
);

const keptLines = 150;

/** Sends an event, with a newline at its end; without arguments, omits the `args` key. */
function send(socket: WebSocket, event: string, ...args: readonly string[]): void {
  socket.send(`${JSON.stringify(args.length > 0 ? { event, args } : { event })}\n`);
}

/** Adds Wings to an HTTP server, with the quirks of its source. The Origin of clients must be the panel's. */
function createWings(server: Server, origin: string, { uuid, tickMs, autoPong, onEnd }: WingsOptions) {
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
  let refused: number | 'hang' | undefined;
  let panel = origin;
  let authLimit = Number.POSITIVE_INFINITY;
  let beforeLogs: (() => void) | undefined;
  let logsMs = 0;
  const origins: (string | undefined)[] = [];

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
      state,
      disk_bytes: 1_048_576,
      ...(state !== 'offline' && usage),
    });
  const authenticate = (socket: WebSocket, token: string): void => {
    const exp = issued.get(token);
    const failed = `Error Event [${randomUUID()}]: `;
    if (!exp)
      return send(socket, 'daemon error', `${failed}an unexpected error was encountered while handling this request`);
    const reason = denied.has(token) ? 'jwt: created too far in past (denylist)' : reject(exp);
    if (reason) return send(socket, 'jwt error', failed + reason);
    auths.push(Date.now());
    const isFirst = !tokens.has(socket);
    tokens.set(socket, exp);
    send(socket, 'auth success');
    if (!isFirst) return;
    send(socket, 'status', state);
    if (state === 'offline') send(socket, 'stats', toStats());
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
    beforeLogs?.();
    const lines = state === 'offline' ? [] : [...history];
    const sendLogs = (): void => lines.forEach((line) => publishTo(socket, 'console output', line));
    if (logsMs > 0) setTimeout(sendLogs, logsMs);
    else sendLogs();
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
    origins.push(request.headers.origin);
    stream.on('error', () => undefined);
    const answer = (status: number): unknown => stream.end(`HTTP/1.1 ${status} No\r\nconnection: close\r\n\r\n`);
    if (refused === 'hang') stream.on('end', () => stream.end()).resume();
    else if (refused !== undefined) answer(refused);
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
    issue(permissions: unknown, seconds: number, iss = origin): string {
      const iat = Math.floor(Date.now() / 1000);
      const times = { iat, nbf: iat - 300, exp: iat + seconds };
      const claims = JSON.stringify({ iss, ...times, server_uuid: uuid, permissions, unique_id: randomUUID() });
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
    /** Runs before the history is sent, as on a busy console. */
    beforeLogs: (run: () => void) => (beforeLogs = run),
    /** Sends the history this long after its request. */
    delayLogs: (ms: number) => (logsMs = ms),
    /** The Origins of all handshakes. */
    origins: origins as readonly (string | undefined)[],
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
    /** Answers handshakes with this status, or never; undefined accepts them again. */
    refuse: (status: number | 'hang' | undefined) => (refused = status),
    /** Denies all tokens issued so far, as a restart does. */
    denyOldTokens: () => issued.forEach((_, token) => denied.add(token)),
    /** Sets the Origin that handshakes must have. */
    expectOrigin: (next: string) => (panel = next),
    /** Limits the `auth` messages of a socket in 5 s, as newer versions do. Only the first drop is answered. */
    throttleAuth: (limit: number) => (authLimit = limit),
  };
}
