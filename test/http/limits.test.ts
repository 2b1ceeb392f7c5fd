import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { createTokenBucket } from '../../server/token-bucket.ts';
import type { TestApp } from '../helpers/app.ts';
import { ask, askEndpoint } from '../server/ask.ts';
import type { Question } from '../server/ask.ts';
import { serveShared } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';
import { describeEndpoint, limitedNames, methodsOf, requestOf, unlimitedNames } from '../server/targets.ts';

const burst = 5;

/** A server with a burst of `burst` requests per client. Its clock is stopped, so that a slow machine gets no more. */
function createLimitedApp(settings: Record<string, string> = {}): Promise<SharedApp> {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  onTestFinished(() => clock.mockRestore());
  return serveShared({ RATELIMIT_BURST: String(burst), RATELIMIT_RPS: '1', ...settings });
}

async function statuses(app: TestApp, target: string, times: number, question?: Question): Promise<number[]> {
  const answers: number[] = [];
  for (let time = 0; time < times; time += 1) answers.push((await ask(app, target, question)).status);
  return answers;
}

describe.each(limitedNames)('%s', (name) => {
  const { errorStyle } = describeEndpoint(name);

  test("counts down the burst of a client, then refuses with 429 in the endpoint's style", async () => {
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

  test('allows exactly the burst of 64 concurrent requests', async () => {
    const app = await createLimitedApp();
    const { target, ...usual } = requestOf(name, app);
    const other = `${target}${target.includes('?') ? '&' : '?'}other=1`;
    // Half use the stored spelling, half one outside of the fast path: both share one limit.
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

test('all endpoints share one limit per client', async () => {
  const app = await createLimitedApp();
  expect(await statuses(app, '/v1/info', burst - 1)).toEqual(Array(burst - 1).fill(200));
  expect((await ask(app, '/v1/plans')).status).toBe(200);
  expect((await ask(app, '/v1/blog/list')).status).toBe(429);
});

test('unknown paths, wrong methods and preflights do not count', async () => {
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

test('a client is allowed again after the seconds of Retry-After', async () => {
  const app = await serveShared({ RATELIMIT_BURST: '2', RATELIMIT_RPS: '2' });
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(app, '/v1/plans')));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const { headers } of refused) expect(headers['retry-after']).toBe('1');
  // Waits in real time, since the header promises real seconds.
  await sleep(1000);
  expect((await ask(app, '/v1/plans')).status).toBe(200);
});

test('clients have independent limits', async () => {
  const app = await createLimitedApp();
  expect((await statuses(app, '/v1/plans', burst + 1, { from: '127.0.0.1' })).at(-1)).toBe(429);
  expect(await statuses(app, '/v1/plans', burst, { from: '127.0.0.2' })).toEqual(Array(burst).fill(200));
  expect((await ask(app, '/v1/plans', { from: '127.0.0.2' })).status).toBe(429);
});

test('RATELIMIT_BLOCK_SECONDS blocks a client that exceeded its limit, and Retry-After has the duration', async () => {
  const app = await createLimitedApp({ RATELIMIT_RPS: String(burst), RATELIMIT_BLOCK_SECONDS: '60' });
  expect((await statuses(app, '/v1/plans', burst + 1)).at(-1)).toBe(429);
  const { headers } = await ask(app, '/v1/plans');
  expect(Number(headers['retry-after'])).toBeGreaterThan(50);
  expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
  expect((await ask(app, '/v1/plans', { from: '127.0.0.2' })).status).toBe(200);
});

describe('over time, a client', () => {
  const options = { name: 'default', rps: 10, burst: 10, blockSeconds: 0 };

  /** A limit with a fake clock, and the number of allowed requests out of several. */
  function createClockedLimit(changes: Partial<typeof options> = {}) {
    let time = 12_345.678;
    const limit = createTokenBucket({ ...options, ...changes }, () => time);
    return {
      advance: (ms: number) => (time += ms),
      count: (requests: number, key = '192.0.2.1') =>
        Array.from({ length: requests }, () => limit.consume(key)).filter(({ allowed }) => allowed).length,
      ask: () => limit.consume('192.0.2.1'),
    };
  }

  test('gets the burst, then RPS requests per second', () => {
    const { advance, count } = createClockedLimit();
    expect(count(20)).toBe(10);
    for (let second = 0; second < 5; second += 1) {
      advance(1000);
      expect(count(20)).toBe(10);
    }
    advance(3_600_000);
    expect(count(20)).toBe(10);
  });

  test('gets one request per fraction of a second, and none before', () => {
    const { advance, count } = createClockedLimit();
    expect(count(20)).toBe(10);
    for (let request = 0; request < 1_000; request += 1) {
      advance(99);
      expect(count(1)).toBe(0);
      advance(1);
      expect(count(2)).toBe(1);
    }
  });

  test('never gets more than the burst plus RPS requests per second', () => {
    const { advance, count } = createClockedLimit();
    expect(count(1)).toBe(1);
    advance(900);
    const before = count(20);
    advance(200);
    // A token bucket: at most 10 tokens are saved, and 0.2 s adds 2.
    expect([before, count(20)]).toEqual([10, 2]);
  });

  test.each([
    [1, 1],
    [1, 100],
    [3, 7],
    [50, 100],
    [1_000_000, 1],
    [1_000_000, 1_000_000],
  ])('with %i per second and a burst of %i gets the seconds until the next allowed request', (rps, size) => {
    const { advance, ask: consume, count } = createClockedLimit({ rps, burst: size });
    expect(count(size)).toBe(size);
    const { allowed, retryAfter } = consume();
    expect(allowed).toBe(false);
    expect(retryAfter).toBe(1);
    advance(retryAfter * 1000);
    expect(consume().allowed).toBe(true);
  });

  test('that exceeds its limit is blocked for exactly the block time', () => {
    const { advance, count, ask: consume } = createClockedLimit({ blockSeconds: 60 });
    expect(count(11)).toBe(10);
    advance(59_000);
    expect(consume()).toMatchObject({ allowed: false, retryAfter: 1 });
    advance(1_000);
    expect(count(11)).toBe(10);
    // The request that exceeded the limit starts a new block.
    expect(consume()).toMatchObject({ allowed: false, retryAfter: 60 });
  });

  test('gets its remaining requests and the time until its bucket is full, independent of other clients', () => {
    let time = 1_000;
    const limit = createTokenBucket({ ...options, rps: 1, burst: 3 }, () => time);
    const headerFor = (key: string) => limit.consume(key).headers.at(-1);
    expect([headerFor('a'), headerFor('b'), headerFor('a'), headerFor('b')]).toEqual([
      '"default";r=2;t=1',
      '"default";r=2;t=1',
      '"default";r=1;t=2',
      '"default";r=1;t=2',
    ]);
    time += 500;
    // The remainder is the same, but the time until full differs.
    expect([headerFor('a'), headerFor('a'), headerFor('c'), headerFor('a')]).toEqual([
      '"default";r=0;t=3',
      '"default";r=0;t=3',
      '"default";r=2;t=1',
      '"default";r=0;t=3',
    ]);
    time += 1_500;
    expect([headerFor('a'), headerFor('b')]).toEqual(['"default";r=1;t=2', '"default";r=2;t=1']);
  });

  test('keeps its limit while 100,000 other clients appear', () => {
    const { advance, count, ask: consume } = createClockedLimit({ rps: 1, burst: 2 });
    expect(count(3)).toBe(2);
    for (let other = 0; other < 100_000; other += 1) {
      if (count(1, `10.${other >> 16}.${(other >> 8) & 255}.${other & 255}`) !== 1) throw new Error('locked out');
    }
    expect(consume().allowed).toBe(false);
    advance(1000);
    expect(count(2)).toBe(1);
  });

  test('is not blocked longer if the system clock is set back', () => {
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
