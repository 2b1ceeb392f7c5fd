import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { openProvider } from '../../helpers/provider.ts';
import { createPanelUpstream, panelKeys } from '../../helpers/upstream-panel.ts';
import type { PanelUpstream } from '../../helpers/upstream-panel.ts';
import { createUpstream, json, until } from '../../helpers/upstream.ts';
import type { Answer } from '../../helpers/upstream.ts';
import { followConsole, recordConsole } from './console-recorder.ts';

/** A request to a real panel, and its reply. */
interface Recorded {
  readonly name: string;
  readonly request: string;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: unknown;
  /** The claims of a console token, which is left out of the body. */
  readonly claims?: object;
}

const folder = join(import.meta.dirname, '../recorded');
const read = (panel: string): Recorded[] =>
  readFileSync(join(folder, `${panel}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Recorded);
const recorded = { pterodactyl: read('pterodactyl'), pelican: read('pelican') };
type Panel = keyof typeof recorded;

const ref = '01010101-1111-4111-8111-010101010101';

/** Returns the kind of a request: its path below `/servers/REF`, or `account`, `list`, `server`. */
function kindOf(path: string): string {
  const [, rest = ''] = /^\/api\/client\/?([^?]*)/.exec(path) ?? [];
  if (rest === '') return 'list';
  return rest.replace(/^servers\/[^/]+\/?/, '') || 'server';
}

/** The replies to requests of other kinds. */
const usual = {
  pterodactyl: ['account', 'list', 'server', 'command', 'power', 'websocket', 'file'],
  pelican: [
    'account-subuser',
    'list-subuser',
    'server-subuser',
    'resources-running',
    'command-204-offline',
    'power-204',
  ],
};

/** Starts a panel that gives one recorded reply, and the usual replies to other requests. */
async function replay(panel: Panel, name: string) {
  const find = (each: string) => recorded[panel].find((entry) => entry.name === each)!;
  const { request, ...reply } = find(name);
  const isNode = /^node-.*-command$/.test(name);
  const state = isNode
    ? name.replace('command', 'resources')
    : `resources-${/offline/.test(name) ? 'offline' : 'running'}`;
  const others = new Map(
    [...usual[panel], state].map((each) => [kindOf(find(each).request.split(' ')[1]!), find(each)]),
  );
  const kind = kindOf(request.split(' ')[1]!);
  const upstream = await createUpstream(({ path }): Answer => {
    const { status, headers, body, claims } = kindOf(path) === kind ? reply : (others.get(kindOf(path)) ?? missing);
    const isToken = typeof body === 'object' && body !== null && 'data' in body && kindOf(path) === 'websocket';
    if (!isToken) return { status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) };
    const data = body.data as { token: string };
    const token = claims ? `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x` : data.token;
    return json(200, { data: { token, socket: `${upstream.url.replace('http', 'ws')}/socket` } });
  });
  const sockets = new WebSocketServer({ server: upstream.server });
  sockets.on('connection', (socket: WebSocket) =>
    socket.on('message', () => {
      socket.send('{"event":"auth success"}\n');
      socket.send('{"event":"status","args":["running"]}\n');
    }),
  );
  const settings = { type: 'pterodactyl', url: upstream.url, token: panelKeys.write } as const;
  const file = new URLSearchParams(request.split('?')[1]).get('file');
  return { kind, file, ...openProvider({ ...settings, read_only_token: panelKeys.read }) };
}

const missing = recorded.pelican.find(({ name }) => name === '404-unknown')!;

/** Describes the result of a call in one line, without the default message and the names of servers. */
async function describeResult(call: Promise<unknown>): Promise<string> {
  const result = await call.then(
    (value) => `ok ${typeof value === 'string' ? value : ''}`,
    ({ code, outcome, message, headers }: { code: string; outcome: string; message: string; headers: object }) =>
      [outcome, code, ...Object.values(headers), message].join(' ').replace(' provider_error', ''),
  );
  const ownWords =
    /The panel \(asked with the token\) answers with | The request could not be completed| on [\da-f, ]{8,}/g;
  return result.replaceAll(ownWords, '').trimEnd();
}

/** Each outcome, with the names of the replies of Pterodactyl and of Pelican. */
const outcomes: readonly (readonly [outcome: string, pterodactyl: string, pelican: string])[] = [
  [
    'ok',
    'command file-empty file-folder file-missing file-no-permission node-empty200-command node-empty200-power node-html200-command node-html200-power node-null200-command node-null200-power power',
    'files-403 files-folder files-missing node-404-files power-204',
  ],
  ['ok <html><title>Welcome to nginx!</title></html>', 'node-html200-file', ''],
  [
    'ok The token belongs to an administrator and can control every server of the panel',
    'account-admin',
    'account-root-admin',
  ],
  ['ok The token is accepted', 'list-admin-all-not-admin', 'list-role-admin-all list-role-admin'],
  [
    'ok The token is accepted; The read_only_token is accepted; The read_only_token may do more than read (*): these consoles stay closed',
    'server-owner',
    'server-owner server-role-admin server-root-admin',
  ],
  ['ok The token is accepted; The read_only_token is accepted', 'server-not-ours server-unknown', ''],
  [
    'ok The token is accepted; The token lacks control.console, control.start, control.stop, control.restart, file.read-content, file.read; The read_only_token is accepted',
    'server-ro',
    'server-reader',
  ],
  [
    'ok The token is accepted; The token lacks control.start, control.restart, file.read-content, file.read; The read_only_token is accepted; The read_only_token may do more than read (control.console, control.stop): these consoles stay closed',
    '',
    'server-reader-with-view-role',
  ],
  [
    'ok The token is accepted; The token lacks file.read',
    'account list-admin-all list-owner list-ro list twofa-required',
    'account-role-admin account-subuser list-root-admin-all list-subuser',
  ],
  [
    'ok The token is accepted; The token lacks file.read; The read_only_token is accepted; The read_only_token may do more than read (control.console, control.start, control.stop, control.restart): these consoles stay closed',
    'server-short server-suspended server',
    'server-install_failed server-installing server-maintenance server-reinstall_failed server-restoring server-subuser server-suspended server-transferring',
  ],
  ['ok The token is not accepted: status 401', 'account-401', '401'],
  [
    'ok The token is not accepted: status 403',
    'account-application-key account-ip-locked',
    '403-address 403-application-key',
  ],
  ['ok [10:00:00 INFO]: Done', '', 'files-200'],
  ['ok [10:00:00] [Server thread/INFO]: Done\n\u001B[32mgreen\u001B[0m line', 'file', ''],
  ['ok [10:00:00] [Server thread/INFO]: Done (2.345s)! For help, type "help"', '', 'files-root-admin-suspended'],
  [
    'ok ended: console is not available',
    'websocket-admin websocket-owner',
    'websocket-403 websocket-reader-with-view-role websocket-root-admin-suspended websocket-root-admin',
  ],
  [
    'ok ended: the server is not available',
    'websocket-failedinstall websocket-installing websocket-maint websocket-restoring websocket-suspended websocket-transferring',
    '',
  ],
  ['ok gap', '', 'websocket-429'],
  ['ok null', 'node-null200-file', ''],
  ['ok offline', 'resources-offline', 'resources-offline'],
  ['ok running', 'resources-running', 'resources-running'],
  ['ok status 301, a redirect to https://192.0.2.10:21003/api/client/account', 'nginx-301', ''],
  ['ok status 302, a redirect to http://192.0.2.10', 'maintenance-redirect', ''],
  ['ok status 401 from a proxy or firewall in front of it, which asks for a password', 'nginx-401-basic', ''],
  ['ok status 403 from a proxy or firewall in front of it', 'nginx-403', ''],
  ['ok status 429: its limit is used up', 'r429', '429'],
  ['ok status 500: QueryException', 'mysql-down', ''],
  ['ok status 500: RedisException', 'redis-down', ''],
  ['ok status 502 from a proxy or firewall in front of it', 'nginx-502', ''],
  ['ok status 503: it is in maintenance', 'maintenance-503', '503-artisan-down'],
  ['ok status: running', 'websocket', 'websocket-reader'],
  [
    'ok unknown',
    'node-empty200-resources resources-failedinstall resources-installing resources-maint resources-restoring resources-suspended-admin resources-suspended resources-transferring',
    'node-404-resources node-500-resources node-502-resources node-unreachable-resources',
  ],
  ['ok {}', 'node-empty200-file', ''],
  [
    'refused',
    'command-empty maintenance-503-power node-drop-resources node-err500-resources node-html200-resources node-html502-resources node-html503-resources node-notoken-command node-notoken-file node-notoken-power node-notoken-resources node-null200-resources node-unknown-command node-unknown-file node-unknown-power node-unknown-resources power-deleted power-no-permission twofa-required-power',
    '404-not-yours 404-unknown power-403',
  ],
  ['refused 58', 'r429-power', ''],
  ['refused The log is larger than the panel returns', 'file-too-large', 'files-too-large'],
  ['refused The server is being moved', '', '409-transferring'],
  ['refused The server is being restored', '', '409-restoring'],
  ['refused The server is not installed (yet)', '', '409-install_failed 409-installing 409-reinstall_failed'],
  [
    'refused The server is suspended by the panel',
    'power-suspended-admin power-suspended',
    '409-suspended power-root-admin-suspended',
  ],
  ['refused The server must be online to receive commands', 'command-offline', 'command-204-offline'],
  ["refused The server's node is in maintenance", '', '409-maintenance'],
  [
    'refused provider_permission_denied Console commands are not available for this server',
    'command-no-permission',
    'command-403',
  ],
  [
    'unknown',
    'mysql-down-power node-drop-command node-drop-file node-drop-power node-err500-command node-err500-file node-err500-power node-html502-command node-html502-file node-html502-power node-html503-command node-html503-file node-html503-power redis-down-power',
    'node-404-command node-404-power node-500-command node-500-files node-500-power node-502-command node-502-files node-502-power node-unreachable-command node-unreachable-files node-unreachable-power',
  ],
];

const rows = outcomes.flatMap(([outcome, pterodactyl, pelican]) =>
  Object.entries({ pterodactyl, pelican }).flatMap(([panel, names]) =>
    names.split(' ').flatMap((name) => (name === '' ? [] : [{ panel: panel as Panel, name, outcome }])),
  ),
);

test('each recorded reply has an outcome', () => {
  const names = rows.map(({ panel, name }) => `${panel} ${name}`).toSorted();
  const all = Object.entries(recorded).flatMap(([panel, replies]) => replies.map(({ name }) => `${panel} ${name}`));
  expect(names).toEqual(all.toSorted());
});

test.each(rows)('$panel: $name', async ({ panel, name, outcome }) => {
  const { kind, file, provider, game } = await replay(panel, name);
  const calls: Record<string, () => Promise<unknown>> = {
    power: () => game.power(ref, 'start'),
    command: () => game.command(ref, 'list'),
    resources: async () => (await game.state(ref, Infinity)).state,
    'files/contents': () => game.latestLog(ref, file),
    async websocket() {
      const record = recordConsole(game, ref);
      await until('the console reports', () => record.events.length > 0);
      return record.events[0]!.replace(/^gap: .*/, 'gap');
    },
  };
  const check = async () => {
    const messages = (await provider.check()).map(({ message }) => message);
    return messages.filter((message) => kind === 'server' || !message.includes('read_only_token')).join('; ');
  };
  expect(await describeResult((calls[kind] ?? check)())).toBe(outcome.trimEnd());
});

/** The values that a reader reads, by the kind of request. */
const readPaths: Record<string, readonly string[]> = {
  account: ['attributes.admin', 'attributes.root_admin', 'attributes.id'],
  list: ['data.0.attributes.identifier', 'meta.pagination.total'],
  server: ['meta.user_permissions.0'],
  resources: ['attributes.current_state'],
  websocket: ['data.token', 'data.socket'],
};

/** Reduces a reply to what a reader reads: the status, the code of an error, and the types of values. */
function toRead(kind: string, status: number, headers: Headers, body: unknown) {
  const valueAt = (path: string) =>
    path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], body);
  return {
    status,
    code: valueAt('errors.0.code'),
    hasRetryAfter: headers.has('retry-after'),
    limits: headers.has('x-ratelimit-remaining') && headers.has('x-ratelimit-limit'),
    types: status === 200 ? (readPaths[kind] ?? []).map((path) => typeof valueAt(path)) : [],
  };
}

type Change = (panel: PanelUpstream) => void;
const run: Change = (panel) => panel.wings.become('running');
const add =
  (content: string): Change =>
  (panel) =>
    void panel.files.set('/logs/latest.log', content);
const big = 'x'.repeat(4 * 1024 * 1024 + 1);
const suspend: Change = (panel) => (panel.conflict = 'This server is currently suspended');
const limit: Change = (panel) => (panel.requestsPerMinute = 0);
const limitTokens: Change = (panel) => (panel.tokensPerMinute = 0);
const nothing: Change = () => undefined;

test.each<readonly [panel: Panel, name: string, key: 'write' | 'read' | 'none', change: Change]>([
  ['pterodactyl', 'account', 'write', nothing],
  ['pterodactyl', 'account-401', 'none', nothing],
  ['pterodactyl', 'list', 'write', nothing],
  ['pterodactyl', 'server-ro', 'read', nothing],
  ['pterodactyl', 'resources-running', 'write', run],
  ['pterodactyl', 'resources-suspended', 'write', suspend],
  ['pterodactyl', 'power', 'write', nothing],
  ['pterodactyl', 'power-no-permission', 'read', nothing],
  ['pterodactyl', 'power-suspended', 'write', suspend],
  ['pterodactyl', 'r429-power', 'write', limit],
  ['pterodactyl', 'command', 'write', run],
  ['pterodactyl', 'command-offline', 'write', nothing],
  ['pterodactyl', 'command-no-permission', 'read', run],
  ['pterodactyl', 'file', 'write', add('log\n')],
  ['pterodactyl', 'file-too-large', 'write', add(big)],
  ['pterodactyl', 'file-no-permission', 'read', add('log\n')],
  ['pterodactyl', 'websocket', 'read', run],
  ['pelican', 'account-subuser', 'write', nothing],
  ['pelican', '401', 'none', nothing],
  ['pelican', '429', 'write', limit],
  ['pelican', 'list-subuser', 'write', nothing],
  ['pelican', 'server-reader', 'read', nothing],
  ['pelican', 'resources-offline', 'write', nothing],
  ['pelican', 'power-204', 'write', nothing],
  ['pelican', '409-suspended', 'write', suspend],
  ['pelican', 'command-204-offline', 'write', nothing],
  ['pelican', 'command-403', 'read', nothing],
  ['pelican', 'files-200', 'write', add('log\n')],
  ['pelican', 'files-missing', 'write', nothing],
  ['pelican', 'files-too-large', 'write', add(big)],
  ['pelican', 'files-403', 'read', add('log\n')],
  ['pelican', 'websocket-reader', 'read', run],
  ['pelican', 'websocket-429', 'read', limitTokens],
])('the stand-in answers as %s: %s', async (panel, name, key, change) => {
  const { request, status, headers, body } = recorded[panel].find((reply) => reply.name === name)!;
  const isPelican = panel === 'pelican';
  const upstream = await createPanelUpstream({ isPelican });
  upstream.requestsPerMinute = 100;
  change(upstream);
  const [method = '', path = ''] = request.split(' ');
  const url =
    upstream.url +
    path.replace(/servers\/[^/?]+/, `servers/${upstream.wings.uuid}`).replace(/file=.*/, 'file=/logs/latest.log');
  const token = { write: isPelican ? panelKeys.pelican : panelKeys.write, read: panelKeys.read, none: 'none' }[key];
  const sent = path.endsWith('power') ? { signal: 'start' } : { command: 'list' };
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
    ...(method === 'POST' && { body: JSON.stringify(sent) }),
  });
  const text = await response.text();
  const found = text.startsWith('{') ? (JSON.parse(text) as unknown) : text;
  const kind = kindOf(path);
  expect(toRead(kind, response.status, response.headers, found)).toEqual(
    toRead(kind, status, new Headers(headers), body),
  );
});

test('Wings of the stand-in tells a socket the new status before the panel answers', async () => {
  const upstream = await createPanelUpstream();
  const { game } = openProvider(upstream.settings);
  const record = await followConsole(game, upstream.wings.uuid);
  await game.power(upstream.wings.uuid, 'start');
  expect(record.states).toEqual(['offline', 'running']);
});
