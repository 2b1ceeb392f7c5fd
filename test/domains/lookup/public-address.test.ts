import { expect, test } from 'vitest';
import { isAllowedUrl, isPublicAddress, lookupPublic } from '../../../server/upstream/address.ts';
import { createRdapUpstream } from '../../helpers/upstream-rdap.ts';
import { createTestRegistries } from './harness.ts';

test.each([
  ['https://rdap.nic.example/', undefined, true],
  ['https://rdap.nic.example:8443/', undefined, false],
  ['http://rdap.nic.example/', undefined, false],
  ['https://user@rdap.nic.example/', undefined, false],
  ['https://192.0.2.1/', undefined, false],
  ['https://10.0.0.1/', undefined, false],
  ['https://2130706433/', undefined, true],
  ['https://[fd00::1]/', undefined, false],
  ['https://intranet/', undefined, false],
  ['http://127.0.0.1:8080/', undefined, true],
  ['http://localhost:8080/', undefined, true],
  ['http://[::1]:8080/', undefined, true],
  ['ftp://127.0.0.1/', undefined, false],
  ['http://127.0.0.1:8080/', 'https://rdap.nic.example/', false],
  ['https://127.0.0.1/', 'https://rdap.nic.example/', false],
  ['https://rdap.nic.example/', 'http://127.0.0.1:1/', true],
  ['http://127.0.0.1:2/', 'http://127.0.0.1:1/', true],
  ['http://127.0.0.1:2/', 'https://127.0.0.1:1/', false],
  ['http://169.254.169.254/latest/meta-data', 'http://127.0.0.1:1/', false],
])('%s, redirected from %s: allowed is %s', (url, from, allowed) => {
  expect(isAllowedUrl(new URL(url), from === undefined ? undefined : new URL(from))).toBe(allowed);
});

test.each([
  ['198.41.0.4', true],
  ['2001:503:ba3e::2:30', true],
  ['127.0.0.1', false],
  ['10.1.2.3', false],
  ['172.31.255.255', false],
  ['192.168.0.1', false],
  ['169.254.169.254', false],
  ['100.64.0.1', false],
  ['0.0.0.0', false],
  ['255.255.255.255', false],
  ['::1', false],
  ['::ffff:10.0.0.1', false],
  ['fd12::1', false],
  ['fe80::1', false],
  ['64:ff9b::808:808', true],
  ['64:ff9b::a00:1', false],
  ['64:ff9b::7f00:1', false],
  ['64:ff9b:1::808:808', false],
  ['2002:a00:1::1', false],
  ['2001::1', false],
  ['fec0::1', false],
  ['100::1', false],
  ['3fff::1', false],
  ['5f00::1', false],
  ['::a00:1', false],
  ['not-an-address', false],
])('%s: public is %s', (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected);
});

/** Resolves a host to all its addresses or the first. */
async function lookUp(hostname: string, all: boolean) {
  return await new Promise((resolve) => {
    lookupPublic(hostname, { all }, (error, address) => resolve(error ? error.message : address));
  });
}

test('a host with a non-public address is refused, except for loopback', async () => {
  expect(await lookUp('10.0.0.1', true)).toBe('10.0.0.1 has an address that is not public');
  expect(await lookUp('169.254.169.254', false)).toContain('not public');
  expect(await lookUp('no-such-host.invalid', true)).toContain('no-such-host.invalid');
  expect(await lookUp('198.41.0.4', true)).toEqual([{ address: '198.41.0.4', family: 4 }]);
  expect(await lookUp('198.41.0.4', false)).toBe('198.41.0.4');
  expect(await lookUp('127.0.0.1', false)).toBe('127.0.0.1');
});

test('localhost is allowed too', async () => {
  const upstream = await createRdapUpstream({ names: ['nic.shop'] });
  const rdap = upstream.url.replace('127.0.0.1', 'localhost');
  expect(await createTestRegistries().check({ name: 'some-name.shop', tld: 'shop' }, { rdap })).toBe('free');
});
