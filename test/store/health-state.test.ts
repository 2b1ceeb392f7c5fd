import { expect, test } from 'vitest';
import { healthy, toNextState } from '../../server/store/health-state.ts';
import type { HealthEvent } from '../../server/store/health-state.ts';

type Events = readonly (readonly [seconds: number, type: HealthEvent['type']])[];

/** Whether the store answers, and what was logged, after events at times in seconds. */
function run(events: Events) {
  let state = healthy;
  const lines: string[] = [];
  for (const [seconds, type] of events) {
    const next = toNextState(state, { type, at: seconds * 1000 });
    ({ state } = next);
    if (next.line) lines.push(`${seconds}: ${next.line.message}, ${next.line.failures} in ${next.line.seconds} s`);
  }
  return { answers: state.answers, lines };
}

test.each<[string, Events, ReturnType<typeof run>]>([
  ['answers', [[0, 'check answered']], { answers: true, lines: [] }],
  [
    'does not answer a check',
    [
      [0, 'check answered'],
      [1, 'check failed'],
    ],
    { answers: false, lines: ['1: the store does not answer, 1 in 0 s'] },
  ],
  [
    'refuses a write but answers checks',
    [
      [1, 'call failed'],
      [2, 'check answered'],
      [3, 'call failed'],
      [4, 'check answered'],
    ],
    { answers: true, lines: ['1: the store does not answer, 1 in 0 s'] },
  ],
  [
    'does not answer for 70 s',
    Array.from({ length: 71 }, (_, second) => [second, second % 2 === 0 ? 'check failed' : 'call failed'] as const),
    {
      answers: false,
      lines: [
        '0: the store does not answer, 1 in 0 s',
        '30: the store does not answer, 31 in 30 s',
        '60: the store does not answer, 61 in 60 s',
      ],
    },
  ],
  [
    'answers again, which is ready at once and logged after 5 s',
    [
      [1, 'check failed'],
      [2, 'call failed'],
      [3, 'check answered'],
    ],
    { answers: true, lines: ['1: the store does not answer, 1 in 0 s'] },
  ],
  [
    'answered for 5 s, and fails again: a new outage',
    [
      [1, 'check failed'],
      [2, 'call failed'],
      [7, 'check answered'],
      [8, 'check answered'],
      [9, 'check failed'],
    ],
    {
      answers: false,
      lines: [
        '1: the store does not answer, 1 in 0 s',
        '7: the store answers again, 2 in 6 s',
        '9: the store does not answer, 1 in 0 s',
      ],
    },
  ],
])('a store that %s', (_name, events, expected) => {
  expect(run(events)).toEqual(expected);
});
