import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { createTokenBucket } from '../../server/token-bucket.ts';
import type { TestApp } from '../helpers/app.ts';
import { ask, askEndpoint } from '../server/ask.ts';
import type { Question } from '../server/ask.ts';
import { serveShared } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';
import { describeEndpoint, limitedNames, methodsOf, requestOf, unlimitedNames } from '../server/targets.ts';

const burst = 5;

/** A server that takes `burst` requests of a client at once and one a second over time. */
function createLimitedApp(settings: Record<string, string> = {}): Promise<SharedApp> {
  return serveShared({ RATELIMIT_BURST: String(burst), RATELIMIT_RPS: '1', ...settings });
}

async function statuses(app: TestApp, target: string, times: number, question?: Question): Promise<number[]> {
  const answers: number[] = [];
  for (let time = 0; time < times; time += 1) answers.push((await ask(app, target, question)).status);
  return answers;
}

describe.each(limitedNames)('%s', (name) => {
  const { errorStyle } = describeEndpoint(name);

  test('counts down the burst of a client, then refuses it in its style', async () => {
    const app = await createLimitedApp();
    for (let left = burst - 1; left >= 0; left -= 1) {
      const { status, headers } = await askEndpoint(app, name);
      expect(status).toBe(200);
      expect(headers['ratelimit-policy']).toMatch(new RegExp(`^"default";q=${burst};w=${burst}(?:, |$)`));
      expect(headers.ratelimit).toMatch(new RegExp(`^"default";r=${left};t=[1-${burst}](?:, |$)`));
      expect(headers).not.toHaveProperty('retry-after');
    }
    for (const method of methodsOf(name)) {
      const { status, headers, text } = await askEndpoint(app, name, { method });
      expect(status).toBe(429);
      expect(headers['ratelimit-policy']).toBe(`"default";q=${burst};w=${burst}`);
      expect(headers.ratelimit).toMatch(new RegExp(`^"default";r=0;t=[1-${burst}]$`));
      expect(headers['retry-after']).toMatch(new RegExp(`^[1-${burst}]$`));
      expect(headers['cache-control']).toBe('no-store');
      expect(headers).not.toHaveProperty('etag');
      expect(text).toBe(method === 'HEAD' ? '' : renderProblem(errorStyle, 'rate_limited'));
    }
  });

  test('lets exactly the burst through of 64 requests at once', async () => {
    // However long they take on a busy machine, the first that is refused keeps all others out.
    const app = await createLimitedApp({ RATELIMIT_BLOCK_SECONDS: '60' });
    const { target, ...usual } = requestOf(name, app);
    const other = `${target}${target.includes('?') ? '&' : '?'}other=1`;
    // Half of them in the usual spelling, half in one that takes the long way: both draw on one limit.
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, at) => ask(app, at % 2 === 0 ? target : other, usual)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(burst);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(64 - burst);
  });
});

test.each(unlimitedNames)('%s has no limit', async (name) => {
  const app = await createLimitedApp();
  const { target } = requestOf(name, app);
  expect(await statuses(app, target, burst * 2)).toEqual(Array(burst * 2).fill(200));
  const { headers } = await ask(app, target);
  expect(headers).not.toHaveProperty('ratelimit');
  expect(headers).not.toHaveProperty('ratelimit-policy');
});

test('all endpoints draw on one limit of a client', async () => {
  const app = await createLimitedApp();
  expect(await statuses(app, '/v1/info', burst - 1)).toEqual(Array(burst - 1).fill(200));
  expect((await ask(app, '/v1/plans')).status).toBe(200);
  expect((await ask(app, '/v1/blog/list')).status).toBe(429);
});

test('what is no endpoint, a wrong method and a preflight do not count', async () => {
  const app = await createLimitedApp();
  const preflight = { Origin: 'https://www.example.com', 'Access-Control-Request-Method': 'GET' };
  for (let time = 0; time < burst * 2; time += 1) {
    expect((await ask(app, '/v1/nothing')).status).toBe(404);
    expect((await ask(app, '/v1/plans', { method: 'POST' })).status).toBe(405);
    expect((await ask(app, '/v1/plans', { method: 'OPTIONS', headers: preflight })).status).toBe(204);
  }
  expect((await ask(app, '/v1/plans')).headers.ratelimit).toMatch(new RegExp(`^"default";r=${burst - 1};`));
});

test('a request that is refused for another reason counts', async () => {
  const app = await createLimitedApp();
  expect(await statuses(app, '/v1/blog/article', burst)).toEqual(Array(burst).fill(400));
  expect((await ask(app, '/v1/blog/article')).status).toBe(429);
});

test('a client is let through again after the seconds of Retry-After', async () => {
  const app = await serveShared({ RATELIMIT_BURST: '2', RATELIMIT_RPS: '2' });
  expect(await statuses(app, '/v1/plans', 2)).toEqual([200, 200]);
  const { status, headers } = await ask(app, '/v1/plans');
  expect(status).toBe(429);
  expect(headers['retry-after']).toBe('1');
  // The header is a promise about time: that time is what has to pass here.
  await sleep(1000);
  expect((await ask(app, '/v1/plans')).status).toBe(200);
});

test('one client does not use up the limit of another', async () => {
  const app = await createLimitedApp();
  expect((await statuses(app, '/v1/plans', burst + 1, { from: '127.0.0.1' })).at(-1)).toBe(429);
  expect(await statuses(app, '/v1/plans', burst, { from: '127.0.0.2' })).toEqual(Array(burst).fill(200));
  expect((await ask(app, '/v1/plans', { from: '127.0.0.2' })).status).toBe(429);
});

