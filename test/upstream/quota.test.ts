import { describe, expect, test } from 'vitest';
import { shareAccount } from '../../server/upstream/quota.ts';
import type { Client, Reply } from '../../server/upstream/client.ts';

const minute = 60_000;

/** A request is sent; the oldest one without an answer fails, or is answered at a time with what is left of 40. */
type Event = 'sent' | 'failed' | { readonly at: number; readonly left?: number; readonly retryAfter?: number };
const answered = (at: number, left?: number): Event => (left === undefined ? { at } : { at, left });
const sent = (count: number): Event[] => Array.from({ length: count }, () => 'sent');

const toReply = (headers: Record<string, string>, status = 200): Reply => {
  return { status, statusText: '', headers: new Headers(headers), text: '', describe: () => '' };
};

/** Plays events on the account of a panel, and returns the account at a time. */
async function follow(events: readonly Event[], now: number) {
  const running: PromiseWithResolvers<Reply>[] = [];
  let time = 0;
  const client: Client = {
    request() {
      running.push(Promise.withResolvers<Reply>());
      return running.at(-1)!.promise;
    },
    close: () => Promise.resolve(),
  };
  const account = shareAccount(client, () => time);
  for (const event of events) {
    if (event === 'sent') void account.power.request('POST', '/').catch(() => undefined);
    else if (event === 'failed') running.shift()!.reject(new Error('failed'));
    else {
      time = event.at;
      const { left, retryAfter } = event;
      const limit: Record<string, string> = left === undefined ? {} : { 'x-ratelimit-limit': '40' };
      if (retryAfter === undefined) running.shift()!.resolve(toReply({ ...limit, 'x-ratelimit-remaining': `${left}` }));
      else running.shift()!.resolve(toReply({ ...limit, 'retry-after': `${retryAfter}` }, 429));
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  time = now;
  return { account, running };
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
  test.each(rows)('%s', async (_, events, now, leaves) => {
    const { account, running } = await follow(events, now);
    const before = running.length;
    void account.others.request('GET', '/').catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(running.length > before).toBe(leaves);
  });
});

test.each(['x-ratelimit', 'ratelimit'])('%s: all but power stops at a quarter', async (prefix) => {
  let left = 41;
  const client: Client = {
    request() {
      left -= 1;
      return Promise.resolve(toReply({ [`${prefix}-limit`]: '40', [`${prefix}-remaining`]: String(left) }));
    },
    close: () => Promise.resolve(),
  };
  const account = shareAccount(client, () => 0);
  const count = async (kind: 'others' | 'power'): Promise<number> => {
    const before = left;
    for (let tried = 0; tried < 15; tried += 1) await account[kind].request('GET', '/').catch(() => undefined);
    return before - left;
  };
  expect(account.hasRoom()).toBe(true);
  expect([await count('others'), await count('others'), await count('others')]).toEqual([15, 15, 1]);
  expect(account.hasRoom()).toBe(false);
  expect([await count('others'), await count('power')]).toEqual([0, 15]);
});
