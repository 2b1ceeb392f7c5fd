import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { describeListenError, listenOn } from '../../server/http/listen.ts';
import { openRaw } from '../helpers/app.ts';
import { findFreePort } from '../helpers/free-port.ts';

/** Sends bytes and returns everything received until the server closes. */
async function send(port: number, bytes: string): Promise<string> {
  const { socket, received, closed } = await openRaw(port);
  socket.write(bytes);
  await closed;
  return received();
}

async function listen(listener: RequestListener, port = 0): Promise<number> {
  const server = await listenOn(listener, { host: '127.0.0.1', port, stalledMs: 60_000, idleMs: 60_000 });
  onTestFinished(() => server.drain(0));
  return Number(new URL(server.url).port);
}

/** Starts a server that answers each request with its target, 200 ms after the body. */
const openSlow = (): Promise<number> =>
  listen((request, response) => {
    request.resume();
    request.on('end', () => setTimeout(() => response.end(`done ${request.url};`), 200));
  });

const post = (target: string, body = ''): string =>
  `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

describe('an accepted request', () => {
  test.each([
    ['no HTTP', 'nonsense\r\n\r\n'],
    ['a body longer than its length', 'more'],
    ['a broken request', 'GET /b HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n'],
    ['a request with a broken body', 'POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n'],
    ['20 kB of headers', `GET /${'b'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ])('is answered if %s follows, then the connection closes', async (_, junk) => {
    const answer = await send(await openSlow(), `${post('/a', 'body')}${junk}`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain('done /a;');
    expect(answer).not.toContain('done /b;');
  });

  test('is answered before later junk, and after a half-close', async () => {
    const { socket, received } = await openRaw(await openSlow(), { allowHalfOpen: true });
    socket.write(post('/a'));
    setTimeout(() => socket.write('nonsense\r\n\r\n'), 50);
    setTimeout(() => socket.end('more nonsense\r\n\r\n'), 100);
    await once(socket, 'end');
    expect(received()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*done \/a;$/);
    expect(received()).toMatch(/^Connection: close\r$/m);
  });

  test('is answered after the client closes its side', async () => {
    const { socket, received } = await openRaw(await openSlow(), { allowHalfOpen: true });
    socket.end(post('/a'));
    await once(socket, 'end');
    expect(received()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*done \/a;$/);
  });

  test('is answered, like all requests pipelined before the junk', async () => {
    const answer = await send(await openSlow(), `${post('/a')}${post('/b')}${post('/c')}nonsense\r\n\r\n`);
    expect(answer.match(/HTTP\/1\.1 \d+|done \/\w/g)).toEqual(
      ['a', 'b', 'c'].flatMap((name) => ['HTTP/1.1 200', `done /${name}`]),
    );
  });
});

test('a request with a broken body is refused at once', async () => {
  const chunked = 'POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n';
  const answer = await send(await openSlow(), chunked);
  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(answer.endsWith(renderProblem('json', 'validation_error', 'This is not a valid HTTP request'))).toBe(true);
});

test('garbage after a request does not damage the answer', async () => {
  const size = 3_000_000;
  const port = await listen((_, response) => {
    response.writeHead(200, { 'Content-Length': String(size) }).end(Buffer.alloc(size, 'x'));
  });
  const answer = await send(port, 'GET /v1/info HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n');
  expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe('x'.repeat(size));
});

test('a server refuses a port that browsers block', async () => {
  const port = await findFreePort();
  expect(await listen(() => {}, port)).toBe(port);
  await expect(listen(() => {}, 6000)).rejects.toThrow('PORT: browsers block port 6000; choose another');
});

// These cannot be caused on every machine; test/slow/http/refusal.test.ts causes the others.
test.each([
  ['EACCES', 'PORT: this user may not listen on port 80; choose a port above 1023, or grant CAP_NET_BIND_SERVICE'],
  ['EMFILE', 'cannot listen on port 80 of 127.0.0.1 (EMFILE)'],
])('an unusable address is named with the reason %s', (code, message) => {
  expect(describeListenError(code, { host: '127.0.0.1', port: 80 })).toBe(message);
});
