import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { listenOn } from '../../../server/http/listen.ts';

const stalledMs = 2000;
const size = 30_000_000;

/** Starts a server whose answers exceed the buffers of the kernel, and a client with one request. */
async function askForMuch() {
  let ended = 0;
  const server = await listenOn(
    (_, response) => {
      response.end(Buffer.alloc(size));
      response.on('close', () => (ended += 1));
    },
    { host: '127.0.0.1', port: 0, stalledMs, idleMs: 60_000 },
  );
  onTestFinished(() => server.drain(0));
  const client = connect(Number(new URL(server.url).port), '127.0.0.1').pause();
  client.on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  onTestFinished(() => void client.destroy());
  return { client, ended: () => ended };
}

test('a client that stops reading its answer is disconnected', async () => {
  const { ended } = await askForMuch();
  await expect.poll(ended).toBe(1);
});

test('a slow reader stays connected', async () => {
  const { client } = await askForMuch();
  const began = performance.now();
  let received = 0;
  for await (const chunk of client as AsyncIterable<Buffer>) {
    received += chunk.length;
    if (received > size) break;
    await sleep(10);
  }
  expect(received).toBeGreaterThan(size);
  expect(performance.now() - began).toBeGreaterThan(2 * stalledMs);
});
