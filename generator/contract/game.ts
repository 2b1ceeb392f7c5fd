import { z } from 'zod';
import { schemas, success } from '#contract/primitives.ts';

const serverId = z.string().describe('ID of the game server.');

/** A game server power action was accepted; the game server may need more time. */
export const GamePowerResponse = z
  .strictObject({
    success,
    action: z.enum(['start', 'stop', 'restart', 'kill']).describe('The action.'),
    server_id: serverId,
    status: z.string().describe('Always requested: the action was accepted.'),
    message: z.string().describe('What was done, in a sentence for people.'),
  })
  .register(schemas, {
    id: 'GamePowerResponse',
    description: 'A game server power action was accepted.',
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
export const GameConsoleCommandRequest = z
  .strictObject({
    command: z
      .string()
      .regex(commandPattern, 'must be 1 to 1,024 characters, one of them visible, without control characters')
      .describe('The command, as one would type it on the console.'),
  })
  .register(schemas, {
    id: 'GameConsoleCommandRequest',
    description: 'A console command.',
    example: { command: 'say Hello' },
  });

/** A console command was sent. */
export const GameConsoleCommandResponse = z
  .strictObject({ success, server_id: serverId, status: z.string().describe('Always sent.') })
  .register(schemas, {
    id: 'GameConsoleCommandResponse',
    description: 'A console command was sent.',
    example: { success: true, server_id: 'demo', status: 'sent' },
  });

/** The address of a console stream and a short-lived token for it. */
export const GameConsoleWebsocketResponse = z
  .strictObject({
    success,
    server_id: serverId,
    websocket: z
      .strictObject({
        socket_url: z.url({ protocol: /^wss?$/ }).describe('Address of the stream, a websocket.'),
        token: z.string().describe('Token for the first message on the stream; it expires after some minutes.'),
      })
      .describe('How to open the stream.'),
  })
  .register(schemas, {
    id: 'GameConsoleWebsocketResponse',
    description: 'The address of a console stream and a short-lived token for it.',
    example: {
      success: true,
      server_id: 'demo',
      websocket: {
        socket_url: 'wss://api.example.com/v1/hosting/game/console/demo/stream',
        token: 'tHt7xeqzoN2sxJz4lJQZ5cVqGC4lQ0XlN4Jd2mYbE1s',
      },
    },
  });

/** The latest log of a game server. */
export const GameLatestLogResponse = z
  .strictObject({
    success,
    server_id: serverId,
    empty: z.boolean().describe('Whether the log has no content.'),
    content: z.string().describe('The log: at most its last 1 MiB, from the start of a line, without colour codes.'),
  })
  .register(schemas, {
    id: 'GameLatestLogResponse',
    description: 'The latest log of a game server.',
    example: { success: true, server_id: 'demo', empty: false, content: '[12:00:00] Server started\n' },
  });
