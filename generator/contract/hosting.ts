import { z } from 'zod';
import { scopes, serverActions, serverKinds } from '#contract/api-keys.ts';
import type { ServerAction, ServerKind } from '#contract/api-keys.ts';
import { describeConfirmation, endpointDefaults, json } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { named, object, schemas, success, text } from '#contract/primitives.ts';

export const instant = z.iso.datetime();

const RateLimit = object('RateLimit', 'A token bucket; RateLimit headers have the remaining quota.', {
  requests_per_second: z.number().positive().describe('Requests added per second.'),
  burst: z.int().positive().describe('Maximum number of requests without a pause.'),
});

const KeyLimits = object('KeyLimits', 'Rate limits of an API key.', {
  power: RateLimit.describe('Power actions and console commands.'),
  read: RateLimit.describe('GET requests that require the key.'),
});

export const KeyResponse = object(
  'KeyResponse',
  'The permissions, servers and rate limits of an API key.',
  {
    id: text('ID of the key: the part after hk_. The ID is not secret.'),
    label: text('Name of the key, as chosen by the operator.'),
    scopes: z
      .array(z.string())
      .describe(`Scopes of the key: ${scopes.join(', ')}. read_write includes read of the same name.`),
    servers: z.array(z.string()).describe('Servers of the key, each as game: or vps: followed by the ID.'),
    created_at: instant.describe('Time of creation, in UTC.'),
    expires_at: instant.nullable().describe('Time of expiry, in UTC; null if the key does not expire.'),
    limits: KeyLimits,
  },
  {
    id: 'AbCdEfGhIj01',
    label: 'Control panel of Example Ltd',
    scopes: ['vps-power:read_write', 'game-power:read_write', 'game-console:read', 'game-logs:read'],
    servers: ['game:demo', 'vps:demo'],
    created_at: '2026-03-01T12:00:00.000Z',
    expires_at: null,
    limits: { power: { requests_per_second: 1, burst: 5 }, read: { requests_per_second: 2, burst: 20 } },
  },
);

export const ForceRequest = object(
  'ForceRequest',
  'Confirms an action that cannot be undone.',
  { force: z.boolean().describe('Must be true to confirm the action.') },
  { force: true },
);

const server_id = text('ID of the game server.');
const requested = {
  status: text('Always requested, because the action was accepted.'),
  message: text('The result, as a sentence for people.'),
};

const power = {
  state: named(
    'PowerState',
    'The power state; unknown if the provider reports no other value.',
    z.enum(['running', 'starting', 'stopping', 'offline', 'unknown']),
  ),
  checked_at: instant.describe(
    'Time when the provider reported the state, in UTC; a game panel may cache the state for up to 20 seconds. The current time if the provider reported nothing.',
  ),
};

/**
 * 1 to 1,024 characters, at least one visible: panels trim white space and format characters, and refuse an empty
 * command. Control characters and lone surrogates, which are not valid UTF-8, are refused. The OpenAPI document has only
 * the length, because regular expressions of other languages cannot say the rest.
 */
const commandPattern =
  // oxlint-disable-next-line no-control-regex
  /^(?=[\s\S]*[^\s\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb])[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,1024}$/u;
const lengths = { minLength: 1, maxLength: 1024 };
const commandRule = 'must be 1 to 1,024 characters, one of them visible, without control characters';

export const GameConsoleCommandRequest = object(
  'GameConsoleCommandRequest',
  'A console command.',
  {
    command: text(`The command, as typed on the console; ${commandRule}.`, commandPattern, commandRule).meta(lengths),
  },
  { command: 'say Hello' },
);

export const GameConsoleCommandResponse = object(
  'GameConsoleCommandResponse',
  'A console command was sent.',
  { success, server_id, status: text('Always sent.') },
  { success: true, server_id: 'demo', status: 'sent' },
);

export const GameConsoleWebsocketResponse = object(
  'GameConsoleWebsocketResponse',
  'The address of a console stream and a short-lived token for it.',
  {
    success,
    server_id,
    websocket: object('ConsoleStream', 'The address and token of a console stream.', {
      socket_url: z.url({ protocol: /^wss?$/ }).describe('Websocket address of the stream.'),
      token: text('Token for the first message on the stream; expires after some minutes.'),
    }),
  },
  {
    success: true,
    server_id: 'demo',
    websocket: {
      socket_url: 'wss://api.example.com/v1/hosting/game/console/demo/stream',
      token: 'tHt7xeqzoN2sxJz4lJQZ5cVqGC4lQ0XlN4Jd2mYbE1s',
    },
  },
);

