import { expect, test } from 'vitest';
import { createHostLimiter } from '../../../server/domains/lookup/host-limiter.ts';
import type { Deadline } from '../../../server/domains/lookup/deadline.ts';

const rate = { rps: 5, burst: 5 };

function createDeadline(ms: number): Deadline {
  const end = performance.now() + ms;
  return { signal: AbortSignal.timeout(ms), remainingMs: () => end - performance.now() };
}

test('a host is asked five times at once, then five times a second, and never by those who could not begin in time', async () => {
  let at = 0;
  const gate = createHostLimiter({ concurrency: 100, rateOf: () => rate, now: () => at });
  const run = (ms: number) => gate.run('host', createDeadline(ms), async () => 'done');
  const answers = await Promise.all(Array.from({ length: 8 }, () => run(150)));
  expect(answers.filter((answer) => answer === 'done')).toHaveLength(5);
  at += 1000;
  const later = await Promise.all(Array.from({ length: 8 }, () => run(150)));
  expect(later.filter((answer) => answer === 'done')).toHaveLength(5);
});

test('those who wait for a host are sent away when it is left alone', async () => {
  const gate = createHostLimiter({ concurrency: 1, rateOf: () => rate, now: () => performance.now() });
  const first = gate.run('host', createDeadline(5000), async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    gate.backOff('host', 60_000);
    return 'done';
  });
  const second = gate.run('host', createDeadline(5000), async () => 'done');
  expect(await Promise.all([first, second])).toEqual(['done', undefined]);
});

test('work that fails gives its turn back', async () => {
  const gate = createHostLimiter({ concurrency: 1, rateOf: () => rate, now: () => performance.now() });
  const failing = gate.run('host', createDeadline(1000), () => Promise.reject(new Error('failed')));
  await expect(failing).rejects.toThrow('failed');
  expect(await gate.run('host', createDeadline(1000), async () => 'done')).toBe('done');
});

test('a host that is left alone is remembered, however many others are asked since', async () => {
  let at = 0;
  const gate = createHostLimiter({ concurrency: 1, rateOf: () => rate, now: () => at });
  const run = (host: string) => gate.run(host, createDeadline(1000), async () => 'done');
  await run('cooling');
  gate.backOff('cooling', 60_000);
  for (let index = 0; index < 1200; index += 1) {
    at += 20;
    await run(`host${index}`);
  }
  expect(await run('cooling')).toBeUndefined();
  at += 60_000;
  expect(await run('cooling')).toBe('done');
});
