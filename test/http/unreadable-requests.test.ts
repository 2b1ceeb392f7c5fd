import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { listenOn } from '../../server/http/listen.ts';
import { sharedApp } from '../server/shared.ts';

/** Sends bytes and returns everything received until the server closes. */
async function send(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
  socket.write(bytes);
  await once(socket, 'close');
  return answer;
}

const get = 'GET /v1/info HTTP/1.1\r\nHost: x\r\n';

test.each([
  ['no HTTP', 'hello\r\n\r\n', '400 Bad Request'],
  ['an unknown method', 'FOO /health HTTP/1.1\r\nHost: x\r\n\r\n', '400 Bad Request'],
  ['a header without a name', `${get}: x\r\n\r\n`, '400 Bad Request'],
  ['two lengths', `${get}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, '400 Bad Request'],
  [
    'a target of 20 kB',
    `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    '431 Request Header Fields Too Large',
  ],
])('%s is answered with the common headers alone', async (_, bytes, status) => {
  const { port } = await sharedApp();
  const [line, ...headers] = (await send(port, bytes)).split('\r\n');
  expect(line).toBe(`HTTP/1.1 ${status}`);
  expect(headers).toEqual([
    expect.stringMatching(/^X-Request-Id: [0-9a-f-]{36}$/),
    'X-Content-Type-Options: nosniff',
    'Content-Length: 0',
    'Connection: close',
    '',
    '',
  ]);
});

test('garbage after a request does not damage its answer', async () => {
  const size = 3_000_000;
  const server = await listenOn(
    (_, response) => {
      response.writeHead(200, { 'Content-Length': String(size) }).end(Buffer.alloc(size, 'x'));
    },
    { host: '127.0.0.1', port: 0, stalledMs: 60_000 },
  );
  onTestFinished(() => server.drain(0));
  const answer = await send(Number(new URL(server.url).port), `${get}\r\nnonsense\r\n\r\n`);
  expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe('x'.repeat(size));
});