export const GameLatestLogResponse = object(
  'GameLatestLogResponse',
  'The latest log of a game server.',
  {
    success,
    server_id,
    empty: z.boolean().describe('Whether the log is empty.'),
    content: text('The last 1 MiB of the log at most, from the start of a line, without colour codes.'),
  },
  { success: true, server_id: 'demo', empty: false, content: '[12:00:00] Server started\n' },
);

export const HostingActionResponse = object(
  'HostingActionResponse',
  'The status of an action.',
  {
    success,
    request_id: text('The X-Request-Id of the request.'),
    action: text('The action: start, stop, reset, restart, kill or command.'),
    server: text('The server: game: or vps: followed by the ID.'),
    status: named(
      'ActionStatus',
      'The status. running: there is no outcome yet. accepted: the action was sent and accepted. failed: the action had no effect. unknown: the action may have had an effect.',
      z.enum(['running', 'accepted', 'failed', 'unknown']),
    ),
    requested_at: instant.describe('Time of the request.'),
    finished_at: instant.nullable().describe('End of the action; null while running, or if the end was not recorded.'),
  },
  {
    success: true,
    request_id: 'restart-4711',
    action: 'restart',
    server: 'game:demo',
    status: 'accepted',
    requested_at: '2026-03-01T12:00:00.000Z',
    finished_at: '2026-03-01T12:00:00.412Z',
  },
);

const next = z.string().nullable().describe('Cursor for the next page, as the parameter after; null on the last page.');

export const HostingActivityResponse = object(
  'HostingActivityResponse',
  'A page of the actions of an API key, newest first.',
  { success, activity: z.array(HostingActionResponse).describe('The actions, newest first.'), next },
  {
    success: true,
    activity: [schemas.get(HostingActionResponse)?.example],
    next: 'AZypRQoAjB86Up4HS22iyFHQ6XtPNu36NElQsGuF',
  },
);

const path = text('The path of the endpoint.');

const HostingServer = object('HostingServer', 'A server of an API key.', {
  server: text('The server, as in keys and actions: game: or vps: followed by the ID.'),
  id: text('The ID of the server in paths.'),
  kind: named('ServerKind', 'The kind of a server.', z.enum(serverKinds)),
  actions: z
    .array(z.string())
    .describe(
      `The actions that this key may use, of ${serverActions.join(', ')}; empty while the server is suspended or has been removed.`,
    ),
  links: object('HostingServerLinks', 'Paths of the endpoints of a server, by action.', {
    state: path,
    start: path,
    stop: path,
    restart: path.optional(),
    kill: path.optional(),
    reset: path.optional(),
    console: path.optional(),
    command: path.optional(),
    log: path.optional(),
  }),
});

export const HostingServersResponse = object(
  'HostingServersResponse',
  'A page of the servers of an API key.',
  {
    success,
    servers: z.array(HostingServer).describe('The servers, in the order of the key.'),
    next,
  },
  {
    success: true,
    servers: [
      {
        server: 'game:demo',
        id: 'demo',
        kind: 'game',
        actions: ['state', 'start', 'stop', 'restart', 'console', 'command', 'log', 'kill'],
        links: {
          state: '/v1/hosting/game/power/demo',
          start: '/v1/hosting/game/power/demo/start',
          stop: '/v1/hosting/game/power/demo/stop',
          restart: '/v1/hosting/game/power/demo/restart',
          kill: '/v1/hosting/game/power/demo/kill',
          console: '/v1/hosting/game/console/demo/websocket',
          command: '/v1/hosting/game/console/demo/command',
          log: '/v1/hosting/game/logs/demo/latest',
        },
      },
    ],
    next: 'iYHoh1ir-x80T7cAGzNtbfsgLBUfVqjvKGrdHbOw',
  },
);

const vps = {
  ...endpointDefaults,
  method: 'POST',
  errorStyle: 'json',
  tag: 'VPS',
  problems: ['server_unavailable', 'provider_error'],
  messages: {
    validation_error: 'Idempotency-Key must be 1 to 255 visible ASCII characters',
    forbidden: 'You do not have access to this VPS',
  },
} as const;
const game = {
  ...vps,
  tag: 'Game servers',
  problems: ['provider_error'],
  messages: { ...vps.messages, forbidden: 'You do not have access to this game server' },
} as const;
const gameConsole = {
  ...game,
  messages: { ...game.messages, provider_error: 'The console or log request failed' },
} as const;

