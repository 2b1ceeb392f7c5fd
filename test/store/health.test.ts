import { expect, onTestFinished, test, vi } from 'vitest';
import { StoreError } from '../../server/store/database.ts';
import { createStoreHealth } from '../../server/store/health.ts';

type Events = readonly (readonly [seconds: number, type: 'check failed' | 'call failed'])[];

/** Simulates a store with failures at times in seconds; returns its health and the log. */
async function run(until: number, events: Events, clockBy = 0) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  onTestFinished(() => random.mockRestore());
  const begin = performance.now();
  const seconds = () => Math.round((performance.now() - begin) / 1000);
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
    if (seconds() === 2) vi.setSystemTime(Date.now() + clockBy);
    if (happens('call failed')) health.onFailure(new StoreError('no answer', 'lost'));
  }
  return { answers: health.answers(), lines };
}

/** A log line: the second, the message, the number of failures and their duration. */
const fails = (at: number, failures = 1, lasted = 0) => `${at}: the store does not answer, ${failures} in ${lasted} s`;
const outage: Events = [
  [1, 'check failed'],
  [2, 'call failed'],
];
const refusedWrites: Events = [1, 3].map((at) => [at, 'call failed'] as const);
const longOutage: Events = Array.from({ length: 71 }, (_, at) => [at + 1, at % 2 ? 'call failed' : 'check failed']);

test.each<[string, number, Events, boolean, string[]]>([
  ['answers', 2, [], true, []],
  ['does not answer a check', 1, outage, false, [fails(1)]],
  ['refuses a write but answers checks', 4, refusedWrites, true, [fails(1)]],
  ['does not answer for 70 s', 71, longOutage, false, [fails(1), fails(31, 31, 30), fails(61, 61, 60)]],
  ['answers again, which is ready at once and logged after 5 s', 3, outage, true, [fails(1)]],
  [
    'answered for 5 s, and fails again: a new outage',
    9,
    [...outage, [9, 'check failed']],
    false,
    [fails(1), '7: the store answers again, 2 in 6 s', fails(9)],
  ],
])('a store that %s', async (_name, until, events, answers, lines) => {
  expect(await run(until, events)).toEqual({ answers, lines });
});

test.each([-3_600_000, 3_600_000])('an outage is logged on time while the clock is set by %s ms', async (clockBy) => {
  expect(await run(71, longOutage, clockBy)).toEqual(await run(71, longOutage));
});
