import { z } from 'zod';
import { schemas } from '#contract/primitives.ts';

/** The feedback of a reader on a knowledge base article. */
export const KBFeedbackRequest = z
  .strictObject({ helpful: z.boolean(), title: z.string().optional(), slug: z.string().optional() })
  .register(schemas, {
    id: 'KBFeedbackRequest',
    description: 'Whether a knowledge base article was helpful to a reader.',
    example: { helpful: true, title: 'Connect with SSH', slug: '/knowledgebase/vps/ssh' },
  });

/** The request succeeded. */
export const SuccessResponse = z.strictObject({ success: z.boolean() }).register(schemas, {
  id: 'SuccessResponse',
  description: 'The request succeeded.',
  example: { success: true },
});