/** Creates the state and power operations of a kind of server, with the shapes of their responses. */
const powerOf = (kind: ServerKind, base: string, actions: readonly ServerAction[]) => {
  const [shared, prefix, name, id] =
    kind === 'vps' ? [vps, 'VPS', 'VPS', 'vps_id'] : [game, 'Game', 'game server', 'server_id'];
  const server = { [id]: text(`ID of the ${name}.`) };
  const accepted = object(`${prefix}PowerResponse`, `A ${name} power action was accepted.`, {
    success,
    action: named(`${prefix}PowerAction`, `A power action on a ${name}.`, z.enum(actions)),
    ...server,
    ...requested,
  });
  const running = { success: true, [id]: 'demo', state: 'running', checked_at: '2026-03-01T12:00:00.000Z' };
  const shape = { success, ...server, ...power };
  const state = object(`${prefix}StateResponse`, `The power state of a ${name}.`, shape, running);
  return {
    state: {
      ...shared,
      method: 'GET',
      path: base,
      summary: `Retrieve the power state of a ${name}`,
      description: `Returns the power state of a ${name}. After an action you never get the old state; it is unknown until a newer one is available. Poll at most every 5 seconds.`,
      access: { kind, scope: `${kind}-power:read`, action: 'state' },
      replies: { 200: json('The state.', state) },
      messages: { ...shared.messages, provider_error: 'The state could not be read' },
    } as const satisfies Endpoint,
    act(action: ServerAction, summary: string, description: string) {
      const message = `${action.charAt(0).toUpperCase()}${action.slice(1)} action sent`;
      const example = { success: true, action, [id]: 'demo', status: 'requested', message };
      return {
        ...shared,
        path: `${base}/${action}`,
        summary,
        description,
        access: { kind, scope: `${kind}-power:read_write`, action },
        replies: { 200: json(`The action was accepted; the ${name} may need more time.`, accepted, example) },
        messages: { ...shared.messages, provider_error: 'Failed to send the power action' },
        unknownOutcome: 'The power action may have been done; see /v1/hosting/actions/{request_id}',
      } as const satisfies Endpoint;
    },
  };
};
const vpsPower = powerOf('vps', '/v1/hosting/cloud/vps-custom/{id}', ['start', 'stop', 'reset']);
const gamePower = powerOf('game', '/v1/hosting/game/power/{server_id}', ['start', 'stop', 'restart', 'kill']);

/** Only `true` confirms; any other value is a missing confirmation, not an invalid parameter. */
const force = z.string().meta({ type: 'boolean', description: 'Must be true to confirm the action.', example: true });

/** Adds a confirmation to an irreversible power action. */
const confirmed = (endpoint: ReturnType<typeof vpsPower.act>, confirmation: NonNullable<Endpoint['confirmation']>) =>
  ({
    ...endpoint,
    query: z.object({ force: confirmation.needs === 'both' ? force : force.optional() }),
    body: { schema: ForceRequest, required: confirmation.needs === 'both' },
    confirmation,
    problems: [...endpoint.problems, 'confirmation_required', 'validation_error'],
    messages: { ...endpoint.messages, confirmation_required: describeConfirmation(confirmation) },
  }) as const satisfies Endpoint;

/** A cursor: 30 bytes in base64url. An empty one is the first page. */
const Cursor = z.string().regex(/^(?:[A-Za-z0-9_-]{40})?$/, 'must be the next of an earlier page of this key');

const Limit = z
  .string()
  .refine((limit) => /^(?:100|[1-9]\d?)$/.test(limit), 'must be a whole number from 1 to 100')
  .meta({ type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'Entries per page.', example: 1 });

/** Defaults of operations that need any valid key. */
export const keyed = { ...endpointDefaults, errorStyle: 'json', tag: 'Keys', access: 'any_key' } as const;
/** The paging of a list. */
const paged = {
  query: z.object({
    after: Cursor.describe('The field next of the previous page; empty or left out for the first page.').optional(),
    limit: Limit.optional(),
  }),
  problems: ['validation_error'],
  messages: { validation_error: 'Query parameter limit must be a whole number from 1 to 100' },
} as const;

