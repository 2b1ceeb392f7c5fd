import { expect, test } from 'vitest';
import { createDeadline, createHostLimiter } from '../../../server/domains/lookup/query.ts';
import { stopClock } from '../../helpers/clock.ts';

const rate = { rps: 5, burst: 5 };

test('a host gets a burst of five requests, then five per second; requests that cannot start in time are dropped', async () => {
  const advance = stopClock();
  const gate = createHostLimiter(100, () => rate);
  const run = (ms: number) => gate.run('host', createDeadline(ms), async () => 'done');
  const answers = await Promise.all(Array.from({ length: 8 }, () => run(150)));
  expect(answers.filter((answer) => answer === 'done')).toHaveLength(5);
  advance(1000);
  const later = await Promise.all(Array.from({ length: 8 }, () => run(150)));
  expect(later.filter((answer) => answer === 'done')).toHaveLength(5);
});

test('requests that wait for a host are dropped when it backs off', async () => {
  const gate = createHostLimiter(1, () => rate);
  const first = gate.run('host', createDeadline(5000), async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    gate.backOff('host', 60_000);
    return 'done';
  });
  const second = gate.run('host', createDeadline(5000), async () => 'done');
  expect(await Promise.all([first, second])).toEqual(['done', undefined]);
});

test('failed work releases its slot', async () => {
  const gate = createHostLimiter(1, () => rate);
  const failing = gate.run('host', createDeadline(1000), () => Promise.reject(new Error('failed')));
  await expect(failing).rejects.toThrow('failed');
  expect(await gate.run('host', createDeadline(1000), async () => 'done')).toBe('done');
});

test('a backoff is kept while many other hosts are used', async () => {
  const advance = stopClock();
  const gate = createHostLimiter(1, () => rate);
  const run = (host: string) => gate.run(host, createDeadline(1000), async () => 'done');
  await run('cooling');
  gate.backOff('cooling', 60_000);
  for (let index = 0; index < 1200; index += 1) {
    advance(20);
    await run(`host${index}`);
  }
  expect(await run('cooling')).toBeUndefined();
  advance(60_000);
  expect(await run('cooling')).toBe('done');
});
