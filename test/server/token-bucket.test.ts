import { describe, expect, test, vi } from 'vitest';
import { createTokenBucket } from '../../server/token-bucket.ts';

describe('over time, a client', () => {
  const options = { name: 'default', rps: 10, burst: 10 };

  /** Creates a limit with a fake clock. */
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

  test('gets one request per fraction of a second, not earlier', () => {
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

  test('gets its remaining requests and the time until its bucket is full, independent of other clients', () => {
    let time = 1_000;
    const limit = createTokenBucket({ ...options, rps: 1, burst: 3 }, () => time);
    const headerFor = (key: string) => limit.consume(key).headers['RateLimit'];
    const headersFor = (...keys: string[]) => keys.map((key) => headerFor(key)?.replace('"default";', ''));
    expect(headerFor('first')).toBe('"default";r=2;t=1');
    expect(headersFor('a', 'b', 'a', 'b')).toEqual(['r=2;t=1', 'r=2;t=1', 'r=1;t=2', 'r=1;t=2']);
    time += 500;
    // The remainder is the same, but the time until full differs.
    expect(headersFor('a', 'a', 'c', 'a')).toEqual(['r=0;t=3', 'r=0;t=3', 'r=2;t=1', 'r=0;t=3']);
    time += 1_500;
    expect(headersFor('a', 'b')).toEqual(['r=1;t=2', 'r=2;t=1']);
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

  test('keeps its limit while the map is full, and new clients share buckets', () => {
    const { count } = createClockedLimit({ rps: 1, burst: 1 });
    let allowed = count(1);
    for (let other = 0; other < 150_000; other += 1) allowed += count(1, `client ${other}`);
    // 100,000 own buckets, and at most 1,000 shared buckets.
    expect(allowed).toBeGreaterThanOrEqual(100_000);
    expect(allowed).toBeLessThanOrEqual(101_000);
    expect(count(1)).toBe(0);
  });

  test('gets an own bucket again after the buckets of a full map refill', () => {
    const { advance, count } = createClockedLimit({ rps: 1, burst: 1 });
    for (let other = 0; other < 110_000; other += 1) count(1, `client ${other}`);
    advance(1000);
    let allowed = 0;
    for (let other = 0; other < 50_000; other += 1) allowed += count(1, `new ${other}`);
    expect(allowed).toBe(50_000);
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
