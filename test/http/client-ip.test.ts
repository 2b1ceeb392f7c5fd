import type { IncomingMessage } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { readEnv } from '../../server/env.ts';
import { createRequests } from '../../server/http/request.ts';
import { createTokenBucket } from '../../server/token-bucket.ts';
import { ask } from '../server/ask.ts';
import { createTestApp } from '../helpers/app.ts';
import { stopClock } from '../helpers/clock.ts';
import { eventually, serveShared, sharedProject } from '../server/shared.ts';

function findClient(trusted: string, socket: string | undefined, forwardedFor?: string | string[]) {
  const trustedProxies = readEnv({ TRUSTED_PROXIES: trusted }).TRUSTED_PROXIES;
  const bucket = createTokenBucket({ rps: 1, burst: 1 });
  const requests = createRequests({ trustedProxies, limits: { client: bucket, content: bucket } });
  const request = { url: '/', socket: { remoteAddress: socket }, headers: { 'x-forwarded-for': forwardedFor } };
  return requests.begin(request as unknown as IncomingMessage).client;
}

test.each<[string, string, string | undefined, string | string[] | undefined, string]>([
  ['the socket, without a proxy', '', '192.0.2.1', undefined, '192.0.2.1'],
  ['the socket, despite a forged header', '', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
  ['the socket, if another peer is trusted', '10.0.0.1', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
  ['the socket, if the proxy sends no header', '10.0.0.1', '10.0.0.1', undefined, '10.0.0.1'],
  ['the socket, if the header is empty', '10.0.0.1', '10.0.0.1', '', '10.0.0.1'],
  ['the hop before the proxy', '10.0.0.1', '10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['the right-most hop that is untrusted', '10.0.0.1', '10.0.0.1', '198.51.100.7, 203.0.113.9', '203.0.113.9'],
  ['behind two proxies', '10.0.0.0/8', '10.0.0.1', '198.51.100.7, 203.0.113.9, 10.9.8.7', '203.0.113.9'],
  ['the left-most hop, if all are trusted', '10.0.0.0/8', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['the hop after an invalid one', '10.0.0.0/8', '10.0.0.1', '203.0.113.9, unknown, 10.0.0.2', '10.0.0.2'],
  ['the proxy, if its hop is invalid', '10.0.0.1', '10.0.0.1', 'unknown', '10.0.0.1'],
  ['the proxy, if its hop is empty', '10.0.0.1', '10.0.0.1', '203.0.113.9,', '10.0.0.1'],
  ['without blanks and tabs', '10.0.0.1', '10.0.0.1', ' 198.51.100.7 ,\t203.0.113.9 ', '203.0.113.9'],
  ['without its port', '10.0.0.1', '10.0.0.1', '203.0.113.9:54321', '203.0.113.9'],
  ['without brackets', '10.0.0.1', '10.0.0.1', '[2001:db8::1]', '2001:db8::1'],
  ['without brackets and port', '10.0.0.1', '10.0.0.1', '[2001:db8::1]:54321', '2001:db8::1'],
  ['without its zone', '10.0.0.1', '10.0.0.1', 'fe80::1%eth0', 'fe80::1'],
  ['IPv4, if it is mapped into IPv6', '10.0.0.1', '10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
  ['behind a proxy that is mapped into IPv6', '10.0.0.1', '::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['behind a mapped hop that is trusted', '10.0.0.0/8', '10.0.0.1', '203.0.113.9, ::FFFF:10.0.0.2', '203.0.113.9'],
  ['the first address of a network', '10.0.0.0/30', '10.0.0.0', '203.0.113.9', '203.0.113.9'],
  ['the last address of a network', '10.0.0.0/30', '10.0.0.3', '203.0.113.9', '203.0.113.9'],
  ['just outside of a network', '10.0.0.0/30', '10.0.0.4', '203.0.113.9', '10.0.0.4'],
  ['behind a proxy of an IPv6 network', '2001:db8:1::/48', '2001:db8:1:ffff::9', '203.0.113.9', '203.0.113.9'],
  ['just outside of an IPv6 network', '2001:db8:1::/48', '2001:db8:2::1', '203.0.113.9', '2001:db8:2::1'],
  ['behind one of several proxies', '10.0.0.1, ::1,192.168.0.0/16', '::1', '203.0.113.9', '203.0.113.9'],
  ['read from several lines', '10.0.0.1', '10.0.0.1', ['198.51.100.7', '203.0.113.9'], '203.0.113.9'],
  [
    'a hop of a NAT64 translator, which is not trusted as its IPv4 address',
    '10.0.0.1',
    '10.0.0.1',
    '203.0.113.9, 64:ff9b::10.0.0.1',
    '64:ff9b::10.0.0.1',
  ],
  ['unspecified, if the socket is closed', '10.0.0.1', undefined, '203.0.113.9', '0.0.0.0'],
])('the client of a request is %s', (_, trusted, socket, forwardedFor, address) => {
  expect(findClient(trusted, socket, forwardedFor).address).toBe(address);
});

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['::ffff:cb00:7109', '203.0.113.9'],
  ['0:0:0:0:0:ffff:203.0.113.9', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:1::5:6', '2001:db8:1:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '192.0.2.1'],
  ['64:ff9b::c000:0201', '192.0.2.1'],
  ['64:ff9b::127.0.0.1', '64:ff9b:0:0::/64'],
  ['64:ff9b:0:0:1::192.0.2.1', '64:ff9b:0:0::/64'],
  ['64:ff9b:1::192.0.2.1', '64:ff9b:1:0::/64'],
  ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
])('the key of a limit is for %s %s', (address, key) => {
  expect(findClient('', address).key).toBe(key);
});

describe('end to end', () => {
  const settings = { RATELIMIT_BURST: '2', RATELIMIT_RPS: '1' };
  const proxied = { ...settings, TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' };
  beforeEach(() => void stopClock());
  /** Uses up the burst with two requests; returns the statuses of three. */
  const exhausted = [200, 200, 429];

  test.each(['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'CF-Connecting-IP', 'True-Client-IP', 'X-Client-IP'])(
    'an address in %s is ignored if the peer is untrusted',
    async (header) => {
      const app = await serveShared(settings);
      const seen: number[] = [];
      for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
        const value = header === 'Forwarded' ? `for=${address}` : address;
        seen.push((await ask(app, '/v1/info', { headers: { [header]: value } })).status);
      }
      expect(seen).toEqual(exhausted);
    },
  );

  test.each<[string, string[], number[]]>([
    ['three clients have three limits', ['203.0.113.1', '203.0.113.2', '203.0.113.3'], [200, 200, 200]],
    ['one client has one limit', ['203.0.113.1', '203.0.113.1', '203.0.113.1'], exhausted],
    ['an IPv6 network has one limit', ['2001:db8:1:2::1', '[2001:db8:1:2:ffff::1]:443', '2001:DB8:1:2::'], exhausted],
  ])('behind a trusted proxy, %s', async (_, claims, expected) => {
    const app = await serveShared(proxied);
    const seen: number[] = [];
    for (const claim of claims) {
      seen.push((await ask(app, '/v1/info', { headers: { 'X-Forwarded-For': claim } })).status);
    }
    expect(seen).toEqual(expected);
  });

  test('the log names the client, not the proxy', async () => {
    const app = await serveShared(proxied);
    await ask(app, '/health', { headers: { 'X-Forwarded-For': '1.1.1.1, 203.0.113.1' } });
    await ask(app, '/health', { from: '127.0.0.2', headers: { 'X-Forwarded-For': '203.0.113.2' } });
    await expect
      .poll(() => app.log().flatMap(({ ip }) => (ip === undefined ? [] : [ip])), eventually)
      .toEqual(['203.0.113.1', '127.0.0.2']);
  });
});

const warning =
  'ignored X-Forwarded-For of an untrusted address; if this is your proxy, add it to TRUSTED_PROXIES: its visitors share one limit';

/** Sends requests with these headers; returns the warnings. */
async function warningsAfter(headers: readonly Record<string, string>[], settings: Record<string, string> = {}) {
  const app = await createTestApp({ root: await sharedProject(), settings });
  for (const each of headers) {
    for (const path of ['/health', '/v1/plans', '/nowhere']) {
      // Only the first address is logged.
      await app.request(path, { headers: each });
    }
  }
  return app.log().filter(({ level }) => level === 'warn');
}

test.each<[string, Record<string, string>]>([
  ['X-Forwarded-For', { 'X-Forwarded-For': '203.0.113.7' }],
  ['Forwarded', { Forwarded: 'for=203.0.113.7' }],
])('%s from an untrusted address is logged once, with the address of the socket', async (_, header) => {
  const found = await warningsAfter([{}, header, { ...header, 'X-Request-Id': 'another-request' }]);
  expect(found).toEqual([{ level: 'warn', time: expect.any(String), address: '127.0.0.1', msg: warning }]);
});

test('an untrusted proxy beside a trusted proxy is logged', async () => {
  const found = await warningsAfter([{ 'X-Forwarded-For': '203.0.113.7' }], { TRUSTED_PROXIES: '10.0.0.0/8' });
  expect(found).toMatchObject([{ address: '127.0.0.1', msg: warning }]);
});

test('no warning without the header, or from a trusted address', async () => {
  expect(await warningsAfter([{}])).toEqual([]);
  expect(await warningsAfter([{ 'X-Forwarded-For': '203.0.113.7' }], { TRUSTED_PROXIES: '127.0.0.1' })).toEqual([]);
});
