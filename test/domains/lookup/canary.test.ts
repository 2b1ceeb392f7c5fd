import { expect, test } from 'vitest';
import { listedBases } from '#common/domain-sources.ts';
import { toExistingName } from '../../../server/domains/lookup/registries.ts';
import type { DomainLookup } from '#contract/domains.ts';
import { createRdapUpstream, toDomainObject } from '../../helpers/upstream-rdap.ts';
import { json } from '../../helpers/upstream.ts';
import { createListedRegistries, createTestRegistries, serveShop } from './harness.ts';

const free = { name: 'some-name.io', tld: 'io' };
const hour = 60 * 60 * 1000;

test('a server that IANA does not list is trusted after its canary check', async () => {
  const upstream = await createRdapUpstream({ names: ['nic.io', 'taken.io'] });
  const registries = createTestRegistries();
  const lookup = { rdap: upstream.url };
  expect(await registries.check({ name: 'taken.io', tld: 'io' }, lookup)).toBe('taken');
  expect(await registries.check(free, lookup)).toBe('free');
  expect(await registries.check(free, lookup)).toBe('free');
  const countQueries = (name: string): number => upstream.seen.filter(({ path }) => path === `/domain/${name}`).length;
  expect([countQueries('taken.io'), countQueries('some-name.io'), countQueries('nic.io')]).toEqual([1, 2, 1]);
  registries.advance(hour);
  expect(await registries.check(free, lookup)).toBe('free');
  expect(countQueries('nic.io')).toBe(2);
});

test('a server that denies its canary is disabled, and checked again after an hour', async () => {
  const upstream = await createRdapUpstream({ names: [] });
  const registries = createTestRegistries();
  const lookup = { rdap: upstream.url };
  for (let count = 0; count < 5; count += 1) expect(await registries.check(free, lookup)).toBe('unknown');
  expect(upstream.seen.map(({ path }) => path)).toEqual(['/domain/some-name.io', '/domain/nic.io']);
  expect(registries.written()).toContain('denies a name that exists');
  registries.advance(hour);
  expect(await registries.check(free, lookup)).toBe('unknown');
  expect(upstream.seen).toHaveLength(4);
});

test('a canary check without a result is repeated', async () => {
  const upstream = await createRdapUpstream({ names: ['nic.io'] });
  const registries = createTestRegistries();
  upstream.fail({ status: 500 }, ({ path }) => path.endsWith('/nic.io'));
  expect(await registries.check(free, { rdap: upstream.url })).toBe('unknown');
  upstream.fail(undefined);
  expect(await registries.check(free, { rdap: upstream.url })).toBe('free');
});

test('concurrent names share one canary check', async () => {
  const upstream = await createRdapUpstream({ names: ['nic.io'] });
  const registries = createTestRegistries();
  const names = Array.from({ length: 20 }, (_, index) => ({ name: `name${index}.io`, tld: 'io' }));
  const answers = await Promise.all(names.map((domain) => registries.check(domain, { rdap: upstream.url })));
  expect(new Set(answers)).toEqual(new Set(['free']));
  expect(upstream.seen.filter(({ path }) => path.endsWith('/nic.io'))).toHaveLength(1);
});

test('a canary check counts for one TLD', async () => {
  const upstream = await createRdapUpstream({ names: ['nic.io'] });
  const registries = createTestRegistries();
  expect(await registries.check(free, { rdap: upstream.url })).toBe('free');
  expect(await registries.check({ name: 'some-name.co', tld: 'co' }, { rdap: upstream.url })).toBe('unknown');
});

test.each([
  ['nic.shop', 'its canary'],
  ['taken.shop', 'a searched name'],
])('a listed server that found %s (%s) is confirmed for an hour', async (existing) => {
  const { upstream, registries, check } = await serveShop(({ path }) =>
    path.endsWith(`/${existing}`) ? json(200, toDomainObject(existing)) : { status: 404 },
  );
  const canaries = (): number => upstream.seen.filter(({ path }) => path.endsWith('/nic.shop')).length;
  if (existing === 'taken.shop') expect(await check(existing)).toBe('taken');
  for (const name of ['one.shop', 'two.shop']) expect(await check(name)).toBe('free');
  const before = canaries();
  // From now on the server has no names, like a server that moved.
  upstream.fail({ status: 404 });
  registries.advance(hour - 60_000);
  expect(await check('three.shop')).toBe('free');
  expect(canaries()).toBe(before);
  registries.advance(60_000);
  expect(await check('four.shop')).toBe('unknown');
  expect(canaries()).toBe(before + 1);
});

test('a listed server that denies its canary has no result until it finds a name', async () => {
  const { upstream, registries, check } = await serveShop(({ path }) =>
    path.endsWith('/taken.shop') ? json(200, toDomainObject('taken.shop')) : { status: 404 },
  );
  expect([await check('one.shop'), await check('two.shop')]).toEqual(['unknown', 'unknown']);
  expect([await check('taken.shop'), await check('three.shop')]).toEqual(['taken', 'free']);
  const names = upstream.seen.map(({ path }) => path.slice('/rdap/domain/'.length, -'.shop'.length));
  // Searches of an hour share one canary check.
  expect(names).toEqual(['one', 'nic', 'two', 'taken', 'three']);
  expect(registries.written()).toContain('denies a name that exists');
});

