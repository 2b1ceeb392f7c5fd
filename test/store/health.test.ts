import { expect, onTestFinished, test, vi } from 'vitest';
import { StoreUnreachableError } from '../../server/store/database.ts';
import { createStoreHealth } from '../../server/store/health.ts';

type Events = readonly (readonly [seconds: number, type: 'check failed' | 'call failed'])[];

/** Whether the store answers, and what was logged, after a time with failures at times in seconds. */
async function run(until: number, events: Events) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const begin = Date.now();
  const seconds = () => Math.round((Date.now() - begin) / 1000);
  const lines: string[] = [];
  const write = (fields: unknown, message?: string): void => {
    const { failures, seconds: lasted } = fields as { failures: number; seconds: number };
    lines.push(`${seconds()}: ${message}, ${failures} in ${lasted} s`);
  };
  const health = createStoreHealth({ error: write, info: write });
  onTestFinished(() => health.stop());
  const happens = (type: Events[number][1]) => events.some(([at, each]) => at === seconds() && each === type);
  health.watch(() => (happens('check failed') ? Promise.reject(new Error('no answer')) : Promise.resolve()));
  while (seconds() < until) {
    await vi.advanceTimersByTimeAsync(1000);
    if (happens('call failed')) health.onFailure(new StoreUnreachableError('no answer'));
  }
  return { answers: health.answers(), lines };
}

test.each<[string, number, Events, Awaited<ReturnType<typeof run>>]>([
  ['answers', 2, [], { answers: true, lines: [] }],
  [
    'does not answer a check',
    1,
    [[1, 'check failed']],
    { answers: false, lines: ['1: the store does not answer, 1 in 0 s'] },
  ],
  [
    'refuses a write but answers checks',
    4,
    [
      [1, 'call failed'],
      [3, 'call failed'],
    ],
    { answers: true, lines: ['1: the store does not answer, 1 in 0 s'] },
  ],
  [
    'does not answer for 70 s',
    71,
    Array.from({ length: 71 }, (_, second) => [second + 1, second % 2 === 0 ? 'check failed' : 'call failed'] as const),
    {
      answers: false,
      lines: [
        '1: the store does not answer, 1 in 0 s',
        '31: the store does not answer, 31 in 30 s',
        '61: the store does not answer, 61 in 60 s',
      ],
    },
  ],
  [
    'answers again, which is ready at once and logged after 5 s',
    3,
    [
      [1, 'check failed'],
      [2, 'call failed'],
    ],
    { answers: true, lines: ['1: the store does not answer, 1 in 0 s'] },
  ],
  [
    'answered for 5 s, and fails again: a new outage',
    9,
    [
      [1, 'check failed'],
      [2, 'call failed'],
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
])('a store that %s', async (_name, until, events, expected) => {
  expect(await run(until, events)).toEqual(expected);
});
