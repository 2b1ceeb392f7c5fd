import { describe, expect, test } from 'vitest';
import { decide, noReads, toNextState } from '../../../server/hosting/providers/reads-state.ts';
import type { Decision, ReadsEvent } from '../../../server/hosting/providers/reads-state.ts';

const states = new Map([['42', 'running']] as const);
const other = new Map([['42', 'offline']] as const);
const error = new Error('no answer');
const began = (at: number): ReadsEvent => ({ type: 'began', began: { at, date: 1_000_000 + at } });
const answered = (at: number, found: typeof states | typeof other = states): ReadsEvent => {
  return { type: 'answered', at, states: found };
};
const failed = (at: number): ReadsEvent => ({ type: 'failed', at, error });
const answer = (at: number, found: typeof states | typeof other = states): Decision => {
  return { do: 'answer', known: { began: { at, date: 1_000_000 + at }, states: found } };
};

const never = Number.NEGATIVE_INFINITY;

describe('with reads at least 5 s apart, a question', () => {
  const rows: [name: string, events: ReadsEvent[], now: number, after: number, expected: Decision][] = [
    ['begins the first read', [], 0, never, { do: 'read' }],
    ['joins the read that runs', [began(0)], 1, never, { do: 'join' }],
    ['gets what the last read found', [began(0), answered(10)], 20, never, answer(0)],
    ['gets it until the interval is over', [began(0), answered(10)], 5009, never, answer(0)],
    ['begins the next read then', [began(0), answered(10)], 5010, never, { do: 'read' }],
    ['counts the interval from the end of a slow read', [began(0), answered(9000)], 13_000, never, answer(0)],
    [
      'gets the newer of two reads',
      [began(0), answered(1), began(6000), answered(6001, other)],
      6002,
      never,
      answer(6000, other),
    ],

    ['after an action begins a read if none is recent', [], 100, 99, { do: 'read' }],
    ['does not begin a read in the same moment', [], 100, 100, { do: 'wait', ms: 1 }],
    ['does not get a read from before', [began(0), answered(10)], 1000, 900, { do: 'wait', ms: 4011 }],
    [
      'does not get a read that began before and ended after',
      [began(0), answered(10)],
      12,
      5,
      { do: 'wait', ms: 4999 },
    ],
    ['does not get a read that began in the same moment', [began(5), answered(10)], 12, 5, { do: 'wait', ms: 4999 }],
    ['joins a read from before, and asks again after it', [began(0)], 12, 5, { do: 'join' }],
    [
      'gets a read that began after',
      [began(0), answered(1), began(6000), answered(6001, other)],
      6002,
      5999,
      answer(6000, other),
    ],
    ['waits while the upstream may repeat what it knew before', [], 100, 15_000, { do: 'wait', ms: 14_901 }],

    ['gets the failure of the last read', [began(0), failed(10)], 20, never, { do: 'fail', error }],
    [
      'gets no state from before the failure',
      [began(0), answered(1), began(6000), failed(6001)],
      6002,
      never,
      { do: 'fail', error },
    ],
    ['gets the failure for 5 s', [began(0), failed(10)], 5009, never, { do: 'fail', error }],
    ['begins the next read then too', [began(0), failed(10)], 5010, never, { do: 'read' }],
    [
      'gets a state after a failure again',
      [began(0), failed(1), began(6000), answered(6001)],
      6002,
      never,
      answer(6000),
    ],
  ];
  test.each(rows)('%s', (_, events, now, after, expected) => {
    const state = events.reduce(toNextState, noReads);
    expect(decide(state, { now, after, intervalMs: 5000 })).toEqual(expected);
  });
});
