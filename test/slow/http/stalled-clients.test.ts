import { once } from 'node:events';
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

test('a client whose headers drip is disconnected on time', async () => {
  const server = await listenOn((_, response) => response.end(), {
    host: '127.0.0.1',
    port: 0,
    stalledMs: 60_000,
    idleMs: 60_000,
  });
  onTestFinished(() => server.drain(0));
  expect(server.http.headersTimeout).toBe(15_000);
  server.http.headersTimeout = 1000;
  const client = connect(Number(new URL(server.url).port), '127.0.0.1');
  client.write('GET / HTTP/1.1\r\n');
  const drip = setInterval(() => client.write('X-Drip: 1\r\n'), 100);
  const began = performance.now();
  const [answer] = (await once(client, 'data')) as [Buffer];
  clearInterval(drip);
  client.destroy();
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 408 /);
  // By default, Node.js would look only after 30 s.
  expect(performance.now() - began).toBeLessThan(25_000);
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
