import { describe, expect, test } from 'vitest';
import { createQuota } from '../../server/upstream/quota.ts';

const minute = 60_000;

/** A request is sent, fails, or is answered at a time with the remaining requests of 40; oldest first. */
type Event = 'sent' | 'failed' | { readonly at: number; readonly left?: number; readonly retryAfter?: number };
const answered = (at: number, left?: number): Event => (left === undefined ? { at } : { at, left });
const sent = (count: number): Event[] => Array.from({ length: count }, () => 'sent');

const toReply = (headers: Record<string, string>, status = 200) => ({ status, headers: new Headers(headers) });

/** Plays events on the quota of a panel, and returns the quota at a time. */
function follow(events: readonly Event[], now: number) {
  const running: ReturnType<ReturnType<typeof createQuota>['begin']>[] = [];
  let time = 0;
  const quota = createQuota(() => time);
  for (const event of events) {
    if (event === 'sent') running.push(quota.begin());
    else if (event === 'failed') running.shift()!();
    else {
      time = event.at;
      const { left, retryAfter } = event;
      const limit: Record<string, string> = left === undefined ? {} : { 'x-ratelimit-limit': '40' };
      const end = running.shift()!;
      if (retryAfter === undefined) end(toReply({ ...limit, 'x-ratelimit-remaining': `${left}` }));
      else end(toReply({ ...limit, 'retry-after': `${retryAfter}` }, 429));
    }
  }
  time = now;
  return quota;
}

describe('a quota of 40 requests', () => {
  const rows: [name: string, events: Event[], now: number, leaves: boolean][] = [
    ['is unknown at first', sent(100), 0, true],
    ['is known after an answer', ['sent', answered(5, 39)], 5, true],
    ['has room down to a quarter', ['sent', answered(0, 11)], 1, true],
    ['keeps a quarter', ['sent', answered(0, 10)], 1, false],
    ['counts what runs', ['sent', answered(0, 12), ...sent(2)], 1, false],
    ['counts what runs once', ['sent', answered(0, 12), 'sent', answered(0, 11)], 1, true],
    ['counts a failure as used', ['sent', answered(0, 11), 'sent', 'failed'], 1, false],
    ['lasts a minute from its first answer', ['sent', answered(5, 10)], minute + 4, false],
    ['is full again after its window', ['sent', answered(5, 10)], minute + 5, true],
    ['is not more than full after its window', ['sent', answered(0, 10), ...sent(30)], minute, false],
    ['starts again when more is left', ['sent', answered(0, 10), 'sent', answered(9, 39)], 9, true],
    [
      'lasts a minute from when it started again',
      ['sent', answered(0, 10), 'sent', answered(9, 39), 'sent', answered(10, 10)],
      minute + 8,
      false,
    ],
    [
      'does not grow by answers in another order',
      [...sent(3), answered(0, 10), answered(1, 12), answered(2, 11)],
      3,
      false,
    ],
    ['does not change by an answer without a limit', ['sent', answered(0, 10), 'sent', answered(1)], 2, false],
    ['is empty after a 429', ['sent', answered(0, 39), 'sent', { at: 1, left: 39, retryAfter: 7 }], 7000, false],
    ['ends when a 429 says so', ['sent', answered(0, 39), 'sent', { at: 1, left: 39, retryAfter: 7 }], 7001, true],
    ['ends within a minute', ['sent', { at: 0, left: 0, retryAfter: 3600 }], minute - 1, false],
    ['ends after a minute', ['sent', { at: 0, left: 0, retryAfter: 3600 }], minute, true],
  ];
  test.each(rows)('%s', (_, events, now, leaves) => {
    expect(follow(events, now).hasRoom()).toBe(leaves);
  });
});

test.each(['x-ratelimit', 'ratelimit'])('the headers of %s leave room down to a quarter', (prefix) => {
  const quota = createQuota(() => 0);
  const answer = (left: number): void => {
    quota.begin()(toReply({ [`${prefix}-limit`]: '40', [`${prefix}-remaining`]: String(left) }));
  };
  answer(11);
  expect(() => quota.assertRoom()).not.toThrow();
  answer(10);
  expect(() => quota.assertRoom()).toThrow('The request could not be completed');
});

describe('the actions of a key', () => {
  const answer = (quota: ReturnType<typeof createQuota>, left: number): void => {
    quota.begin()(toReply({ 'x-ratelimit-limit': '256', 'x-ratelimit-remaining': String(left) }));
  };
  /** Charges a key until its refusal; returns the number of charged requests. */
  const spend = (quota: ReturnType<typeof createQuota>, key: string, left: { now: number }): number => {
    for (let count = 0; ; count += 1) {
      try {
        quota.charge(key);
      } catch {
        return count;
      }
      left.now -= 1;
      answer(quota, left.now);
    }
  };

  test('cost at most a quarter of what is left in the window, so every key can act', () => {
    const quota = createQuota(() => 0);
    const left = { now: 256 };
    answer(quota, left.now);
    const keys = Array.from({ length: 9 }, (_, number) => `key ${number}`);
    expect(keys.map((key) => spend(quota, key, left))).toEqual([52, 41, 33, 27, 21, 17, 14, 11, 9]);
  });

  test('are refused with the end of the window, in which they count', () => {
    let now = 0;
    const quota = createQuota(() => now);
    answer(quota, 256);
    spend(quota, 'a', { now: 256 });
    now = 20_500;
    expect(() => quota.charge('a')).toThrow(
      expect.objectContaining({ code: 'rate_limited', headers: { 'Retry-After': '40' } }),
    );
    now = 60_000;
    quota.charge('a');
  });

  test('are not limited while the limit is unknown', () => {
    const quota = createQuota(() => 0);
    expect(() => Array.from({ length: 1000 }, () => quota.charge('a'))).not.toThrow();
  });
});

test('a refused read may be repeated at the end of the window', () => {
  let now = 0;
  const quota = createQuota(() => now);
  quota.begin()(toReply({ 'x-ratelimit-limit': '40', 'x-ratelimit-remaining': '5' }));
  now = 12_000;
  expect(() => quota.assertRoom()).toThrow(expect.objectContaining({ headers: { 'Retry-After': '48' } }));
});
