import { expect, test } from 'vitest';
import { unknownStats } from '#contract/console-stream.ts';
import { createLocal } from './local-harness.ts';
import { recordConsole } from './console-recorder.ts';
import { pollOptions } from '../console/harness.ts';

/** Starts a local server with a command, and follows its console. */
async function follow(...command: string[]) {
  const { game } = createLocal({ demo: { command } });
  await game.power('demo', 'start');
  const { source } = recordConsole(game, 'demo');
  return { game, source };
}

test('the CPU and the memory of a local server are read from its processes', async () => {
  const { source } = await follow(process.execPath, '-e', 'for (;;);');
  const first = await source.stats();
  expect(first.memory_bytes).toBeGreaterThan(10_000_000);
  expect(first).toMatchObject({ disk_bytes: null, network_rx_bytes: null, network_tx_bytes: null });
  await expect.poll(async () => (await source.stats()).cpu, pollOptions).toBeGreaterThan(0);
});

test('the processes that a local server starts count too', async () => {
  const { source } = await follow('sh', '-c', `"${process.execPath}" -e 'setInterval(() => {}, 1000)' & wait`);
  await expect.poll(async () => (await source.stats()).memory_bytes, pollOptions).toBeGreaterThan(10_000_000);
});

test('a program with a name like fields of its status is read too', async () => {
  const { source } = await follow(process.execPath, '-e', "process.title = ') S 1 2 3'; setInterval(() => {}, 1000)");
  await expect.poll(async () => (await source.stats()).memory_bytes, pollOptions).toBeGreaterThan(10_000_000);
});

test('nothing is known of a console without a server', async () => {
  const { game } = createLocal({});
  const { source } = recordConsole(game, 'other');
  expect(await source.stats()).toEqual(unknownStats);
});
