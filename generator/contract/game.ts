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
  .register(schemas, { id: 'GamePowerResponse', description: 'A game server power action was accepted.' });

/** A console command. */
export const GameConsoleCommandRequest = z
  .strictObject({ command: z.string() })
  .register(schemas, { id: 'GameConsoleCommandRequest', description: 'A console command.' });

/** A console command was sent. */
export const GameConsoleCommandResponse = z
  .strictObject({ success: z.boolean(), server_id: z.string(), status: z.string() })
  .register(schemas, { id: 'GameConsoleCommandResponse', description: 'A console command was sent.' });

/** Where a console stream is opened, and the short-lived token that opens it. */
export const GameConsoleWebsocketResponse = z
  .strictObject({
    success: z.boolean(),
    server_id: z.string(),
    websocket: z.strictObject({ socket_url: z.url({ protocol: /^wss?$/ }), token: z.string() }),
  })
  .register(schemas, { id: 'GameConsoleWebsocketResponse', description: 'Opens a console stream.' });

/** The newest log of a game server. */
export const GameLatestLogResponse = z
  .strictObject({ success: z.boolean(), server_id: z.string(), empty: z.boolean(), content: z.string() })
  .register(schemas, { id: 'GameLatestLogResponse', description: 'The newest log of a game server.' });
