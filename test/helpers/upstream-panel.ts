import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { createUpstream, json } from './upstream.ts';
import type { Answer, Seen } from './upstream.ts';
import { createWings } from './upstream-wings.ts';
import type { WingsOptions } from './upstream-wings.ts';

/** Accepted keys. `write` and `pelican` may act, `read` may only read the console. */
export const panelKeys = {
  write: 'ptlc_WriteWriteWrit0123456789abcdefghijklmnopqrstuv',
  pelican: 'pacc_WriteWriteWrit0123456789abcdefghijklmnopqrstuv',
  read: 'ptlc_ReadReadReadRe0123456789abcdefghijklmnopqrstuv',
};

/** A stand-in for a panel with one server and its Wings node. */
export type PanelUpstream = Awaited<ReturnType<typeof createPanelUpstream>>;

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
  const all = ['websocket.connect', 'control.console', ...actions, 'file.read-content'];
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
    tokenSeconds: 600,
    /** The limit of console tokens per minute; older panels have no such limit. */
    tokensPerMinute: 5,
    /** The limit of requests per minute and user, which all responses include. */
    requestsPerMinute: Number.POSITIVE_INFINITY,
    /** Cache time of `resources`; 20 s in a real panel. */
    resourcesMs: 0,
    /** A state such as suspended or installing, in which the panel refuses every request for the server. */
    conflict: undefined as string | undefined,
  };

  const power = (signal: string): Answer => {
    const next = { start: 'running', restart: 'running', stop: 'offline', kill: 'offline' }[signal];
    if (next === undefined) return failure(422, 'ValidationException', 'The selected signal is invalid.');
    panel.signals.push(signal);
    if (isSteady) return { status: 204 };
    if (signal === 'restart') wings.become('offline');
    wings.become(next);
    return { status: 204 };
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
    return json(200, { data: { token: wings.issue(user.permissions, panel.tokenSeconds), socket: socketUrl() } });
  };
  const file = (name: string | null): Answer => {
    const content = panel.files.get(name ?? '');
    const detail = 'An error occurred on the remote host: The requested resource does not exist on this instance.';
    if (content === undefined) return failure(404, 'DaemonConnectionException', detail);
    if (content.length > 4 * 1024 * 1024) return failure(400, 'FileSizeTooLargeException', 'The file is too large.');
    return { status: 200, headers: { 'content-type': 'text/plain; charset=UTF-8' }, body: content };
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
  };
  const serve = (request: Seen, user: PanelUser): Answer => {
    const url = new URL(request.path, upstream.url);
    const path = url.pathname.replace('/api/client', '');
    const attributes = { identifier: wings.uuid.slice(0, 8), server_owner: user.owner };
    if (path === '/account') return json(200, { object: 'user', attributes: { admin: user.admin, username: 'svc' } });
    if (path === '') return json(200, { object: 'list', data: [{ object: 'server', attributes }] });
    const [, id = '', rest = ''] = /^\/servers\/([^/]+)\/?(.*)$/.exec(path) ?? [];
    if (id !== wings.uuid && id !== attributes.identifier) return failure(404, 'NotFoundHttpException', 'Not found.');
    if (rest === '') return json(200, { object: 'server', attributes, meta: { user_permissions: user.permissions } });
    if (panel.conflict) return failure(409, 'ServerStateConflictException', panel.conflict);
    const body = request.body ? (JSON.parse(request.body) as { signal?: string; command?: string }) : {};
    const need = rest === 'power' ? `control.${body.signal?.replace('kill', 'stop')}` : needs[rest];
    const may = need === undefined || user.permissions.includes(need) || user.permissions.includes('*');
    if (!may) return failure(403, 'AccessDeniedHttpException', 'This action is unauthorized.');
    if (rest === 'power') return power(body.signal ?? '');
    if (rest === 'command') return command(body.command);
    if (rest === 'websocket') return websocket(user);
    if (rest === 'files/contents') return file(url.searchParams.get('file'));
    if (rest === 'resources') return readResources();
    return failure(404, 'NotFoundHttpException', 'Not found.');
  };
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
