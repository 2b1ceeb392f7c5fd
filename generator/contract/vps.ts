import { z } from 'zod';
import { schemas } from '#contract/primitives.ts';

/** The confirmation of an action that cannot be undone. */
export const ForceRequest = z.strictObject({ force: z.boolean() }).register(schemas, {
  id: 'ForceRequest',
  description: 'Confirms an action that cannot be undone.',
  example: { force: true },
});

/** A VPS power action was accepted; the VPS may need more time. */
export const VPSPowerResponse = z
  .strictObject({
    success: z.boolean(),
    action: z.enum(['start', 'stop', 'reset']),
    vps_id: z.string(),
    status: z.string(),
    message: z.string(),
  })
  .register(schemas, {
    id: 'VPSPowerResponse',
    description: 'A VPS power action was accepted.',
    example: { success: true, action: 'start', vps_id: '1207', status: 'requested', message: 'Start action sent' },
  });
