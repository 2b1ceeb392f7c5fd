import { describe, expect, test } from 'vitest';
import { ask, askEndpoint } from '../server/ask.ts';
import { serveShared, sharedApp, stopClock } from '../server/shared.ts';
import { describeEndpoint, endpointNames, limitedNames, methodsOf, requestOf } from '../server/targets.ts';

/** Whether a response has the headers of the rate limit; a response that caches may keep must not. */
function hasLimits(headers: object): boolean {
  const [policy, limit] = ['ratelimit-policy' in headers, 'ratelimit' in headers];
  if (policy !== limit) throw new Error('one of both headers is missing');
  return limit;
}

describe.each(endpointNames)('%s', (name) => {
  test('names the rate limit where no cache may keep the answer, and nowhere else', async () => {
    const app = await sharedApp();
    const { target } = requestOf(name, app);
    for (const method of methodsOf(name)) {
      // The first two may be answered by the fast path, the last one is not.
      const answers = [
        await askEndpoint(app, name, { method }),
        await askEndpoint(app, name, { method, headers: { 'If-None-Match': '*' } }),
        await ask(app, target + (target.includes('?') ? '&other=1' : '?other=1'), { ...requestOf(name, app), method }),
      ];
      for (const { status, headers } of answers) {
        const isPublic = describeEndpoint(name).stored !== false && status < 400;
        expect({ status, cached: headers['cache-control'] !== 'no-store' }).toEqual({ status, cached: isPublic });
        expect(hasLimits(headers)).toBe(limitedNames.includes(name) && !isPublic);
      }
    }
  });
});

test.each([
  ['/v1/blog/article?path=/blog/news/none', 'article not found\n'],
  ['/v1/blog/article?path=%2Fblog%2Fnews%2Fnone', 'article not found\n'],
  ['/v1/kb/article?path=/knowledgebase/vps/none', 'article not found\n'],
  ['/media/none.svg', 'media file not found\n'],
  ['/media/kb/none.mp4', 'media file not found\n'],
])('the 404 of %s may be kept for 10 seconds, so that it names no limit', async (target, text) => {
  const app = await sharedApp();
  for (const method of ['GET', 'HEAD']) {
    const answer = await ask(app, target, { method });
    expect(answer).toMatchObject({ status: 404, text: method === 'GET' ? text : '' });
    expect(answer.headers['cache-control']).toBe('public, max-age=10');
    expect(hasLimits(answer.headers)).toBe(false);
  }
});

test.each([
  [404, 'GET', '/v1/nothing'],
  [404, 'GET', '/nothing'],
  [404, 'GET', '/v1/domains/search?domain=example.none'],
  [405, 'POST', '/v1/blog/list'],
  [405, 'DELETE', '/media/kb/map.svg'],
  [400, 'GET', '/v1/blog/article'],
  [400, 'GET', '/v1/kb/list?category=a&category=b'],
  [401, 'GET', '/v1/hosting/game/logs/mine/latest'],
])('no cache keeps the %s of %s %s, which names the limit below /v1', async (status, method, target) => {
  const app = await sharedApp();
  const answer = await ask(app, target, { method });
  expect(answer).toMatchObject({ status, headers: { 'cache-control': 'no-store' } });
  expect(hasLimits(answer.headers)).toBe(target.startsWith('/v1/'));
});

test('every 429 names the limit, and no cache keeps it', async () => {
  stopClock();
  const app = await serveShared({ RATELIMIT_BURST: '1', RATELIMIT_RPS: '1' });
  await ask(app, '/v1/info');
  for (const target of ['/v1/blog/list', '/v1/blog/article?path=/blog/news/none', '/v1/domains/tlds', '/v1/nothing']) {
    const { status, headers } = await ask(app, target);
    expect({ status, cache: headers['cache-control'] }).toEqual({ status: 429, cache: 'no-store' });
    expect(hasLimits(headers)).toBe(true);
  }
});
