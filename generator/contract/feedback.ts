import { z } from 'zod';
import { json, plain } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { success, object } from '#contract/primitives.ts';

/** The feedback of a reader on a knowledge base article. */
export const KBFeedbackRequest = object(
  'KBFeedbackRequest',
  'Whether a knowledge base article was helpful to a reader.',
  {
    helpful: z.boolean().describe('Whether the article was helpful.'),
    title: z.string().optional().describe('Title of the article.'),
    slug: z.string().optional().describe('Path of the article, starting with /knowledgebase/.'),
  },
  { helpful: true, title: 'Connect with SSH', slug: '/knowledgebase/vps/ssh' },
);

/** The request succeeded. */
export const SuccessResponse = object('SuccessResponse', 'The request succeeded.', { success }, { success: true });

/** The operations on the feedback of readers. */
export const feedbackEndpoints = {
  sendFeedback: {
    ...plain,
    method: 'POST',
    path: '/v1/kb/feedback',
    tag: 'Knowledge base',
    summary: 'Report whether a knowledge base article was helpful',
    description: 'Each client may send one report in 30 seconds, unless the operator sets another limit.',
    body: { schema: KBFeedbackRequest, required: true, invalid: 'invalid_feedback', strict: true },
    missing: { code: 'invalid_feedback' },
    limit: 'feedback',
    replies: {
      200: json('The feedback was counted and sent to the team.', SuccessResponse),
      202: json('The feedback was counted; sending it to the team is disabled.', SuccessResponse),
    },
    problems: ['invalid_feedback', 'unsupported_media_type', 'feedback_not_built', 'feedback_not_delivered'],
  },
} as const satisfies Record<string, Endpoint>;
