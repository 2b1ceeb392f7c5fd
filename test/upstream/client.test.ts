import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../server/upstream/client.ts';
import type { ClientOptions } from '../../server/upstream/client.ts';
import { createUpstream, until } from '../helpers/upstream.ts';
import type { Answer } from '../helpers/upstream.ts';
import { failureOf } from '../helpers/fault-suite.ts';

const secret = 'a-credential-of-ours';

async function prepare(answer: Answer = { status: 200 }, options: Partial<ClientOptions> = {}) {
  const upstream = await createUpstream(() => answer);
  const headers = { authorization: `Bearer ${secret}` };
  const client = createClient({ baseUrl: `${upstream.url}/base`, headers, timeoutMs: 20_000, ...options });
  onTestFinished(() => client.close());
  return { upstream, client };
}

test('an answer with any status is returned unchanged', async () => {
  const { client } = await prepare({
    status: 418,
    reason: 'Short and stout',
    headers: { 'x-pot': 'tea' },
    body: 'ünï',
  });
  const reply = await client.request('GET', '/pot');
  expect(reply).toMatchObject({ status: 418, statusText: 'Short and stout', text: 'ünï' });
  expect(reply.headers.get('x-pot')).toBe('tea');
  expect(reply.describe()).toMatch(/^GET http:\/\/127\.0\.0\.1:\d+\/base\/pot: 418 Short and stout: ünï$/);
});

test.each([300, 302, 399])('status %i is a failure, or a reply for a client that follows redirects', async (status) => {
  const { client } = await prepare({ status });
  const error = await failureOf(client.request('GET', '/x'));
  expect(error.outcome).toBe('unknown');
  expect(String(error.cause)).toContain(`${status}, a redirect`);
  const { client: follower } = await prepare({ status }, { redirects: 'reply' });
  expect(await follower.request('GET', '/x')).toMatchObject({ status });
});

test.each([299, 400])('status %i is no redirect', async (status) => {
  const { client } = await prepare({ status });
  expect(await client.request('GET', '/x')).toMatchObject({ status });
});

test('an answer without a body is empty', async () => {
  const { client } = await prepare({ status: 204 });
  expect(await client.request('POST', '/x')).toMatchObject({ status: 204, text: '' });
});

test('connections are reused', async () => {
  const { upstream, client } = await prepare({ status: 200, body: 'ok' });
  let connections = 0;
  upstream.server.on('connection', () => (connections += 1));
  for (let count = 0; count < 5; count += 1) await client.request('POST', '/x', { body: { count } });
  expect(upstream.seen).toHaveLength(5);
  // The first connection may still finish its exchange when the next request starts.
  expect(connections).toBeLessThan(3);
});

test('bodies are JSON or a form, and headers can be added', async () => {
  const { upstream, client } = await prepare();
  await client.request('POST', '/x', { body: { a: 'ü' }, headers: { 'x-more': '1' } });
  await client.request('POST', '/x', { body: new URLSearchParams({ a: 'b c' }) });
  expect(upstream.seen.map(({ body }) => body)).toEqual(['{"a":"ü"}', 'a=b+c']);
  expect(upstream.seen[0]!.headers).toMatchObject({ 'content-type': 'application/json', 'x-more': '1' });
  expect(upstream.seen[1]!.headers['content-type']).toContain('application/x-www-form-urlencoded');
});

test('a path is sent unchanged', async () => {
  const { upstream, client } = await prepare();
  await client.request('GET', '/a%2f..%2fb?q=%2e');
  expect(upstream.seen[0]!.path).toBe('/base/a%2f..%2fb?q=%2e');
});

test('an echoed credential is redacted', async () => {
  const { client } = await prepare({ status: 500, reason: `no ${secret}`, body: `token ${secret} is wrong` });
  const reply = await client.request('GET', '/x');
  expect(reply.text).toBe('token [redacted] is wrong');
  expect(reply.describe()).not.toContain(secret);
});

test('a body may have exactly the allowed length', async () => {
  const { client } = await prepare({ status: 200, body: 'x'.repeat(1000) }, { maxBytes: 1000 });
  expect((await client.request('GET', '/x')).text).toHaveLength(1000);
  expect(await failureOf(client.request('GET', '/x', { maxBytes: 999 }))).toMatchObject({ outcome: 'unknown' });
});

test('a compressed answer is not unpacked beyond the limit', async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  const { upstream, client } = await prepare();
  upstream.server.removeAllListeners('request');
  upstream.server.on('request', (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
  const error = await failureOf(client.request('GET', '/x'));
  expect(error.outcome).toBe('unknown');
  expect(String(error.cause)).toContain('more bytes than are read');
});

test('a request that timed out while it waited for a free connection is never sent', async () => {
  const { upstream, client } = await prepare();
  upstream.fail('hang');
  const running = Array.from({ length: 32 }, () => failureOf(client.request('POST', '/running')));
  await until('all connections are busy', () => upstream.seen.length === 32);
  const late = await failureOf(client.request('POST', '/late', { timeoutMs: 100 }));
  expect(late).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
  upstream.server.closeAllConnections();
  for (const error of await Promise.all(running)) expect(error.outcome).toBe('unknown');
  upstream.fail(undefined);
  await client.request('GET', '/after');
  expect(upstream.seen.map(({ path }) => path)).not.toContain('/base/late');
});

test('a server that never finishes the TLS handshake gets no request', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { client } = await prepare({ status: 200 }, { baseUrl: `https://127.0.0.1:${port}`, timeoutMs: 300 });
  expect(await failureOf(client.request('POST', '/x'))).toMatchObject({ outcome: 'refused' });
});

test('an unknown host name appears in the log only', async () => {
  const { client } = await prepare({ status: 200 }, { baseUrl: 'http://panel.invalid' });
  const error = await failureOf(client.request('POST', '/x'));
  expect(error).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
  expect(String(error.cause)).toContain('panel.invalid');
});

test('a thrown error holds no request and so no credential', async () => {
  const { upstream, client } = await prepare();
  upstream.fail('drop');
  const error = await failureOf(client.request('POST', '/x'));
  const { cause } = error as { cause: Error };
  expect(Object.getOwnPropertyNames(cause).toSorted()).toEqual(['message', 'stack']);
  expect(`${cause.message}${cause.stack}`).not.toContain(secret);
});

test('a request that waits long for a connection is confirmed again, and sent once', async () => {
  const { upstream, client } = await prepare();
  upstream.fail('hang');
  const connections = Array.from({ length: 32 }, () => client.request('GET', '/hang').catch(() => 'failed'));
  await until('all connections are taken', () => upstream.seen.length === 32);
  let confirmed = 0;
  const confirm = async () => void (confirmed += 1);
  const waiting = client.request('POST', '/action', { confirm });
  await until('it is confirmed', () => confirmed === 1);
  await sleep(600);
  upstream.fail(undefined);
  upstream.server.closeAllConnections();
  expect(await waiting).toMatchObject({ status: 200 });
  await Promise.all(connections);
  expect(confirmed).toBe(2);
  expect(upstream.seen.filter(({ path }) => path === '/base/action')).toHaveLength(1);
});
