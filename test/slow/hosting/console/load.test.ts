import { fork } from 'node:child_process';
import { on } from 'node:events';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createCounter } from '../../../helpers/console-client.ts';
import type { Count, TestClient } from '../../../helpers/console-client.ts';
import { createTestRelay } from '../../../hosting/console/harness.ts';
import type { Report } from './flood-viewers.ts';
import type { TestRelay } from '../../../hosting/console/harness.ts';

const mebibyte = 1024 * 1024;

/** The time in ms; the other clocks stand still in these tests. */
const realNow = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Starts viewers in a separate process. The first report means ready; the second has the counts. */
function startViewers(relay: TestRelay, tokens: readonly string[]): () => Promise<Report> {
  const child = fork(join(import.meta.dirname, 'flood-viewers.ts'), [relay.url(), ...tokens], { execArgv: [] });
  onTestFinished(() => void child.kill());
  const reports = on(child, 'message', { close: ['exit'] })[Symbol.asyncIterator]();
  return async () => ((await reports.next()).value as [Report])[0];
}

/** Lets a stalled viewer read until the next status, and counts its lines. */
async function resume(stuck: TestClient): Promise<Count> {
  stuck.socket.resume();
  const counter = createCounter();
  for (const message of await stuck.until('status')) counter.see(message);
  return counter.count();
}

test('a stalled viewer does not slow down 49 others in a flood of 20,000 lines a second', async () => {
  const relay = await createTestRelay();
  const tokens = await Promise.all(Array.from({ length: 49 }, (_, number) => relay.token({ keyId: `key${number}` })));
  const report = startViewers(relay, tokens);
  const stuck = await relay.open();
  stuck.socket.pause();
  expect(await report()).toEqual({ ready: true });
  const [source] = relay.sources;

  const before = process.memoryUsage().rss;
  const cpuBefore = process.cpuUsage();
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  let peak = before;
  let printed = 0;
  const started = realNow();
  for (let burst = 1; burst <= 40; burst += 1) {
    for (let line = 0; line < 2000; line += 1) source!.line(`${(printed += 1) - 1} ${'x'.repeat(80)}`);
    peak = Math.max(peak, process.memoryUsage().rss);
    // The pace of the flood: 2,000 lines per 100 ms.
    await sleep(Math.max(0, started + burst * 100 - realNow()));
  }
  source!.status('offline');
  const { counts } = (await report()) as { counts: Count[] };
  delay.disable();
  const { user, system } = process.cpuUsage(cpuBefore);
  const seconds = (realNow() - started) / 1000;

  expect(counts).toHaveLength(49);
  for (const { received, dropped, wrong } of counts) {
    expect(received + dropped).toBe(printed);
    expect(wrong).toBe(0);
  }
  expect(peak - before).toBeLessThan(100 * mebibyte);
  // Measured: 0.3 s. A write for each frame took 11 s, and blocked other requests.
  expect((user + system) / 1e6).toBeLessThan(3);

  const late = await resume(stuck);
  expect(late.dropped).toBeGreaterThan(0);
  expect([late.received + late.dropped, late.wrong]).toEqual([printed, 0]);

  console.log(
    `flood: ${Math.round(counts.reduce((sum, count) => sum + count.received, 0) / seconds)} lines/s delivered, ` +
      `${counts.reduce((sum, count) => sum + count.dropped, 0)} dropped, ${toMebibytes(peak - before)} more, ` +
      `${Math.round((user + system) / 1e4 / seconds)} % of a core, loop delay p99 ${Math.round(delay.percentile(99) / 1e6)} ms`,
  );
});

test('stalled viewers use no memory beyond their limit', async () => {
  const relay = await createTestRelay();
  const stuck = await Promise.all(Array.from({ length: 30 }, () => relay.open()));
  for (const { socket } of stuck) socket.pause();
  const before = process.memoryUsage().rss;
  let peak = before;
  let printed = 0;
  for (let burst = 0; burst < 64; burst += 1) {
    for (let line = 0; line < 1024; line += 1) relay.sources[0]!.line(`${(printed += 1) - 1} ${'x'.repeat(1000)}`);
    await sleep(20);
    peak = Math.max(peak, process.memoryUsage().rss);
  }
  // Without a limit, each viewer would need 64 MiB.
  expect(peak - before).toBeLessThan(150 * mebibyte);
  relay.sources[0]!.status('offline');
  for (const { received, dropped, wrong } of await Promise.all(stuck.map(resume))) {
    expect(received + dropped).toBe(printed);
    expect(dropped).toBeGreaterThan(0);
    expect(wrong).toBe(0);
  }
  console.log(`30 stuck viewers, 64 MiB printed: ${toMebibytes(peak - before)} more`);
});

test('1,000 idle viewers need little memory and one access check in 2 s, and get the first line immediately', async () => {
  const { clock, ...relay } = await createTestRelay();
  const before = process.memoryUsage().rss;
  const viewers: TestClient[] = [];
  for (let batch = 0; batch < 10; batch += 1) {
    viewers.push(...(await Promise.all(Array.from({ length: 100 }, () => relay.open()))));
  }
  const grown = process.memoryUsage().rss - before;
  // Includes the clients, which are in this process.
  expect(grown).toBeLessThan(150 * mebibyte);
  expect(relay.relay.stats()).toEqual({ connections: 1000, viewers: 1000, upstreams: 1 });
  // One timer for the token of each stream, one for the access check, and one for the backlog of the console.
  expect(clock.pending()).toBe(1002);
  relay.accessChecks.length = 0;
  await clock.advance(2);
  expect(relay.accessChecks).toHaveLength(1);

  const started = realNow();
  relay.sources[0]!.line('hello');
  const received = await Promise.all(viewers.map((viewer) => viewer.next()));
  const ms = realNow() - started;
  expect(new Set(received.map(String))).toEqual(new Set(['console output,hello']));
  expect(ms).toBeLessThan(2000);

  for (const { socket } of viewers) socket.close();
  await expect.poll(() => relay.relay.stats()).toEqual({ connections: 0, viewers: 0, upstreams: 1 });
  await clock.advance(30);
  expect(relay.relay.stats().upstreams).toBe(0);
  expect(clock.pending()).toBe(0);
  console.log(`1,000 viewers with their clients: ${toMebibytes(grown)}; a line reached all in ${Math.round(ms)} ms`);
});

function toMebibytes(bytes: number): string {
  return `${Math.round(bytes / mebibyte)} MiB`;
}