/** The operations on API keys and servers; all of them require an API key. */
export const hostingEntries = {
  getKey: {
    ...keyed,
    path: '/v1/key',
    summary: 'Retrieve the key: its permissions, servers and limits',
    description: 'Returns the permissions, servers and rate limits of the API key, but never its secret.',
    replies: { 200: json('The API key of this request.', KeyResponse) },
  },
  getVpsState: vpsPower.state,
  startVps: vpsPower.act('start', 'Start a VPS', 'Switches the VPS on.'),
  stopVps: vpsPower.act(
    'stop',
    'Stop a VPS',
    'Stops the VPS by ACPI shutdown or power-off, depending on the provider configuration.',
  ),
  resetVps: confirmed(
    vpsPower.act(
      'reset',
      'Reset a VPS (power cycle); requires force=true in the query and in the body',
      'Resets a VPS: cuts the power and starts it again. Data that was not written to disk is lost. Send force=true in the query and in the body.',
    ),
    { action: 'Reset', needs: 'both' },
  ),
  getGameServerState: gamePower.state,
  startGameServer: gamePower.act('start', 'Start a game server', 'Starts the game server.'),
  stopGameServer: gamePower.act('stop', 'Stop a game server', 'Asks the game to exit, which lets it save its world.'),
  restartGameServer: gamePower.act(
    'restart',
    'Restart a game server',
    'Asks the game to exit, which lets it save its world, and starts it again.',
  ),
  openGameConsole: {
    ...gameConsole,
    method: 'GET',
    path: '/v1/hosting/game/console/{server_id}/websocket',
    summary: 'Open a console stream: get its address and a token',
    description:
      'Returns the address of the console stream of a game server, and a token for it. Fetch a new token when the stream announces that its token expires. A key with read_write may send commands. Each message of the stream is a JSON text {"event":"...","args":["..."]}; the first one is auth with the token. The page /docs/streams.html describes each event and close code.',
    access: { kind: 'game', scope: 'game-console:read', action: 'console' },
    replies: {
      200: json(
        'The address and a short-lived token. The address is a websocket: a plain GET returns 426.',
        GameConsoleWebsocketResponse,
      ),
    },
  },
  sendGameCommand: {
    ...gameConsole,
    path: '/v1/hosting/game/console/{server_id}/command',
    summary: 'Send a console command',
    description:
      'Sends a command to the console of a game server. The server must be online. The output of the command appears on the console stream.',
    access: { kind: 'game', scope: 'game-console:read_write', action: 'command' },
    body: { schema: GameConsoleCommandRequest, required: true },
    missing: { code: 'validation_error', message: 'A JSON body with the field command is required' },
    replies: { 200: json('The command was sent.', GameConsoleCommandResponse) },
    problems: ['validation_error', 'provider_permission_denied', 'provider_error'],
  },
  getLatestGameLog: {
    ...gameConsole,
    method: 'GET',
    path: '/v1/hosting/game/logs/{server_id}/latest',
    summary: 'Read the latest log of a game server',
    description:
      'Returns the latest log of a game server: at most the last 1 MiB, from the start of a line. The log is read at most once in 3 seconds for all clients.',
    access: { kind: 'game', scope: 'game-logs:read', action: 'log' },
    replies: { 200: json('The log.', GameLatestLogResponse) },
  },
  killGameServer: confirmed(
    gamePower.act(
      'kill',
      'Kill a game server; requires force=true in the query or in the body',
      'Kills a game server: ends the game immediately. Unsaved data is lost. Send force=true in the query or in the body.',
    ),
    { action: 'Kill', needs: 'one' },
  ),
  listServers: {
    ...keyed,
    path: '/v1/hosting/servers',
    summary: 'List the servers of the key, with permitted actions and paths',
    description:
      'Lists the servers of the key, with what it may do with each. The order is that of the key. Get the state of a server from its link state.',
    ...paged,
    replies: { 200: json('A page of servers.', HostingServersResponse) },
  },
  getAction: {
    ...keyed,
    path: '/v1/hosting/actions/{request_id}',
    tag: 'Activity',
    summary: 'Retrieve the status of an action',
    description:
      'Returns the status of an action of this key by its request ID; of several, the newest. A request that was refused with 400, 401, 403, 409, 422 or 429 is not an action.',
    replies: { 200: json('The status of the action.', HostingActionResponse) },
    problems: ['not_found'],
    messages: { not_found: 'This API key has no action with this request ID' },
  },
  listActivity: {
    ...keyed,
    path: '/v1/hosting/activity',
    tag: 'Activity',
    summary: 'List the actions of the key, newest first',
    description:
      'Lists the actions of this key, newest first. Each action is listed once, even if actions are added while you read the pages.',
    ...paged,
    replies: { 200: json('A page of actions.', HostingActivityResponse) },
  },
} as const satisfies Record<string, Endpoint>;
