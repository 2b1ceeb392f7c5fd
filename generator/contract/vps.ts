import { z } from 'zod';
import { schemas, success } from '#contract/primitives.ts';

/** The confirmation of an action that cannot be undone. */
export const ForceRequest = z
  .strictObject({ force: z.boolean().describe('Must be true to confirm the action.') })
  .register(schemas, {
    id: 'ForceRequest',
    description: 'Confirms an action that cannot be undone.',
    example: { force: true },
  });

/** A VPS power action was accepted; the VPS may need more time. */
export const VPSPowerResponse = z
  .strictObject({
    success,
    action: z.enum(['start', 'stop', 'reset']).describe('The action.'),
    vps_id: z.string().describe('ID of the VPS.'),
    status: z.string().describe('Always requested: the action was accepted.'),
    message: z.string().describe('What was done, in a sentence for people.'),
  })
  .register(schemas, {
    id: 'VPSPowerResponse',
    description: 'A VPS power action was accepted.',
  });
