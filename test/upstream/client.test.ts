import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../server/upstream/client.ts';
import type { Client, ClientOptions, Reply } from '../../server/upstream/client.ts';
import { stopClock } from '../helpers/clock.ts';
import { listen } from '../helpers/free-port.ts';
import { createUpstream, until } from '../helpers/upstream.ts';
import type { Answer } from '../helpers/upstream.ts';
import { failureOf } from '../helpers/fault-suite.ts';
import { shareAccount } from '../../server/upstream/quota.ts';

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
  const port = await listen(server);
  onTestFinished(() => void server.close());
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
  const advance = stopClock();
  const confirm = async () => void (confirmed += 1);
  const waiting = client.request('POST', '/action', { confirm });
  await until('it is confirmed', () => confirmed === 1);
  advance(501);
  upstream.fail(undefined);
  upstream.server.closeAllConnections();
  expect(await waiting).toMatchObject({ status: 200 });
  await Promise.all(connections);
  expect(confirmed).toBe(2);
  expect(upstream.seen.filter(({ path }) => path === '/base/action')).toHaveLength(1);
});

const minute = 60_000;

/** A request is sent; the oldest one without an answer fails, or is answered at a time with what is left of 40. */
type Event = 'sent' | 'failed' | { readonly at: number; readonly left?: number; readonly retryAfter?: number };
const answered = (at: number, left?: number): Event => (left === undefined ? { at } : { at, left });
const sent = (count: number): Event[] => Array.from({ length: count }, () => 'sent');

const toReply = (headers: Record<string, string>, status = 200): Reply => {
  return { status, statusText: '', headers: new Headers(headers), text: '', describe: () => '' };
};

/** Plays events on the account of a panel, and returns the account at a time. */
async function follow(events: readonly Event[], now: number) {
  const running: PromiseWithResolvers<Reply>[] = [];
  let time = 0;
  const client: Client = {
    request() {
      running.push(Promise.withResolvers<Reply>());
      return running.at(-1)!.promise;
    },
    close: () => Promise.resolve(),
  };
  const account = shareAccount(client, () => time);
  for (const event of events) {
    if (event === 'sent') void account.power.request('POST', '/').catch(() => undefined);
    else if (event === 'failed') running.shift()!.reject(new Error('failed'));
    else {
      time = event.at;
      const { left, retryAfter } = event;
      const limit: Record<string, string> = left === undefined ? {} : { 'x-ratelimit-limit': '40' };
      if (retryAfter === undefined) running.shift()!.resolve(toReply({ ...limit, 'x-ratelimit-remaining': `${left}` }));
      else running.shift()!.resolve(toReply({ ...limit, 'retry-after': `${retryAfter}` }, 429));
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  time = now;
  return { account, running };
}

describe('a quota of 40 requests', () => {
  const rows: [name: string, events: Event[], now: number, leaves: boolean][] = [
    ['is unknown at first', sent(100), 0, true],
    ['is known after an answer', ['sent', answered(5, 39)], 5, true],
    ['has room down to a quarter', ['sent', answered(0, 11)], 1, true],
    ['keeps a quarter', ['sent', answered(0, 10)], 1, false],
    ['counts what runs', ['sent', answered(0, 12), ...sent(2)], 1, false],
    ['counts what runs once', ['sent', answered(0, 12), 'sent', answered(0, 11)], 1, true],
    ['counts a failure as used', ['sent', answered(0, 11), 'sent', 'failed'], 1, false],
    ['lasts a minute from its first answer', ['sent', answered(5, 10)], minute + 4, false],
    ['is full again after its window', ['sent', answered(5, 10)], minute + 5, true],
    ['is not more than full after its window', ['sent', answered(0, 10), ...sent(30)], minute, false],
    ['starts again when more is left', ['sent', answered(0, 10), 'sent', answered(9, 39)], 9, true],
    [
      'lasts a minute from when it started again',
      ['sent', answered(0, 10), 'sent', answered(9, 39), 'sent', answered(10, 10)],
      minute + 8,
      false,
    ],
    [
      'does not grow by answers in another order',
      [...sent(3), answered(0, 10), answered(1, 12), answered(2, 11)],
      3,
      false,
    ],
    ['does not change by an answer without a limit', ['sent', answered(0, 10), 'sent', answered(1)], 2, false],
    ['is empty after a 429', ['sent', answered(0, 39), 'sent', { at: 1, left: 39, retryAfter: 7 }], 7000, false],
    ['ends when a 429 says so', ['sent', answered(0, 39), 'sent', { at: 1, left: 39, retryAfter: 7 }], 7001, true],
    ['ends within a minute', ['sent', { at: 0, left: 0, retryAfter: 3600 }], minute - 1, false],
    ['ends after a minute', ['sent', { at: 0, left: 0, retryAfter: 3600 }], minute, true],
  ];
  test.each(rows)('%s', async (_, events, now, leaves) => {
    const { account, running } = await follow(events, now);
    const before = running.length;
    void account.others.request('GET', '/').catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(running.length > before).toBe(leaves);
  });
});

test.each(['x-ratelimit', 'ratelimit'])('%s: all but power stops at a quarter', async (prefix) => {
  let left = 41;
  const client: Client = {
    request() {
      left -= 1;
      return Promise.resolve(toReply({ [`${prefix}-limit`]: '40', [`${prefix}-remaining`]: String(left) }));
    },
    close: () => Promise.resolve(),
  };
  const account = shareAccount(client, () => 0);
  const count = async (kind: 'others' | 'power'): Promise<number> => {
    const before = left;
    for (let tried = 0; tried < 15; tried += 1) await account[kind].request('GET', '/').catch(() => undefined);
    return before - left;
  };
  expect(account.hasRoom()).toBe(true);
  expect([await count('others'), await count('others'), await count('others')]).toEqual([15, 15, 1]);
  expect(account.hasRoom()).toBe(false);
  expect([await count('others'), await count('power')]).toEqual([0, 15]);
});
