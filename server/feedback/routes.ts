import { handle } from '../http/handle.ts';
import type { Feedback } from './service.ts';

/** The routes of feedback. */
export function feedbackRoutes(feedback: Feedback) {
  return {
    sendFeedback: handle('sendFeedback', async ({ body, trace }) => {
      const status = (await feedback.record(body, trace)) === 'delivered' ? 200 : 202;
      return { status, body: { success: true } };
    }),
  };
}
