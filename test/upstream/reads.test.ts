import type { LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openUpstream } from '../../server/upstream/client.ts';
import type { UpstreamOptions } from '../../server/upstream/client.ts';
import { createQuota } from '../../server/upstream/quota.ts';
import { createReadClient } from '../../server/upstream/reads.ts';
import { stopClock, stopTimeouts } from '../helpers/clock.ts';
import { failureOf } from '../helpers/fault-suite.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { createUpstream } from '../helpers/upstream.ts';
import type { Answer, Fault } from '../helpers/upstream.ts';

const secret = 'a-credential-of-ours';

async function prepare(answer: Answer = { status: 200 }, options: Partial<UpstreamOptions> = {}) {
  const upstream = await createUpstream(() => answer);
  const headers = { authorization: `Bearer ${secret}` };
  const client = createReadClient(
    openUpstream({ name: 'panel', baseUrl: `${upstream.url}/base`, headers, timeoutMs: 20_000, ...options }),
  );
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

test.each([300, 302, 399])('a redirect (%i) is not followed, and described with its target', async (status) => {
  const { upstream, client } = await prepare({ status, headers: { location: '/login?token=x' } });
  const reply = await client.request('GET', '/x');
  expect(reply.describe()).toMatch(new RegExp(`/x: ${status} [\\w ]+, a redirect to /login$`));
  expect(upstream.seen).toHaveLength(1);
});

test('a host whose addresses all fail is reported with the reason of each', async () => {
  const lookup: LookupFunction = (_, __, callback) =>
    callback(
      null,
      ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 })),
    );
  const { client } = await prepare({ status: 200 }, { baseUrl: `http://two.example:${await findFreePort()}`, lookup });
  const { cause } = await failureOf(client.request('GET', '/x', { retry: false }));
  expect(String(cause)).toMatch(/ECONNREFUSED 127\.0\.0\.1:.*ECONNREFUSED 127\.0\.0\.2:/);
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
  expect(String(error.cause)).toContain('a body that is too large');
});

test('a body that cannot be decompressed is a failure with an unknown outcome', async () => {
  const { upstream, client } = await prepare({ status: 200, headers: { 'content-encoding': 'gzip' }, body: 'no gzip' });
  expect(await failureOf(client.request('GET', '/x'))).toMatchObject({ outcome: 'unknown' });
  expect(upstream.seen).toHaveLength(2);
});

