import { z } from 'zod';
import { schemas } from '#contract/primitives.ts';

/** A reader's verdict on a knowledge base article. */
export const KBFeedbackRequest = z
  .strictObject({ helpful: z.boolean(), title: z.string().optional(), slug: z.string().optional() })
  .register(schemas, {
    id: 'KBFeedbackRequest',
    description: "A reader's verdict on a knowledge base article.",
    example: { helpful: true, title: 'Connect with SSH', slug: '/knowledgebase/vps/ssh' },
  });

/** The request was carried out. */
export const SuccessResponse = z.strictObject({ success: z.boolean() }).register(schemas, {
  id: 'SuccessResponse',
  description: 'The request was carried out.',
  example: { success: true },
});
