import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createStoreHealth } from '../../../server/store/health.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { ask } from '../../server/ask.ts';
import { createServable, startProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';

/** Starts a server and locks its SQLite file for writing, like another process. */
async function startLocked(): Promise<{ port: number; free: () => void }> {
  const { settings } = await createServable();
  const dataDir = temporaryFolder();
  const limits = { RATELIMIT_RPS: '100000', RATELIMIT_BURST: '100000', FEEDBACK_RATELIMIT_BURST: '100000' };
  const server = startProcess({ ...settings, ...limits, DATA_DIR: dataDir });
  const port = await server.listening();
  const other = new DatabaseSync(join(dataDir, 'hosting.sqlite'), { timeout: 5000 });
  onTestFinished(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  return { port, free: () => other.exec('ROLLBACK') };
}

/** Sends votes, which wait for the lock. */
function vote(port: number, count: number): Promise<number[]> {
  const question = { method: 'POST', body: '{"helpful":true}' };
  const send = async (): Promise<number> => (await ask({ port }, '/v1/kb/feedback', question)).status;
  return Promise.all(Array.from({ length: count }, send));
}

/** Measures a request of /health in ms, at most 20 s. */
async function measureHealth(port: number): Promise<number> {
  const started = performance.now();
  const answered = ask({ port }, '/health').then(({ status }) => expect(status).toBe(200));
  await Promise.race([answered, delay(20_000, undefined, { ref: false })]);
  return Math.round(performance.now() - started);
}

test('300 calls that wait for the lock of SQLite do not delay other requests', async () => {
  const { port, free } = await startLocked();
  const idle = await measureHealth(port);
  const first = vote(port, 1).catch(() => []);
  await delay(500);
  const withOne = await measureHealth(port);
  const others = vote(port, 299).catch(() => []);
  await delay(1500);
  const withMany: number[] = [];
  for (let time = 0; time < 5; time += 1) withMany.push(await measureHealth(port));
  process.stderr.write(`/health: ${idle} ms, with one waiter ${withOne} ms, with 300 ${withMany.join(', ')} ms\n`);
  // Waiting inside SQLite would block the event loop for 25 ms per call and attempt. The first requests may wait until
  // the server has read the votes.
  expect(Math.min(...withMany)).toBeLessThan(1000);
  free();
  expect((await Promise.all([first, others])).flat()).toEqual(Array.from({ length: 300 }, () => 202));
});

test('a store without an answer to a check within 3 s is unready, and gets no other check until then', async () => {
  const lines: string[] = [];
  const write = (_: unknown, message?: string): void => void lines.push(message!);
  const health = createStoreHealth({ error: write, info: write });
  onTestFinished(() => health.stop());
  const pending = Promise.withResolvers<void>();
  let checks = 0;
  health.watch(async () => {
    checks += 1;
    if (checks === 1) await pending.promise;
  });
  await expect.poll(() => health.answers(), eventually).toBe(false);
  expect(checks).toBe(1);
  expect(lines).toEqual(['the store does not answer']);
  pending.resolve();
  await expect.poll(() => health.answers(), eventually).toBe(true);
  await expect.poll(() => lines, eventually).toEqual(['the store does not answer', 'the store answers again']);
});
