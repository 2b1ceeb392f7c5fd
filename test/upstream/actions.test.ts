import { createServer as createHttpsServer } from 'node:https';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createActionClient } from '../../server/upstream/actions.ts';
import { openUpstream } from '../../server/upstream/client.ts';
import type { UpstreamOptions } from '../../server/upstream/client.ts';
import { stopTimeouts } from '../helpers/clock.ts';
import { failureOf } from '../helpers/fault-suite.ts';
import { listen } from '../helpers/free-port.ts';
import { createCertificates } from '../helpers/upstream-tls.ts';
import { createUpstream } from '../helpers/upstream.ts';
import type { Answer } from '../helpers/upstream.ts';

const secret = 'a-credential-of-ours';

async function prepare(answer: Answer = { status: 200 }, options: Partial<UpstreamOptions> = {}) {
  const upstream = await createUpstream(() => answer);
  const headers = { authorization: `Bearer ${secret}` };
  const client = createActionClient(
    openUpstream({ name: 'panel', baseUrl: upstream.url, headers, timeoutMs: 20_000, ...options }),
  );
  onTestFinished(() => client.close());
  return { upstream, client };
}

/** Starts an HTTPS server that begins the handshake of each connection late. */
async function prepareSlowHandshake(handshakeMs: number, timeoutMs: number) {
  const { ca, key, cert } = createCertificates();
  const events: string[] = [];
  const secure = createHttpsServer({ key, cert }, (request, response) => {
    events.push(`${request.method} ${request.url}`);
    response.end();
  });
  const server = createServer((socket) => {
    events.push('connection');
    const timer = setTimeout(() => secure.emit('connection', socket), handshakeMs);
    socket.on('error', () => undefined).on('close', () => clearTimeout(timer));
  });
  const port = await listen(server);
  const client = createActionClient(
    openUpstream({ name: 'panel', baseUrl: `https://127.0.0.1:${port}`, headers: {}, timeoutMs, ca }),
  );
  onTestFinished(async () => {
    server.close();
    await client.close();
  });
  return { client, events };
}

test('an action whose handshake takes 900 ms is confirmed after it, and sent once', async () => {
  const { client, events } = await prepareSlowHandshake(900, 20_000);
  const confirm = async () => void events.push('confirmed');
  expect(await client.post('/action', { confirm })).toMatchObject({ status: 200 });
  expect(events).toEqual(['connection', 'confirmed', 'POST /action']);
});

test('an action whose handshake takes longer than its time limit is not sent', async () => {
  const { client, events } = await prepareSlowHandshake(500, 200);
  const confirm = async () => void events.push('confirmed');
  expect(await failureOf(client.post('/action', { confirm }))).toMatchObject({ outcome: 'refused' });
  await sleep(500);
  expect(events).toEqual(['connection']);
});

test('an action whose confirmation takes longer than its time limit is not sent', async () => {
  const { upstream, client } = await prepare();
  const advance = stopTimeouts();
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const confirm = async (): Promise<void> => {
    asked.resolve();
    await answered.promise;
  };
  const failure = failureOf(client.post('/action', { confirm }));
  await asked.promise;
  advance(20_000);
  expect(await failure).toMatchObject({ outcome: 'refused' });
  answered.resolve();
  await client.post('/next');
  expect(upstream.seen.map(({ path }) => path)).toEqual(['/next']);
});

test('a rejected confirmation is the error of the action, which is not sent', async () => {
  const { upstream, client } = await prepare();
  const reason = new Error('the key was revoked');
  await expect(client.post('/action', { confirm: () => Promise.reject(reason) })).rejects.toBe(reason);
  await client.post('/next');
  expect(upstream.seen.map(({ path }) => path)).toEqual(['/next']);
});

test.each([307, 408, 421, 425, 429, 500, 502, 503, 504])(
  'an action with the answer %i is sent once',
  async (status) => {
    const { upstream, client } = await prepare({ status, headers: { location: '/elsewhere', 'retry-after': '0' } });
    await client.post('/action').catch(() => undefined);
    expect(upstream.seen.map(({ path }) => path)).toEqual(['/action']);
  },
);

test('each action has a connection of its own', async () => {
  const { upstream, client } = await prepare();
  let connections = 0;
  upstream.server.on('connection', () => (connections += 1));
  await client.post('/one');
  await client.post('/two');
  expect(connections).toBe(2);
});

test('a body is JSON, and an action may have none', async () => {
  const { upstream, client } = await prepare();
  await client.post('/x', { body: { a: 'ü' }, headers: { 'x-more': '1' } });
  await client.post('/x');
  expect(upstream.seen.map(({ body }) => body)).toEqual(['{"a":"ü"}', '']);
  const json = { 'content-type': 'application/json', 'content-length': '10', 'x-more': '1' };
  expect(upstream.seen[0]!.headers).toMatchObject(json);
  expect(upstream.seen[1]!.headers).toMatchObject({ 'content-length': '0' });
  expect(upstream.seen[1]!.headers).not.toHaveProperty('content-type');
});

test('an answer without a body is empty', async () => {
  const { client } = await prepare({ status: 204 });
  expect(await client.post('/x')).toMatchObject({ status: 204, text: '' });
});

test('an answer of 101 is a failure with an unknown outcome', async () => {
  const { upstream, client } = await prepare();
  upstream.server.removeAllListeners('request');
  upstream.server.on('request', (_, response) =>
    response.socket!.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  );
  expect(await failureOf(client.post('/x'))).toMatchObject({ outcome: 'unknown' });
});

test('an action that timed out while it waited for a free connection is never sent', async () => {
  const { upstream, client } = await prepare();
  const advance = stopTimeouts();
  const running = Array.from({ length: 32 }, () => {
    const arrived = upstream.hold();
    return { arrived, failure: failureOf(client.post('/running', { timeoutMs: 60_000 })) };
  });
  await Promise.all(running.map(({ arrived }) => arrived));
  const late = failureOf(client.post('/late'));
  advance(20_000);
  expect(await late).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
  upstream.server.closeAllConnections();
  for (const { failure } of running) expect((await failure).outcome).toBe('unknown');
  await client.post('/after');
  expect(upstream.seen.map(({ path }) => path)).not.toContain('/late');
});

test('closing the client ends running actions, and sends none that waits for a connection', async () => {
  const { upstream, client } = await prepare();
  const running = Array.from({ length: 32 }, () => {
    const arrived = upstream.hold();
    return { arrived, failure: failureOf(client.post('/running')) };
  });
  await Promise.all(running.map(({ arrived }) => arrived));
  const late = failureOf(client.post('/late'));
  await client.close();
  for (const { failure } of running) expect((await failure).outcome).toBe('unknown');
  expect(await late).toMatchObject({ outcome: 'refused' });
  expect(await failureOf(client.post('/late'))).toMatchObject({ outcome: 'refused' });
  expect(upstream.seen.map(({ path }) => path)).not.toContain('/late');
});

test('the detail of an unknown host name is for the log only', async () => {
  const { client } = await prepare({ status: 200 }, { baseUrl: 'http://panel.invalid' });
  const error = await failureOf(client.post('/x'));
  expect(error).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
  expect(String(error.cause)).toContain('panel.invalid');
});

test('a thrown error holds no request and so no credential', async () => {
  const { upstream, client } = await prepare();
  upstream.fail('drop');
  const error = await failureOf(client.post('/x'));
  const { cause } = error as { cause: Error };
  expect(Object.getOwnPropertyNames(cause).toSorted()).toEqual(['message', 'stack']);
  expect(`${cause.message}${cause.stack}`).not.toContain(secret);
});