test('a host name is resolved by the given look-up', async () => {
  const { upstream } = await prepare();
  const { port } = new URL(upstream.url);
  const lookup: LookupFunction = (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
  const { client } = await prepare({ status: 200 }, { baseUrl: `http://rdap.invalid:${port}`, lookup });
  expect(await client.request('GET', '/x')).toMatchObject({ status: 200 });
  expect(upstream.seen).toHaveLength(1);
});

test('a thrown error holds no request and so no credential', async () => {
  const { upstream, client } = await prepare();
  upstream.fail('drop');
  const error = await failureOf(client.request('GET', '/x'));
  const { cause } = error as { cause: Error };
  expect(Object.getOwnPropertyNames(cause).toSorted()).toEqual(['message', 'stack']);
  expect(`${cause.message}${cause.stack}`).not.toContain(secret);
});

test('closing the client ends running reads, and refuses later ones', async () => {
  const { upstream, client } = await prepare();
  const arrived = upstream.hold();
  const running = failureOf(client.request('GET', '/x'));
  await arrived;
  await client.close();
  expect(String((await running).cause)).toContain('the client is closed');
  expect(await failureOf(client.request('GET', '/x'))).toMatchObject({ outcome: 'refused' });
  expect(upstream.seen).toHaveLength(1);
});

describe.each(['GET', 'POST'] as const)('a %s', (method) => {
  const lost: readonly Fault[] = ['drop', 'cut', 'garbage', ...[500, 502, 503, 504].map((status) => ({ status }))];

  test.each(lost)('is sent again after %j, and the second answer counts', async (fault) => {
    const { upstream, client } = await prepare({ status: 200, body: 'found' });
    upstream.fail(fault, () => upstream.seen.length === 1);
    const body = { a: 1 };
    const found = await client.request(method, '/x', method === 'POST' ? { body } : {});
    expect(found).toMatchObject({ status: 200, text: 'found' });
    const sent = method === 'POST' ? '{"a":1}' : '';
    expect(upstream.seen.map((request) => request.body)).toEqual([sent, sent]);
  });

  test.each(lost)('is sent twice at most, with the answer %j', async (fault) => {
    const { upstream, client } = await prepare();
    upstream.fail(fault);
    const result = client.request(method, '/x');
    if (typeof fault === 'object') expect(await result).toMatchObject(fault);
    else expect(await failureOf(result)).toMatchObject({ outcome: 'unknown' });
    expect(upstream.seen).toHaveLength(2);
  });

  test.each([200, 302, 400, 401, 404, 408, 409, 425, 429, 501, 505])(
    'is sent once, with the answer %i',
    async (status) => {
      const { upstream, client } = await prepare({ status, headers: { 'retry-after': '0' } }, { redirects: 'reply' });
      expect(await client.request(method, '/x')).toMatchObject({ status });
      expect(upstream.seen).toHaveLength(1);
    },
  );

  test('is sent once if it must not be retried', async () => {
    const { upstream, client } = await prepare({ status: 503 });
    expect(await client.request(method, '/x', { retry: false })).toMatchObject({ status: 503 });
    upstream.fail('drop');
    await failureOf(client.request(method, '/x', { retry: false }));
    expect(upstream.seen).toHaveLength(2);
  });
});

test('an error that the upstream itself answered is not retried', async () => {
  const judgeError: UpstreamOptions['judgeError'] = ({ text }, usual) => (text === 'our own words' ? usual : undefined);
  const { upstream, client } = await prepare({ status: 503, body: 'our own words' }, { judgeError });
  expect(await client.request('GET', '/x')).toMatchObject({ status: 503 });
  expect(upstream.seen).toHaveLength(1);
});

test.each<[ms: number, requests: number]>([
  [3999, 2],
  // The clock has fractions, so the limit of 4000 ms itself cannot be hit.
  [4001, 1],
])('a failure after %i ms: the upstream gets %i requests', async (ms, requests) => {
  const { upstream, client } = await prepare();
  const advance = stopClock();
  for (const fault of [{ status: 503 }, 'drop'] as const) {
    upstream.forget();
    upstream.fail(fault, () => upstream.seen.length === 1);
    const arrived = upstream.hold();
    const result = client.request('GET', '/x').catch(() => undefined);
    const release = await arrived;
    advance(ms);
    release();
    await result;
    expect(upstream.seen).toHaveLength(requests);
  }
});

test('the time limit is for both requests together', async () => {
  const { upstream, client } = await prepare();
  const advance = stopTimeouts();
  upstream.fail({ status: 503 });
  const [first, second] = [upstream.hold(), upstream.hold()];
  const failure = failureOf(client.request('GET', '/x'));
  const release = await first;
  advance(19_000);
  release();
  await second;
  advance(1000);
  expect(String((await failure).cause)).toContain('TimeoutError');
  expect(upstream.seen).toHaveLength(2);
});

describe('with a quota of 40 requests', () => {
  const prepareQuota = async (left: number) => {
    const quota = createQuota();
    quota.begin()({
      status: 200,
      headers: new Headers({ 'x-ratelimit-limit': '40', 'x-ratelimit-remaining': `${left}` }),
    });
    return { ...(await prepare({ status: 503 }, { quota })), quota };
  };

  test('a read and its retry each take a place', async () => {
    const { upstream, client, quota } = await prepareQuota(12);
    upstream.fail('drop');
    await failureOf(client.request('GET', '/x'));
    expect(upstream.seen).toHaveLength(2);
    expect(quota.hasRoom()).toBe(false);
  });

  test('a retry without a place is not sent', async () => {
    const { upstream, client } = await prepareQuota(11);
    upstream.fail('drop');
    await failureOf(client.request('GET', '/x'));
    expect(upstream.seen).toHaveLength(1);
  });

  test('a read without a place is not sent', async () => {
    const { upstream, client } = await prepareQuota(10);
    expect(await failureOf(client.request('GET', '/x'))).toMatchObject({ outcome: 'refused' });
    expect(upstream.seen).toHaveLength(0);
  });
});
