import { z } from 'zod';
import { schemas, success } from '#contract/primitives.ts';

const fields = {
  state: z
    .enum(['running', 'starting', 'stopping', 'offline', 'unknown'])
    .describe('The power state; unknown if the system that runs the server reports none of the others.'),
  checked_at: z.iso
    .datetime()
    .describe(
      'When the system that runs the server reported this state, in UTC; if it reported none, the present time.',
    ),
};

/** The power state of a VPS. */
export const VPSStateResponse = z
  .strictObject({ success, vps_id: z.string().describe('ID of the VPS.'), ...fields })
  .register(schemas, {
    id: 'VPSStateResponse',
    description: 'The power state of a VPS.',
    example: { success: true, vps_id: 'demo', state: 'running', checked_at: '2026-03-01T12:00:00.000Z' },
  });

/** The power state of a game server. */
export const GameStateResponse = z
  .strictObject({ success, server_id: z.string().describe('ID of the game server.'), ...fields })
  .register(schemas, {
    id: 'GameStateResponse',
    description: 'The power state of a game server.',
    example: { success: true, server_id: 'demo', state: 'running', checked_at: '2026-03-01T12:00:00.000Z' },
  });
