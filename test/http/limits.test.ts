import { describe, expect, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { readEnv } from '../../server/env.ts';
import { openLimits } from '../../server/limits.ts';
import type { TestApp } from '../helpers/app.ts';
import { ask, askEndpoint } from '../server/ask.ts';
import type { Question } from '../server/ask.ts';
import { stopClock } from '../helpers/clock.ts';
import { createTestLog } from '../helpers/upstream.ts';
import { sharedApp } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';
import { describeEndpoint, limitedNames, methodsOf, requestOf, unlimitedNames } from '../server/targets.ts';
import { handshake } from './targets/rows.ts';

const burst = 5;

const unused = { log: createTestLog().log, opened: new AsyncDisposableStack(), report: () => () => undefined };

const small = { RATELIMIT_BURST: String(burst), RATELIMIT_RPS: '1' };
const smallContent = { CONTENT_RATELIMIT_BURST: String(burst), CONTENT_RATELIMIT_RPS: '1' };

/** Starts a server with bursts of `burst` requests per client and a stopped clock. */
function limitedApp(settings: Record<string, string> = { ...small, ...smallContent }): Promise<SharedApp> {
  stopClock();
  return sharedApp(settings);
}

type Row = readonly [usual: number, target: string, question?: Question];

let clients = 0;
/** Picks the address of a new client. */
function newClient(): string {
  return `127.0.1.${(clients += 1)}`;
}

async function statuses(app: TestApp, target: string, times: number, question?: Question): Promise<number[]> {
  const answers: number[] = [];
  for (let count = 0; count < times; count += 1) answers.push((await ask(app, target, question)).status);
  return answers;
}

describe.each(limitedNames)('%s', (name) => {
  const { errorStyle, stored } = describeEndpoint(name);
  const limit = stored === false ? 'default' : 'content';

  test("counts down the burst of a client, then refuses with 429 in the endpoint's style", async () => {
    const [app, from] = [await limitedApp(), newClient()];
    for (let left = burst - 1; left >= 0; left -= 1) {
      const { status, headers } = await askEndpoint(app, name, { from });
      expect(status).toBe(200);
      expect(headers).not.toHaveProperty('retry-after');
      if (stored !== false) continue;
      expect(headers['ratelimit-policy']).toMatch(new RegExp(`^"${limit}";q=${burst};w=${burst}(?:, |$)`));
      expect(headers.ratelimit).toMatch(new RegExp(`^"${limit}";r=${left};t=[1-${burst}](?:, |$)`));
    }
    for (const method of methodsOf(name)) {
      const { status, headers, text } = await askEndpoint(app, name, { method, from });
      expect(status).toBe(429);
      expect(headers['ratelimit-policy']).toBe(`"${limit}";q=${burst};w=${burst}`);
      expect(headers.ratelimit).toMatch(new RegExp(`^"${limit}";r=0;t=[1-${burst}]$`));
      expect(headers['retry-after']).toMatch(new RegExp(`^[1-${burst}]$`));
      expect(headers['cache-control']).toBe('no-store');
      expect(headers).not.toHaveProperty('etag');
      expect(text).toBe(method === 'HEAD' ? '' : renderProblem(errorStyle, 'rate_limited'));
    }
  });

  test('allows exactly the burst of 24 concurrent requests', async () => {
    const [app, from] = [await limitedApp(), newClient()];
    const { target, ...usual } = requestOf(name, app);
    const other = `${target}${target.includes('?') ? '&' : '?'}other=1`;
    // Half take the fast path and half do not: both share one limit.
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, at) => ask(app, at % 2 === 0 ? target : other, { ...usual, from })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(burst);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(24 - burst);
  });
});

test.each(unlimitedNames)('%s has no limit', async (name) => {
  const app = await limitedApp();
  const { target } = requestOf(name, app);
  expect(await statuses(app, target, burst * 2)).toEqual(Array(burst * 2).fill(200));
  const { headers } = await ask(app, target);
  expect(headers).not.toHaveProperty('ratelimit');
  expect(headers).not.toHaveProperty('ratelimit-policy');
});

test('each client has one limit for content and one for other paths, refusals, preflights and upgrades', async () => {
  const preflight = { Origin: 'https://www.example.com', 'Access-Control-Request-Method': 'GET' };
  const upgrade = Object.fromEntries(handshake.split(' | ').map((line) => line.split(': ')));
  const content: readonly Row[] = [
    [200, '/v1/status'],
    [200, '/v1/domains/tlds'],
    [400, '/v1/blog/article'],
    [404, '/v1/kb/article?path=/knowledgebase/vps/none'],
    [404, '/v1/service-status.none.js'],
    [405, '/v1/plans', { method: 'POST' }],
    [204, '/v1/plans', { method: 'OPTIONS', headers: preflight }],
  ];
  const others: readonly Row[] = [
    [200, '/v1/info'],
    [404, '/v1/nothing'],
    [404, '/v1/blog/nothing'],
    [404, '/v1/%zz'],
    [404, '/v1/plans/'],
    [404, '/v1/nothing', { headers: upgrade }],
    [405, '/v1/info', { method: 'PROPFIND' }],
  ];
  const app = await limitedApp();
  for (const [rows, same, other] of [
    [content, '/v1/plans', '/v1/info'],
    [others, '/v1/info', '/v1/plans'],
  ] as const) {
    for (const [usual, target, question] of rows) {
      const from = newClient();
      expect(await statuses(app, target, burst, { ...question, from })).toEqual(Array(burst).fill(usual));
      expect(await statuses(app, target, 1, { ...question, from })).toEqual([429]);
      expect(await statuses(app, same, 1, { from })).toEqual([429]);
      expect(await statuses(app, other, 1, { from })).toEqual([200]);
      expect(await statuses(app, '/nothing', 1, { from })).toEqual([404]);
    }
  }
});

test('a small limit of other requests does not apply to content, and a large limit does', async () => {
  const app = await limitedApp(small);
  expect(await statuses(app, '/v1/plans', 2 * burst, { from: newClient() })).toEqual(Array(2 * burst).fill(200));
  const env = readEnv({ RATELIMIT_RPS: '300', RATELIMIT_BURST: '60000' });
  const { limits } = openLimits({ env, store: { limits: undefined }, ...unused });
  expect(limits.content.consume('a').headers['RateLimit-Policy']).toBe('"content";q=60000;w=200');
  const usual = openLimits({ env: readEnv({}), store: { limits: undefined }, ...unused });
  expect(usual.limits.content.consume('a').headers['RateLimit-Policy']).toBe('"content";q=20000;w=100');
});
