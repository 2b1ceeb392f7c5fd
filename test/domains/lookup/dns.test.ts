import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { stopTimeouts } from '../../helpers/clock.ts';
import { createDnsUpstream } from '../../helpers/upstream-dns.ts';
import type { DnsAnswer, DnsRecord } from '../../helpers/upstream-dns.ts';
import { createRdapUpstream } from '../../helpers/upstream-rdap.ts';
import { until } from '../../helpers/upstream.ts';
import { createListedRegistries, createTestRegistries } from './harness.ts';

const domain = { name: 'some-name.shop', tld: 'shop' };
const ns: DnsRecord = { owner: domain.name, type: 'NS', data: 'ns1.example.net' };
const soa: DnsRecord = { owner: 'shop', type: 'SOA', data: Buffer.alloc(22) };
const a: DnsRecord = { owner: domain.name, type: 'A', data: Buffer.of(127, 0, 53, 53) };
const alias: DnsRecord = { owner: domain.name, type: 'CNAME', data: 'other.example.net' };

async function prepare(answer: DnsAnswer, names: readonly string[] = [], dnsMs = 300) {
  const dns = await createDnsUpstream(() => answer);
  const rdap = await createRdapUpstream({ names });
  const registries = await createListedRegistries(
    { shop: `${rdap.url}/` },
    { dnsServers: [dns.address], limits: { dnsMs } },
  );
  return { dns, rdap, registries };
}

test.each<[string, DnsAnswer]>([
  ['a delegation', { answers: [ns] }],
  ['a delegation in capitals', { answers: [{ ...ns, owner: 'SOME-NAME.Shop' }] }],
  ['a delegation whose owner is compressed', { answers: [{ ...ns, owner: '@' }] }],
  ['a delegation among other records', { answers: [a, { ...ns, owner: 'shop' }, ns] }],
])('DNS: %s means taken, without a registry lookup', async (_, answer) => {
  const { dns, rdap, registries } = await prepare(answer, [], 60_000);
  expect(await registries.check(domain)).toBe('taken');
  expect(rdap.seen).toHaveLength(0);
  expect(dns.seen).toEqual(['some-name.shop']);
});

test.each<[string, DnsAnswer]>([
  ['NXDOMAIN', { code: 3, authority: [soa] }],
  ['NODATA', { authority: [soa] }],
  ['NXDOMAIN without an SOA', { code: 3 }],
  ['NODATA without an SOA', {}],
  ['FORMERR', { code: 1 }],
  ['SERVFAIL', { code: 2 }],
  ['REFUSED', { code: 5 }],
  ['an address, as from wildcards and rewriting resolvers', { answers: [a] }],
  ['only an alias', { answers: [alias] }],
  ['the name servers of its alias target', { answers: [alias, { ...ns, owner: 'other.example.net' }] }],
  ['the name servers of the TLD', { answers: [{ ...ns, owner: 'shop' }] }],
  ['a referral', { authority: [ns] }],
  ['the answer to another question', { question: 'other.shop', answers: [{ ...ns, owner: 'other.shop' }] }],
  ['an answer with another ID', { id: 70_000 + Math.floor(performance.now()), answers: [ns] }],
  ['invalid bytes', Buffer.from('not dns')],
  ['an empty answer', Buffer.alloc(0)],
  ['a truncated answer', { truncated: true, answers: [ns] }],
  ['records that end too early', { answers: [{ ...ns, owner: '@', data: Buffer.alloc(0) }], truncated: true }],
  ['a compression loop', Buffer.from('000081800001000100000000c00c00020001', 'hex')],
  ['silence', 'silence'],
])('DNS: %s has no result, and only the registry decides', async (_, answer) => {
  const { rdap, registries } = await prepare(answer, ['taken.shop']);
  const names = [domain.name, 'taken.shop'];
  const found = await Promise.all(names.map((name) => registries.check({ name, tld: 'shop' })));
  expect(found).toEqual(['free', 'taken']);
  expect(rdap.seen).toHaveLength(2);
  rdap.fail({ status: 500 });
  expect(await registries.check(domain)).toBe('unknown');
});

test.each([
  ['can mean taken', { answers: [ns] }, 'taken'],
  ['never means free', { code: 3, authority: [soa] }, 'unknown'],
])('without a registry, DNS %s', async (_, answer, state) => {
  const dns = await createDnsUpstream(() => answer);
  const registries = createTestRegistries({ dnsServers: [dns.address], limits: { dnsMs: 60_000 } });
  expect(await registries.check(domain, 'none')).toBe(state);
});

test('the second resolver is used if the first does not answer', async () => {
  const silent = await createDnsUpstream(() => 'silence');
  const dns = await createDnsUpstream(() => ({ answers: [ns] }));
  const registries = createTestRegistries({ dnsServers: [silent.address, dns.address], limits: { dnsMs: 60_000 } });
  const advance = stopTimeouts();
  const answer = registries.check(domain, 'none');
  await until('the first resolver is queried', () => silent.seen.length > 0);
  advance(60_000);
  expect(await answer).toBe('taken');
});

test('an unreachable or invalid resolver has no result', async () => {
  const rdap = await createRdapUpstream({ names: ['nic.shop'] });
  for (const dnsServers of [['127.0.0.1:1'], ['[::1]:1'], ['no address'], ['::1', '192.0.2.1:70000'], []]) {
    const registries = createTestRegistries({ dnsServers, limits: { dnsMs: 100 } });
    expect(await registries.check(domain, { rdap: rdap.url })).toBe('free');
  }
});

test('concurrent names share a limit of DNS queries', async () => {
  const dns = await createDnsUpstream(() => 'silence');
  const registries = createTestRegistries({ dnsServers: [dns.address], limits: { dnsMs: 60_000, dnsConcurrency: 8 } });
  const names = Array.from({ length: 200 }, (_, index) => ({ name: `name${index}.shop`, tld: 'shop' }));
  const answers = Promise.all(names.map((name) => registries.check(name, 'none')));
  await until('the first names are queried', () => dns.seen.length >= 8);
  await sleep(100);
  expect(dns.seen).toHaveLength(8);
  await registries.close();
  expect(new Set(await answers)).toEqual(new Set(['unknown']));
});
