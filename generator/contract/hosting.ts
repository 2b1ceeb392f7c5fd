import { z } from 'zod';
import { summarizeStream } from '#contract/console-stream.ts';
import { describeConfirmation, json } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { success, object } from '#contract/primitives.ts';

/** The confirmation of an action that cannot be undone. */
export const ForceRequest = object(
  'ForceRequest',
  'Confirms an action that cannot be undone.',
  { force: z.boolean().describe('Must be true to confirm the action.') },
  { force: true },
);

const vpsId = z.string().describe('ID of the VPS.');
const serverId = z.string().describe('ID of the game server.');
const requested = {
  status: z.string().describe('Always requested: the action was accepted.'),
  message: z.string().describe('What was done, in a sentence for people.'),
};

/** A VPS power action was accepted; the VPS may need more time. */
export const VPSPowerResponse = object('VPSPowerResponse', 'A VPS power action was accepted.', {
  success,
  action: z.enum(['start', 'stop', 'reset']).describe('The action.'),
  vps_id: vpsId,
  ...requested,
});

/** A game server power action was accepted; the game server may need more time. */
export const GamePowerResponse = object('GamePowerResponse', 'A game server power action was accepted.', {
  success,
  action: z.enum(['start', 'stop', 'restart', 'kill']).describe('The action.'),
  server_id: serverId,
  ...requested,
});

/**
 * 1 to 1,024 characters, one of them visible: panels remove white space and format characters at both ends, and refuse
 * what is empty then. No control characters, and no lone surrogates, which are not UTF-8 characters. The characters are
 * listed, since many generated clients do not know `\p{Cf}`.
 */
const commandPattern =
  // oxlint-disable-next-line no-control-regex
  /^(?=[\s\S]*[^\s\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb])[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,1024}$/u;

/** A console command. */
export const GameConsoleCommandRequest = object(
  'GameConsoleCommandRequest',
  'A console command.',
  {
    command: z
      .string()
      .regex(commandPattern, 'must be 1 to 1,024 characters, one of them visible, without control characters')
      .describe('The command, as one would type it on the console.'),
  },
  { command: 'say Hello' },
);

/** A console command was sent. */
export const GameConsoleCommandResponse = object(
  'GameConsoleCommandResponse',
  'A console command was sent.',
  { success, server_id: serverId, status: z.string().describe('Always sent.') },
  { success: true, server_id: 'demo', status: 'sent' },
);