test('RATELIMIT_BLOCK_SECONDS keeps a client out that ran over, and says for how long', async () => {
  const app = await createLimitedApp({ RATELIMIT_RPS: String(burst), RATELIMIT_BLOCK_SECONDS: '60' });
  expect((await statuses(app, '/v1/plans', burst + 1)).at(-1)).toBe(429);
  const { headers } = await ask(app, '/v1/plans');
  expect(Number(headers['retry-after'])).toBeGreaterThan(50);
  expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
  expect((await ask(app, '/v1/plans', { from: '127.0.0.2' })).status).toBe(200);
});

describe('over time, a client', () => {
  const options = { name: 'default', rps: 10, burst: 10, blockSeconds: 0 };

  /** A limit on a clock that only the test turns, and how many of so many requests it lets through. */
  function createTurned(changes: Partial<typeof options> = {}) {
    let time = 12_345.678;
    const limit = createTokenBucket({ ...options, ...changes }, () => time);
    return {
      turn: (ms: number) => (time += ms),
      count: (requests: number, key = '192.0.2.1') =>
        Array.from({ length: requests }, () => limit.consume(key)).filter(({ allowed }) => allowed).length,
      ask: () => limit.consume('192.0.2.1'),
    };
  }

  test('gets the burst, and then RPS requests for every second that passes', () => {
    const { turn, count } = createTurned();
    expect(count(20)).toBe(10);
    for (let second = 0; second < 5; second += 1) {
      turn(1000);
      expect(count(20)).toBe(10);
    }
    turn(3_600_000);
    expect(count(20)).toBe(10);
  });

  test('gets one request for each part of a second that stands for it, and none before', () => {
    const { turn, count } = createTurned();
    expect(count(20)).toBe(10);
    for (let request = 0; request < 1_000; request += 1) {
      turn(99);
      expect(count(1)).toBe(0);
      turn(1);
      expect(count(2)).toBe(1);
    }
  });

  test('never gets more than the burst and RPS requests a second, however it times them', () => {
    const { turn, count } = createTurned();
    expect(count(1)).toBe(1);
    turn(900);
    const before = count(20);
    turn(200);
    // A token bucket (decisions, 4): 10 at most were saved up, and 0.2 s brings 2 more.
    expect([before, count(20)]).toEqual([10, 2]);
  });

  test.each([
    [1, 1],
    [1, 100],
    [3, 7],
    [50, 100],
    [1_000_000, 1],
    [1_000_000, 1_000_000],
  ])('with %i a second and a burst of %i is told the seconds after which it is let through', (rps, size) => {
    const { turn, ask: askTurned, count } = createTurned({ rps, burst: size });
    expect(count(size)).toBe(size);
    const { allowed, retryAfter } = askTurned();
    expect(allowed).toBe(false);
    expect(retryAfter).toBe(1);
    turn(retryAfter * 1000);
    expect(askTurned().allowed).toBe(true);
  });

  test('that ran over is kept out for as long as the block lasts, and no longer', () => {
    const { turn, count, ask: askTurned } = createTurned({ blockSeconds: 60 });
    expect(count(11)).toBe(10);
    turn(59_000);
    expect(askTurned()).toMatchObject({ allowed: false, retryAfter: 1 });
    turn(1_000);
    expect(count(11)).toBe(10);
    // And it is kept out anew, from the request that ran over.
    expect(askTurned()).toMatchObject({ allowed: false, retryAfter: 60 });
  });

  test('is told what is left for it and when its bucket is full again, whoever asked before', () => {
    let time = 1_000;
    const limit = createTokenBucket({ ...options, rps: 1, burst: 3 }, () => time);
    const tell = (key: string) => limit.consume(key).headers.at(-1);
    expect([tell('a'), tell('b'), tell('a'), tell('b')]).toEqual([
      '"default";r=2;t=1',
      '"default";r=2;t=1',
      '"default";r=1;t=2',
      '"default";r=1;t=2',
    ]);
    time += 500;
    // As much left as before, and full at another time.
    expect([tell('a'), tell('a'), tell('c'), tell('a')]).toEqual([
      '"default";r=0;t=3',
      '"default";r=0;t=3',
      '"default";r=2;t=1',
      '"default";r=0;t=3',
    ]);
    time += 1_500;
    expect([tell('a'), tell('b')]).toEqual(['"default";r=1;t=2', '"default";r=2;t=1']);
  });

  test('keeps its limit while a hundred thousand others come and go', () => {
    const { turn, count, ask: askTurned } = createTurned({ rps: 1, burst: 2 });
    expect(count(3)).toBe(2);
    for (let other = 0; other < 100_000; other += 1) {
      if (count(1, `10.${other >> 16}.${(other >> 8) & 255}.${other & 255}`) !== 1) throw new Error('locked out');
    }
    expect(askTurned().allowed).toBe(false);
    turn(1000);
    expect(count(2)).toBe(1);
  });

  test('is not kept out for longer where the clock of the machine is set back', () => {
    vi.useFakeTimers();
    try {
      const limit = createTokenBucket(options);
      for (let request = 0; request < 10; request += 1) limit.consume('192.0.2.1');
      vi.setSystemTime(Date.now() - 3_600_000);
      expect(limit.consume('192.0.2.1')).toMatchObject({ allowed: false, retryAfter: 1 });
    } finally {
      vi.useRealTimers();
    }
  });
});
