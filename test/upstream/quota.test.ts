import { describe, expect, test } from 'vitest';
import { leavesReserve, shareAccount, toNextState, unknownQuota } from '../../server/upstream/quota.ts';
import type { Client } from '../../server/upstream/client.ts';
import type { QuotaEvent, QuotaState } from '../../server/upstream/quota.ts';

const minute = 60_000;
const sent: QuotaEvent = { type: 'sent' };
const failed: QuotaEvent = { type: 'failed' };
const answered = (at: number, left: number, endsInMs?: number): QuotaEvent => {
  return { type: 'answered', at, limit: 40, left, endsInMs };
};

const follow = (events: readonly QuotaEvent[]): QuotaState => events.reduce(toNextState, unknownQuota);

describe('a quota of 40 requests', () => {
  const rows: [name: string, events: QuotaEvent[], expected: Partial<QuotaState>, now: number, leaves: boolean][] = [
    ['is unknown at first', [sent, sent], { limit: undefined, running: 2 }, 0, true],
    ['is known after an answer', [sent, answered(5, 39)], { limit: 40, left: 39, running: 0 }, 5, true],
    ['lasts a minute from its first answer', [sent, answered(5, 39)], { endsAt: 5 + minute }, 5, true],
    ['has room down to a quarter', [sent, answered(0, 11)], { left: 11 }, 1, true],
    ['keeps a quarter', [sent, answered(0, 10)], { left: 10 }, 1, false],
    ['counts what runs', [sent, answered(0, 12), sent, sent], { running: 2 }, 1, false],
    ['counts a failure as used', [sent, answered(0, 11), sent, failed], { left: 10, running: 0 }, 1, false],
    ['is full again after its window', [sent, answered(0, 10)], {}, minute, true],
    [
      'is not more than full after its window',
      [sent, answered(0, 10), ...Array.from({ length: 30 }, () => sent)],
      {},
      minute,
      false,
    ],
    ['starts again when more is left', [sent, answered(0, 10), sent, answered(9, 39)], { endsAt: 9 + minute }, 9, true],
    [
      'does not grow by answers in another order',
      [sent, sent, sent, answered(0, 30), answered(1, 32), answered(2, 31)],
      { left: 30, endsAt: minute },
      3,
      true,
    ],
    ['ends when a 429 says so', [sent, answered(0, 39), sent, answered(1, 0, 7000)], { endsAt: 7001 }, 7001, true],
    ['ends within a minute', [sent, answered(0, 0, 3_600_000)], { endsAt: minute }, minute - 1, false],
  ];
  test.each(rows)('%s', (_, events, expected, now, leaves) => {
    const state = follow(events);
    expect(state).toMatchObject(expected);
    expect(leavesReserve(state, now)).toBe(leaves);
  });
});

test('an answer without a limit changes nothing', () => {
  const known = follow([sent, answered(0, 10)]);
  const silent: QuotaEvent = { type: 'answered', at: 1, limit: undefined, left: 0 };
  expect(follow([sent, answered(0, 10), sent, silent])).toEqual(known);
});

test.each(['x-ratelimit', 'ratelimit'])('%s: all but power stops at a quarter', async (prefix) => {
  let left = 41;
  const client: Client = {
    request() {
      left -= 1;
      const headers = new Headers({ [`${prefix}-limit`]: '40', [`${prefix}-remaining`]: String(left) });
      return Promise.resolve({ status: 200, statusText: 'OK', headers, text: '', describe: () => '' });
    },
    close: () => Promise.resolve(),
  };
  const account = shareAccount(client, () => 0);
  const count = async (kind: 'others' | 'power'): Promise<number> => {
    const before = left;
    for (let tried = 0; tried < 15; tried += 1) await account[kind].request('GET', '/').catch(() => undefined);
    return before - left;
  };
  expect([await count('others'), await count('others')]).toEqual([15, 15]);
  expect(account.hasRoom()).toBe(true);
  expect([await count('others'), await count('others')]).toEqual([1, 0]);
  expect(account.hasRoom()).toBe(false);
  expect(await count('power')).toBe(15);
});
