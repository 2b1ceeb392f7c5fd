import { createTestApp } from '../helpers/app.ts';
import type { TestApp } from '../helpers/app.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { createUpstream } from '../helpers/upstream.ts';
import type { Upstream } from '../helpers/upstream.ts';
import { ask } from '../server/ask.ts';
import type { Question } from '../server/ask.ts';
import { sharedProject } from '../server/shared.ts';

export const target = '/v1/kb/feedback';
export const token = 'Zk2-webhook-token-0123456789abcdefghijklmnopqrstuvwxyz';
export const highLimit = { FEEDBACK_RATELIMIT_BURST: '1000' };

export interface Served {
  readonly app: TestApp;
  readonly chat: Upstream;
  readonly settings: Record<string, string>;
}

/** A server with a Discord webhook for feedback. */
export async function serve(changes: Record<string, string> = {}): Promise<Served> {
  const chat = await createUpstream(() => ({ status: 200, body: '{"id":"1"}' }));
  const settings = {
    DATA_DIR: temporaryFolder(),
    CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/api/webhooks/1/${token}`,
    ...highLimit,
    ...changes,
  };
  return { app: await createTestApp({ root: await sharedProject(), settings }), chat, settings };
}

/** Sends a vote. */
export function send(
  app: TestApp,
  body: string | undefined,
  headers: Record<string, string> = {},
  more: Question = {},
) {
  return ask(app, target, { method: 'POST', headers, body, ...more });
}
