import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { stopTimers } from '../helpers/clock.ts';
import { sharedApp } from '../server/shared.ts';

const feedback = 'POST /v1/kb/feedback HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
const filler = 'x'.repeat(700_000);
const chunks = `10000\r\n${'x'.repeat(0x1_00_00)}\r\n`.repeat(10);

/** Sends everything before it reads, as many clients and proxies do. */
async function writeThenRead(port: number, sent: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    for (let at = 0; at < sent.length; at += 16_384) {
      await new Promise<void>((resolve, reject) => {
        socket.once('error', reject);
        socket.write(sent.slice(at, at + 16_384), () => {
          socket.off('error', reject);
          resolve();
        });
      });
      // Other connections and the server have their turn.
      await new Promise(setImmediate);
    }
    return await text(socket);
  } finally {
    socket.destroy();
  }
}

describe('a client that writes its whole request before it reads gets the response', () => {
  test.each([
    ['a body that is too long', 400, `${feedback}Content-Length: ${filler.length}\r\n\r\n${filler}`],
    ['a chunked body that is too long', 400, `${feedback}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`],
    ['a body that is compressed', 415, `${feedback}Content-Encoding: gzip\r\nContent-Length: 700000\r\n\r\n${filler}`],
    [
      'a body for no endpoint',
      404,
      `POST /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 700000\r\n\r\n${filler}`,
    ],
    ['a body of a GET', 200, `GET /v1/plans HTTP/1.0\r\nHost: x\r\nContent-Length: 700000\r\n\r\n${filler}`],
    ['headers that are too long', 431, `GET /v1/plans HTTP/1.1\r\nHost: x\r\nX-Filler: ${filler}\r\n\r\n`],
    ['a request that cannot be parsed', 400, `no request\r\n${filler}`],
    [
      'data after a refused upgrade',
      404,
      `GET /v1/nothing HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${filler}`,
    ],
  ])('%s', async (_, status, sent) => {
    // The server drops what arrives for 5 s, which may be too short for a busy machine.
    stopTimers(5000);
    const { port } = await sharedApp();
    const received = await Promise.all(Array.from({ length: 20 }, () => writeThenRead(port, sent)));
    for (const one of received) expect(one.match(/HTTP\/1\.1 \d+/g)?.at(-1)).toBe(`HTTP/1.1 ${status}`);
  });
});

test('after a refused body, a connection that sends more and more is closed', async () => {
  stopTimers(5000);
  const { port } = await sharedApp();
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let sent = 0;
  const write = (error?: Error | null): void => {
    if (error || sent > 30_000_000) return;
    sent += filler.length;
    socket.write(filler, write);
  };
  const closed = new Promise((resolve) => socket.on('error', resolve).once('close', resolve));
  socket.write(`${feedback}Content-Length: 1000000000000\r\n\r\n`, write);
  await closed;
  expect(sent).toBeLessThan(30_000_000);
});

test('after a refused body, a connection that stays open and silent is closed', async () => {
  const { port } = await sharedApp();
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.write(`${feedback}Content-Length: 1000000\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  // The server has closed its side: it refuses data only once the connection is closed.
  const closed = new Promise((resolve) => socket.on('error', resolve));
  const writing = setInterval(() => socket.write('x'), 100);
  await closed.finally(() => clearInterval(writing));
});