test('an existing name does not confirm a server that IANA does not list', async () => {
  const upstream = await createRdapUpstream({ names: ['taken.io'] });
  const registries = createTestRegistries();
  expect(await registries.check({ name: 'taken.io', tld: 'io' }, { rdap: upstream.url })).toBe('taken');
  expect(await registries.check(free, { rdap: upstream.url })).toBe('unknown');
});

test('a server that IANA lists is trusted without a canary check, but only for its TLD', async () => {
  const upstream = await createRdapUpstream({ names: [] });
  const registries = await createListedRegistries({ com: `${upstream.url}/`, uk: `${upstream.url}/` });
  expect(await registries.check({ name: 'some-name.com', tld: 'com' })).toBe('free');
  expect(await registries.check({ name: 'some-name.com', tld: 'com' }, { rdap: upstream.url })).toBe('free');
  expect(await registries.check({ name: 'some-name.co.uk', tld: 'co.uk' })).toBe('free');
  expect(upstream.seen).toHaveLength(3);
  // The registry of .com does not run uk.com and denies all its names.
  expect(await registries.check({ name: 'some-name.uk.com', tld: 'uk.com' })).toBe('unknown');
  expect(upstream.seen.at(-1)!.path).toBe('/domain/nic.uk.com');
});

test('a suffix of two labels can pass a canary check', async () => {
  const upstream = await createRdapUpstream({ names: ['nic.com.pl'] });
  const registries = await createListedRegistries({ pl: `${upstream.url}/` });
  expect(await registries.check({ name: 'some-name.com.pl', tld: 'com.pl' })).toBe('free');
});

test('`confirm` names the domain that must exist, with the default server or another one', async () => {
  const upstream = await createRdapUpstream({ names: ['taken.com.br', 'nic.br'] });
  const registries = await createListedRegistries({ br: `${upstream.url}/` });
  const check = (lookup?: DomainLookup) => registries.check({ name: 'some-name.com.br', tld: 'com.br' }, lookup);
  const confirm = 'taken.com.br';
  expect(await check()).toBe('unknown');
  expect(await check({ confirm })).toBe('free');
  expect(await check({ rdap: upstream.url, confirm })).toBe('free');
  expect(await check({ confirm: 'missing.com.br' })).toBe('unknown');
  expect(await registries.check({ name: confirm, tld: 'com.br' }, { confirm })).toBe('taken');
});

test('of a list of servers, the next is asked if one has no result', async () => {
  const [first, second] = [await createRdapUpstream({ names: [] }), await createRdapUpstream({ names: ['nic.io'] })];
  const registries = createTestRegistries();
  expect(await registries.check(free, [{ rdap: first.url }, { rdap: second.url }])).toBe('free');
  expect(await registries.check({ name: 'nic.io', tld: 'io' }, [{ rdap: first.url }, { rdap: second.url }])).toBe(
    'taken',
  );
});

test('an entry of two labels is preferred', async () => {
  const [ofTld, ofSuffix] = [await createRdapUpstream({ names: [] }), await createRdapUpstream({ names: [] })];
  const registries = await createListedRegistries({ pl: `${ofTld.url}/`, 'com.pl': `${ofSuffix.url}/` });
  expect(await registries.check({ name: 'some-name.com.pl', tld: 'com.pl' })).toBe('free');
  expect([ofTld.seen.length, ofSuffix.seen.length]).toEqual([0, 1]);
});

test('a TLD without a lookup source is unknown', async () => {
  const registries = await createListedRegistries({});
  expect(await registries.check({ name: 'some-name.es', tld: 'es' })).toBe('unknown');
  expect(await registries.check({ name: 'some-name.com', tld: 'com' }, 'none')).toBe('unknown');
  expect(await registries.check({ name: 'some-name.constructor', tld: 'constructor' })).toBe('unknown');
});

test.each([
  ['de', { rdap: 'https://rdap.denic.de/' }, 'denic.de'],
  ['nl', { rdap: 'https://rdap.sidn.nl/' }, 'sidn.nl'],
  ['fi', { rdap: 'https://rdap.fi/rdap/rdap/' }, 'rdap.fi'],
  ['eu', { das: 'das.eu:4343' }, 'das.eu'],
  ['be', { das: 'das.dns.be:4343' }, 'dns.be'],
  ['it', { whois: 'whois.nic.it' }, 'nic.it'],
  ['io', { rdap: 'https://rdap.identitydigital.services/rdap/' }, 'nic.io'],
  ['shop', undefined, 'nic.shop'],
  ['co.uk', { rdap: 'https://rdap.nominet.uk/uk/' }, 'bbc.co.uk'],
  ['co.uk', { rdap: 'https://rdap.nominet.uk/uk/', confirm: 'taken.co.uk' }, 'taken.co.uk'],
] as const)('the canary of .%s is, with %j, %s', (tld, source, name) => {
  expect(toExistingName(tld, source)).toBe(name);
});

test('the built-in list has the expected size and servers', () => {
  expect(listedBases.size).toBeGreaterThan(1150);
  expect(listedBases.get('nl')).toBe('https://rdap.sidn.nl/');
  expect(listedBases.get('store')).toBe('https://rdap.radix.host/rdap/');
  for (const base of listedBases.values()) expect(base).toMatch(/^https:\/\/[^:/]+\/(?:.*\/)?$/);
});
