import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openRaw } from '../../helpers/app.ts';
import { stopClock } from '../../helpers/clock.ts';
import { openClient } from '../../helpers/console-client.ts';
import { createTestRelay } from './harness.ts';
import type { TestRelay } from './harness.ts';

const stream = '/v1/hosting/game/console/mc/stream';
const handshake = [
  'Host: localhost',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

/** Sends a raw request, and returns the answer when the server closes. */
async function ask(relay: TestRelay, target: string, headers: readonly string[] = handshake): Promise<string> {
  const { socket, received, closed } = await openRaw(relay.port);
  socket.write(`${target} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
  await closed;
  return received();
}

/** Sends a handshake, and returns the first chunk of the answer. */
async function shake(relay: TestRelay, headers: readonly string[] = handshake): Promise<[Socket, string]> {
  const { socket, received } = await openRaw(relay.port);
  socket.write(`GET ${stream} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
  await once(socket, 'data');
  return [socket, received()];
}

test.for([
  'GET /',
  'GET /v1/blog/list',
  'GET /v1/hosting/game/console/mc/websocket',
  'GET /v1/hosting/game/console/mc/stream/',
  'GET /v1/hosting/game/console//stream',
  'GET /v1/hosting/game/console/a/b/stream',
  'GET /v1/hosting/game/console/../mc/stream',
  'GET /v1/hosting/game/console/%6dc/stream',
  'GET /v1/hosting/game/console/.hidden/stream',
  'GET /v1/hosting/game/console/vps:mc/stream',
  `GET /v1/hosting/game/console/${'x'.repeat(129)}/stream`,
  'GET /V1/hosting/game/console/mc/stream',
  'GET /v1/hosting/game/console/mc/STREAM',
  `POST ${stream}`,
  `HEAD ${stream}`,
  `OPTIONS ${stream}`,
])('%s is not a websocket endpoint: 404 as JSON, and the connection is closed', async (target) => {
  const relay = await createTestRelay();
  const answer = await ask(relay, target);
  const [head, body] = answer.split('\r\n\r\n');
  expect(head!.split('\r\n')).toEqual([
    'HTTP/1.1 404 Not Found',
    'Content-Type: application/json',
    `Content-Length: ${body!.length}`,
    'Cache-Control: no-store',
    expect.stringMatching(/^X-Request-Id: [0-9a-f-]{36}$/),
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ]);
  expect(body).toBe('{"success":false,"error":"not_found","message":"Endpoint not found"}\n');
  expect(relay.relay.stats().connections).toBe(0);
});

test('a refused client that keeps its side of the connection open is disconnected', async () => {
  const relay = await createTestRelay();
  const { socket } = await openRaw(relay.port, { allowHalfOpen: true });
  socket.write(`GET /elsewhere HTTP/1.1\r\n${handshake.join('\r\n')}\r\n\r\n`);
  await once(socket, 'end');
  // The client notices the closed peer at its second write.
  const writing = setInterval(() => socket.write('more'), 5);
  await expect.poll(() => socket.closed).toBe(true);
  clearInterval(writing);
});

test.for<[string, string[]]>([
  ['no key', handshake.slice(0, 4)],
  ['an invalid key', [...handshake.slice(0, 4), 'Sec-WebSocket-Key: short']],
  ['another version', [...handshake.slice(0, 3), 'Sec-WebSocket-Version: 12', handshake[4]!]],
  ['two versions', [...handshake, 'Sec-WebSocket-Version: 13']],
  ['two equal subprotocols', [...handshake, 'Sec-WebSocket-Protocol: chat, chat']],
  ['an empty subprotocol', [...handshake, 'Sec-WebSocket-Protocol: chat,,']],
  ['an invalid subprotocol', [...handshake, 'Sec-WebSocket-Protocol: (chat)']],
])('a handshake with %s is 400 as JSON', async ([, headers]) => {
  const relay = await createTestRelay();
  const answer = await ask(relay, `GET ${stream}`, [...headers, 'X-Request-Id: order-4711']);
  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(answer).toContain('\r\nX-Request-Id: order-4711\r\nX-Content-Type-Options: nosniff\r\n');
  expect(answer).toContain('\r\nSec-WebSocket-Version: 13\r\n');
  expect(answer).toMatch(/\{"success":false,"error":"validation_error","message":"[^"]+"\}\n$/);
});

test('an upgrade to another protocol is served as plain HTTP', async () => {
  const relay = await createTestRelay();
  const headers = ['Host: localhost', 'Connection: Upgrade, close', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'];
  expect(await ask(relay, 'GET /v1/blog/list', headers)).toMatch(/^HTTP\/1\.1 200 OK[^]*plain \/v1\/blog\/list/);
  expect(await (await fetch(`http://127.0.0.1:${relay.port}${stream}`)).text()).toBe(`plain ${stream}`);
});

test('a stream accepts any Origin, Host and query, and returns its request id', async () => {
  const relay = await createTestRelay();
  const url = relay.url().replace('127.0.0.1', 'localhost');
  for (const address of [url, `${url}?x=1`]) {
    const client = await openClient(address, { origin: 'https://example.com', family: 4 });
    expect(await client.auth(await relay.token())).toEqual(['auth success']);
  }
  const [, answer] = await shake(relay, [...handshake, 'X-Request-Id: my-request']);
  expect(answer).toMatch(/^HTTP\/1\.1 101 [^]*\r\nX-Request-Id: my-request\r\nX-Content-Type-Options: nosniff\r\n/);
});

test('the standard WebSocket client works', async () => {
  const relay = await createTestRelay();
  const socket = new WebSocket(relay.url());
  onTestFinished(() => socket.close());
  const next = async () => ((await once(socket, 'message')) as [MessageEvent<string>])[0].data;
  await once(socket, 'open');
  socket.send(JSON.stringify({ event: 'auth', args: [await relay.token()] }));
  expect(await next()).toBe('{"event":"auth success","args":[]}');
  relay.sources[0]!.line('ü'.repeat(100_000));
  expect(await next()).toBe(JSON.stringify({ event: 'console output', args: ['ü'.repeat(65_536)] }));
});

test('compression is never negotiated', async () => {
  const relay = await createTestRelay();
  const client = await relay.connect('mc', { perMessageDeflate: true });
  expect(client.socket.extensions).toBe('');
  expect(await client.auth(await relay.token())).toEqual(['auth success']);
});

test('upgrades count against the rate limit of the client', async () => {
  const relay = await createTestRelay({ upgrades: 2 });
  stopClock();
  await relay.connect();
  await relay.connect();
  const answer = await ask(relay, `GET ${stream}`);
  expect(answer).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/);
  expect(answer).toMatch(/\r\nRetry-After: 1\r\n/);
  expect(answer).toMatch(/\r\nRateLimit: "default";r=0;t=1\r\n/);
  expect(answer).toMatch(/\{"success":false,"error":"rate_limited","message":"Rate limit exceeded"\}\n$/);
});

test('all clients and keys together have a limit of connections', async () => {
  const relay = await createTestRelay({ limits: { connections: 2 } });
  const first = await relay.connect();
  await first.auth(await relay.token());
  await relay.connect('mc', { localAddress: '127.0.0.2' });
  expect(await ask(relay, `GET ${stream}`)).toMatch(/^HTTP\/1\.1 429 /);
});

test('each client has a limit of unauthenticated connections', async () => {
  const relay = await createTestRelay({ limits: { unauthenticated: 2 } });
  await relay.open();
  const first = await relay.connect();
  await relay.connect();
  expect(await ask(relay, `GET ${stream}`)).toMatch(/^HTTP\/1\.1 429 /);
  await first.auth(await relay.token());
  const third = await relay.connect();
  expect(await ask(relay, `GET ${stream}`)).toMatch(/^HTTP\/1\.1 429 /);
  third.socket.terminate();
  await expect.poll(() => relay.relay.stats().connections).toBe(3);
  await relay.connect();
});

test('the log has a line for each stream and refusal, without tokens', async () => {
  const relay = await createTestRelay();
  const token = await relay.token();
  const client = await openClient(`${relay.url()}?token=${token}`, { headers: { 'X-Request-Id': 'the-stream' } });
  await client.auth(token);
  client.socket.close(1000);
  await ask(relay, `GET /v1/elsewhere?token=${token}`);
  await expect.poll(() => relay.log()).toHaveLength(2);
  expect(relay.log().toSorted((one, other) => String(one.msg).localeCompare(String(other.msg)))).toMatchObject([
    { msg: 'console stream closed', id: 'the-stream', ip: '127.0.0.1', server: 'game:mc', key: 'key', code: 1000 },
    { msg: 'upgrade refused', ip: '127.0.0.1', method: 'GET', url: '/v1/elsewhere', status: 404 },
  ]);
  expect(JSON.stringify(relay.log())).not.toContain(token.split('.')[1]);
});

test('only clients that answer pings stay connected', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const relay = await createTestRelay();
  const alive = await relay.open();
  const [dead] = await shake(relay);
  expect(relay.relay.stats().connections).toBe(2);
  const closed = once(dead, 'close');
  for (let pings = 0; pings < 4; pings += 1) {
    const ping = once(alive.socket, 'ping');
    vi.advanceTimersByTime(30_000);
    await ping;
    await alive.roundTrip();
  }
  await closed;
  await expect.poll(() => relay.relay.stats().connections).toBe(1);
  relay.sources[0]!.line('still here');
  expect(await alive.next()).toEqual(['console output', 'still here']);
});

test('connections that are reset during the handshake do no harm', async () => {
  const relay = await createTestRelay();
  const request = `GET ${stream} HTTP/1.1\r\n${handshake.join('\r\n')}\r\n\r\n`;
  for (const text of [request, request.replace('/mc/', '/mc/x/'), request.slice(0, -10), `${request}\u0081\u0085`]) {
    const { socket, closed } = await openRaw(relay.port);
    socket.write(text, 'latin1', () => socket.resetAndDestroy());
    await closed;
  }
  const client = await relay.open();
  await expect.poll(() => relay.relay.stats().connections).toBe(1);
  await client.roundTrip();
});

test('a shutdown closes all streams with 1012, and ends the server', async () => {
  const relay = await createTestRelay();
  const clients = [await relay.open(), await relay.open({ server: 'other' }), await relay.connect()];
  const [silent] = await shake(relay);
  await relay.stop();
  for (const { ended } of clients) {
    expect(await ended).toEqual({ code: 1012, reason: 'service restart' });
  }
  expect(silent.readableEnded || silent.destroyed || silent.closed).toBe(true);
  expect(relay.sources.map(({ closed }) => closed)).toEqual([true, true]);
  expect(relay.relay.stats()).toEqual({ connections: 0, viewers: 0, upstreams: 0 });
});

test('a connection during shutdown is closed with 1012', async () => {
  const relay = await createTestRelay();
  relay.relay.close();
  const client = await relay.connect();
  expect(await client.ended).toEqual({ code: 1012, reason: 'service restart' });
  await expect.poll(() => relay.relay.stats().connections).toBe(0);
});
