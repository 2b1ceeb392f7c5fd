import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { probe } from '../../server/status/monitors.ts';
import { listen } from '../helpers/free-port.ts';
import { createUpstream, until } from '../helpers/upstream.ts';
import type { Answer, Fault } from '../helpers/upstream.ts';
import { createCertificates } from '../helpers/upstream-tls.ts';

const running = new AbortController().signal;
const options = { timeoutMs: 10_000, signal: running };

/** A TCP server that sends nothing. */
async function createSilent() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket.on('error', () => {})));
  const port = await listen(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, address: `127.0.0.1:${port}`, sockets };
}

describe('a URL', () => {
  test.each([200, 204, 301, 302, 304, 308])('passes with status %i', async (status) => {
    const upstream = await createUpstream(() => ({ status, headers: { location: '/elsewhere' } }));
    expect(await probe({ url: `${upstream.url}/health?a=1` }, options)).toBeUndefined();
    expect(upstream.seen.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /health?a=1']);
  });

  test.each([400, 401, 404, 429, 500, 503])('fails with status %i', async (status) => {
    const upstream = await createUpstream(() => ({ status }));
    expect(await probe({ url: upstream.url }, options)).toBe(`status ${status}`);
  });

  const answer = (): Answer => ({ status: 200 });
  const faults: readonly (readonly [Fault & string, RegExp])[] = [
    ['hang', /^no answer within 300 ms$/],
    ['drop', /\(ECONNRESET\)$/],
    ['garbage', /\(HPE_/],
  ];
  test.each(faults)('fails with the fault %s', async (fault, reason) => {
    const upstream = await createUpstream(answer);
    upstream.fail(fault);
    expect(await probe({ url: upstream.url }, { ...options, timeoutMs: fault === 'hang' ? 300 : 10_000 })).toMatch(
      reason,
    );
  });

  test.each(['stall', 'cut'] as const)('passes by the status alone, with the body fault %s', async (fault) => {
    const upstream = await createUpstream(answer);
    upstream.fail(fault);
    expect(await probe({ url: upstream.url }, options)).toBeUndefined();
  });

  test('passes without reading a body of 50 MB', async () => {
    const upstream = await createUpstream(answer);
    upstream.fail('huge');
    expect(await probe({ url: upstream.url }, options)).toBeUndefined();
    await until('the answer is aborted', () => upstream.wasLeft());
  });

  test('fails for a closed port and an unknown host', async () => {
    const upstream = await createUpstream(answer);
    await upstream.stop();
    expect(await probe({ url: upstream.url }, options)).toMatch(/\(ECONNREFUSED\)$/);
    expect(await probe({ url: 'http://nowhere.invalid/' }, options)).toMatch(/\(E|^no answer/);
  });

  test('fails with an untrusted certificate', async () => {
    const upstream = await createUpstream(answer, { tls: createCertificates() });
    expect(await probe({ url: upstream.url }, options)).toMatch(/CERT|SIGNATURE/);
  });

  test('uses a new connection for each check', async () => {
    const upstream = await createUpstream(answer);
    let connections = 0;
    upstream.server.on('connection', () => (connections += 1));
    await probe({ url: upstream.url }, options);
    await probe({ url: upstream.url }, options);
    expect(connections).toBe(2);
  });

  test('fails for status 101 and for an invalid URL', async () => {
    const { server, address } = await createSilent();
    server.on('connection', (socket: Socket) =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    );
    expect(await probe({ url: `http://${address}/` }, options)).toBe('status 101');
    expect(await probe({ url: 'http://' }, options)).toMatch(/\(ERR_INVALID_URL\)$/);
  });
});

test('a TCP address that accepts a connection passes, and the connection is closed', async () => {
  const { address, sockets } = await createSilent();
  expect(await probe({ tcp: address }, options)).toBeUndefined();
  await until('the connection is closed', () => sockets[0]?.readableEnded === true || sockets[0]?.destroyed === true);
});

test('a TCP address fails for a closed port, an unknown host and an invalid address', async () => {
  const { server, address } = await createSilent();
  server.close();
  await once(server, 'close');
  expect(await probe({ tcp: address }, options)).toMatch(/\(ECONNREFUSED\)$/);
  expect(await probe({ tcp: 'nowhere.invalid:1' }, options)).toMatch(/\(E|^no answer/);
  expect(await probe({ tcp: 'a:99999' }, options)).toMatch(/\(ERR_SOCKET_BAD_PORT\)$/);
  expect(await probe({}, options)).toMatch(/\(E/);
});

test('an aborted check fails at once', async () => {
  const upstream = await createUpstream(() => ({ status: 200 }));
  const arrived = upstream.hold();
  const ending = new AbortController();
  const checking = probe({ url: upstream.url }, { timeoutMs: 60_000, signal: ending.signal });
  await arrived;
  ending.abort();
  expect(await checking).toMatch(/^AbortError/);
});