/** The address of a console stream and a short-lived token for it. */
export const GameConsoleWebsocketResponse = object(
  'GameConsoleWebsocketResponse',
  'The address of a console stream and a short-lived token for it.',
  {
    success,
    server_id: serverId,
    websocket: z
      .strictObject({
        socket_url: z.url({ protocol: /^wss?$/ }).describe('Address of the stream, a websocket.'),
        token: z.string().describe('Token for the first message on the stream; it expires after some minutes.'),
      })
      .describe('How to open the stream.'),
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

/** The latest log of a game server. */
export const GameLatestLogResponse = object(
  'GameLatestLogResponse',
  'The latest log of a game server.',
  {
    success,
    server_id: serverId,
    empty: z.boolean().describe('Whether the log has no content.'),
    content: z.string().describe('The log: at most its last 1 MiB, from the start of a line, without colour codes.'),
  },
  { success: true, server_id: 'demo', empty: false, content: '[12:00:00] Server started\n' },
);

const fields = {
  state: z
    .enum(['running', 'starting', 'stopping', 'offline', 'unknown'])
    .describe('The power state; unknown if the system that runs the server reports none of the others.'),
  checked_at: z.iso
    .datetime()
    .describe(
      'When the system that runs the server was asked, in UTC; a game panel may have known the answer for up to 20 seconds. Without an answer, the present time.',
    ),
};

/** The power state of a VPS. */
export const VPSStateResponse = object(
  'VPSStateResponse',
  'The power state of a VPS.',
  { success, vps_id: vpsId, ...fields },
  { success: true, vps_id: 'demo', state: 'running', checked_at: '2026-03-01T12:00:00.000Z' },
);

/** The power state of a game server. */
export const GameStateResponse = object(
  'GameStateResponse',
  'The power state of a game server.',
  { success, server_id: serverId, ...fields },
  { success: true, server_id: 'demo', state: 'running', checked_at: '2026-03-01T12:00:00.000Z' },
);

const hosting = {
  method: 'POST',
  stored: false,
  errorStyle: 'json',
  problems: ['provider_error'],
  failure: 'internal_error',
} as const;

const messages = { validation_error: 'Idempotency-Key must be 1 to 255 visible ASCII characters' } as const;
const state = 'The state could not be read';
const stateDescription =
  'After an action it is never a state from before: while none is known, it is unknown. Poll at most every 5 seconds.';
const vpsForbidden = 'You do not have access to this VPS';

const vps = { ...hosting, tag: 'VPS', problems: ['server_unavailable', 'provider_error'] } as const;
const game = {
  ...hosting,
  tag: 'Game servers',
  messages: { ...messages, forbidden: 'You do not have access to this game server' },
} as const;
const gameConsole = {
  ...game,
  messages: { ...game.messages, provider_error: 'The console or log request failed' },
} as const;

const unknownOutcome = 'The power action may have been done; see /v1/hosting/actions/{request_id}';
const failedPower = { provider_error: 'Failed to send the power action' } as const;
const vpsPowerMessages = { ...messages, forbidden: vpsForbidden, ...failedPower } as const;
const gamePowerMessages = { ...game.messages, ...failedPower } as const;

/** The example of the answer to a power action. */
const exampleOf = (action: string, server: { readonly vps_id: string } | { readonly server_id: string }) => {
  const message = `${action.charAt(0).toUpperCase()}${action.slice(1)} action sent`;
  return { success: true, action, ...server, status: 'requested', message };
};

function vpsPower<Action extends z.infer<typeof VPSPowerResponse>['action']>(
  action: Action,
  summary: string,
  description: string,
) {
  const example = exampleOf(action, { vps_id: 'demo' });
  return {
    ...vps,
    path: `/v1/hosting/cloud/vps-custom/{id}/${action}`,
    summary,
    description,
    access: { kind: 'vps', scope: 'vps-power:read_write', action },
    replies: { 200: json('The action was accepted; the VPS may need more time.', VPSPowerResponse, example) },
    messages: vpsPowerMessages,
    unknownOutcome,
  } as const;
}

function gamePower<Action extends z.infer<typeof GamePowerResponse>['action']>(
  action: Action,
  summary: string,
  description: string,
) {
  const example = exampleOf(action, { server_id: 'demo' });
  return {
    ...game,
    path: `/v1/hosting/game/power/{server_id}/${action}`,
    summary,
    description,
    access: { kind: 'game', scope: 'game-power:read_write', action },
    replies: { 200: json('The action was accepted; the game server may need more time.', GamePowerResponse, example) },
    messages: gamePowerMessages,
    unknownOutcome,
  } as const;
}

/** Only `true` confirms; any other text is a missing confirmation, not an invalid parameter. */
const force = z.string().meta({ type: 'boolean', description: 'Must be true to confirm the action.', example: true });

const reset = { action: 'Reset', needs: 'both' } as const;
const kill = { action: 'Kill', needs: 'one' } as const;

/** The operations on the servers of customers, which need an API key. */
export const hostingEndpoints = {
  getVpsState: {
    ...vps,
    method: 'GET',
    path: '/v1/hosting/cloud/vps-custom/{id}',
    summary: 'The power state of a VPS',
    description: stateDescription,
    access: { kind: 'vps', scope: 'vps-power:read', action: 'state' },
    replies: { 200: json('The state.', VPSStateResponse) },
    messages: { forbidden: vpsForbidden, provider_error: state },
  },
  startVps: vpsPower('start', 'Start a VPS', 'Switches the VPS on.'),
  stopVps: vpsPower('stop', 'Stop a VPS', 'Stops the VPS, by a shutdown or by power off, as its operator has set it.'),
  resetVps: {
    ...vpsPower(
      'reset',
      'Reset a VPS (power cycle); requires force=true in the query and in the body',
      'Cuts the power and starts again: what was not written to disk is lost.',
    ),
    query: z.object({ force }),
    body: { schema: ForceRequest, required: true },
    confirmation: reset,
    problems: [...vps.problems, 'confirmation_required', 'validation_error'],
    messages: { ...vpsPowerMessages, confirmation_required: describeConfirmation(reset, 'neither has it') },
  },
  getGameServerState: {
    ...game,
    method: 'GET',
    path: '/v1/hosting/game/power/{server_id}',
    summary: 'The power state of a game server',
    description: stateDescription,
    access: { kind: 'game', scope: 'game-power:read', action: 'state' },
    replies: { 200: json('The state.', GameStateResponse) },
    messages: { ...game.messages, provider_error: state },
  },
  startGameServer: gamePower('start', 'Start a game server', 'Starts the game server.'),
  stopGameServer: gamePower('stop', 'Stop a game server', 'Asks the game to end, so that it can save its world.'),
  restartGameServer: gamePower(
    'restart',
    'Restart a game server',
    'Asks the game to end, so that it can save its world, and starts it again.',
  ),
  killGameServer: {
    ...gamePower(
      'kill',
      'Kill a game server; requires force=true in the query or in the body',
      'Ends the game at once: what was not saved is lost.',
    ),
    query: z.object({ force: force.optional() }),
    body: { schema: ForceRequest, required: false },
    confirmation: kill,
    problems: [...game.problems, 'confirmation_required', 'validation_error'],
    messages: { ...gamePowerMessages, confirmation_required: describeConfirmation(kill, 'neither has it') },
  },
  openGameConsole: {
    ...gameConsole,
    method: 'GET',
    path: '/v1/hosting/game/console/{server_id}/websocket',
    summary: 'Get the address of a console stream and a token for it',
    description: `Fetch a new token when the stream says that its token expires. A key with read_write may send commands. ${summarizeStream()}`,
    access: { kind: 'game', scope: 'game-console:read', action: 'console' },
    replies: {
      200: json(
        'The address and the short-lived token. The address is a websocket: a plain GET of it is 426.',
        GameConsoleWebsocketResponse,
      ),
    },
  },
  sendGameCommand: {
    ...gameConsole,
    path: '/v1/hosting/game/console/{server_id}/command',
    summary: 'Send a console command',
    description: 'The server must be online. What the command prints is on the console stream.',
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
    summary: 'The latest log of a game server',
    description:
      'At most the newest 1 MiB, from the start of a line. All readers of a server share one reading in 3 seconds.',
    access: { kind: 'game', scope: 'game-logs:read', action: 'log' },
    replies: { 200: json('The log.', GameLatestLogResponse) },
  },
} as const satisfies Record<string, Endpoint>;
