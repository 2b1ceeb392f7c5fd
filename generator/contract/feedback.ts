import { z } from 'zod';
import { schemas, success } from '#contract/primitives.ts';

/** The feedback of a reader on a knowledge base article. */
export const KBFeedbackRequest = z
  .strictObject({
    helpful: z.boolean().describe('Whether the article was helpful.'),
    title: z.string().optional().describe('Title of the article.'),
    slug: z.string().optional().describe('Path of the article, starting with /knowledgebase/.'),
  })
  .register(schemas, {
    id: 'KBFeedbackRequest',
    description: 'Whether a knowledge base article was helpful to a reader.',
    example: { helpful: true, title: 'Connect with SSH', slug: '/knowledgebase/vps/ssh' },
  });

/** The request succeeded. */
export const SuccessResponse = z.strictObject({ success }).register(schemas, {
  id: 'SuccessResponse',
  description: 'The request succeeded.',
  example: { success: true },
});
