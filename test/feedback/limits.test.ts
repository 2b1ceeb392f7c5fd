import { describe, expect, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { ask } from '../server/ask.ts';
import { send, serve } from './harness.ts';

describe('the limit', () => {
  test('is one valid vote per 30 s for each client, and the headers have the window', async () => {
    const { app, chat } = await serve({ FEEDBACK_RATELIMIT_BURST: '' });
    expect((await send(app, '{"helpful":')).status).toBe(400);
    expect((await send(app, '{}')).status).toBe(400);
    expect((await send(app, '{"helpful":true}', { 'Content-Type': 'text/plain' })).status).toBe(415);
    expect((await send(app, '{"helpful":true}', {}, { method: 'PUT' })).status).toBe(405);
    expect((await send(app, '{"helpful":true}')).status).toBe(200);
    for (const body of ['{"helpful":true}', '{"helpful":false}']) {
      const { status, headers, text } = await send(app, body);
      expect({ status, text }).toEqual({ status: 429, text: renderProblem('text', 'rate_limited') });
      expect(headers['retry-after']).toBe('30');
      expect(headers['ratelimit-policy']).toContain('"feedback";q=1;w=30');
    }
    expect((await send(app, '{"helpful":true}', {}, { from: '127.0.0.2' })).status).toBe(200);
    expect(chat.seen).toHaveLength(2);
    expect((await ask(app, '/v1/kb/list')).status).toBe(200);
  });

  test('ignores a forged X-Forwarded-For and uses a trusted one', async () => {
    const plain = await serve({ FEEDBACK_RATELIMIT_BURST: '' });
    const forged = (at: number) => ({ 'X-Forwarded-For': `203.0.113.${at}` });
    expect((await send(plain.app, '{"helpful":true}', forged(1))).status).toBe(200);
    expect((await send(plain.app, '{"helpful":true}', forged(2))).status).toBe(429);

    const behind = await serve({ FEEDBACK_RATELIMIT_BURST: '', TRUSTED_PROXIES: '127.0.0.1' });
    expect((await send(behind.app, '{"helpful":true}', forged(1))).status).toBe(200);
    expect((await send(behind.app, '{"helpful":true}', forged(2))).status).toBe(200);
    expect((await send(behind.app, '{"helpful":true}', forged(1))).status).toBe(429);
  });

  test('is configurable, with its own window', async () => {
    const { app } = await serve({ FEEDBACK_RATELIMIT_WINDOW_SECONDS: '7', FEEDBACK_RATELIMIT_BURST: '2' });
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await send(app, '{"helpful":true}')).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await send(app, '{"helpful":true}')).headers['retry-after']).toBe('7');
  });
});
