import { expect, test } from 'vitest';
import { mapWithTimeLimit } from '#common/time-limit.ts';

/** Waits without CPU, like a process that other processes keep from running. */
function starve(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function compute(ms: number): void {
  const before = process.threadCpuUsage();
  for (let spent = 0; spent < ms;) {
    const { user, system } = process.threadCpuUsage(before);
    spent = (user + system) / 1000;
  }
}

test('on a busy machine, work within the limit of CPU time ends, and endless work is stopped', () => {
  const works: readonly (() => string)[] = [
    () => 'first',
    () => {
      compute(100);
      starve(400);
      return 'starved';
    },
    () => {
      for (;;) {
        compute(5);
        starve(20);
      }
    },
    () => {
      for (;;) compute(5);
    },
    () => 'last',
  ];
  const results = mapWithTimeLimit(works, (work) => work(), 200);
  expect(results).toEqual(['first', 'starved', undefined, undefined, 'last']);
});
