import { z } from 'zod';
import { schemas } from '#contract/primitives.ts';

/** A game server power action was accepted; the game server may need more time. */
export const GamePowerResponse = z
  .strictObject({
    success: z.boolean(),
    action: z.enum(['start', 'stop', 'restart', 'kill']),
    server_id: z.string(),
    status: z.string(),
    message: z.string(),
  })
  .register(schemas, {
    id: 'GamePowerResponse',
    description: 'A game server power action was accepted.',
    example: {
      success: true,
      action: 'restart',
      server_id: 'mc-4821',
      status: 'requested',
      message: 'Restart action sent',
    },
  });

/**
 * 1 to 1,024 characters, one of them visible: panels remove white space and format characters at both ends, and refuse
 * what is empty then. No lone surrogates, which are not UTF-8 characters.
 */
const commandPattern = /^(?=[\s\S]*[^\s\p{Cf}])[^\p{Cc}\p{Cs}]{1,1024}$/u;

/** A console command. */
export const GameConsoleCommandRequest = z
  .strictObject({
    command: z
      .string()
      .regex(commandPattern, 'must be 1 to 1,024 characters, one of them visible, without control characters'),
  })
  .register(schemas, {
    id: 'GameConsoleCommandRequest',
    description: 'A console command.',
    example: { command: 'say Hello' },
  });

/** A console command was sent. */
export const GameConsoleCommandResponse = z
  .strictObject({ success: z.boolean(), server_id: z.string(), status: z.string() })
  .register(schemas, {
    id: 'GameConsoleCommandResponse',
    description: 'A console command was sent.',
    example: { success: true, server_id: 'mc-4821', status: 'sent' },
  });

/** The address of a console stream and a short-lived token for it. */
export const GameConsoleWebsocketResponse = z
  .strictObject({
    success: z.boolean(),
    server_id: z.string(),
    websocket: z.strictObject({ socket_url: z.url({ protocol: /^wss?$/ }), token: z.string() }),
  })
  .register(schemas, {
    id: 'GameConsoleWebsocketResponse',
    description: 'The address of a console stream and a short-lived token for it.',
    example: {
      success: true,
      server_id: 'mc-4821',
      websocket: {
        socket_url: 'wss://api.example.com/v1/hosting/game/console/mc-4821/stream',
        token: 'eyJhbGciOiJIUzI1NiJ9...',
      },
    },
  });

/** The latest log of a game server. */
export const GameLatestLogResponse = z
  .strictObject({ success: z.boolean(), server_id: z.string(), empty: z.boolean(), content: z.string() })
  .register(schemas, {
    id: 'GameLatestLogResponse',
    description: 'The latest log of a game server.',
    example: { success: true, server_id: 'mc-4821', empty: false, content: '[12:00:00] Server started\n' },
  });
