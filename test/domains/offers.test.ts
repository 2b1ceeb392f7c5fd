import { describe, expect, test } from 'vitest';
import { DomainCatalog } from '#contract/domains.ts';
import type { Availability } from '../../server/domains/lookup/query.ts';
import type { DomainName } from '../../server/domains/names.ts';
import type { TldPrices } from '../../server/domains/prices/source.ts';
import { Problem } from '../../server/problem.ts';
import { createDomains } from '../../server/domains/service.ts';

const prices = { register: 10, renew: 12, transfer: 0 };
const pricing = { currency: 'EUR', term: 1, period: 'year', ...prices };
const eur = { EUR: { 1: prices } };

/** The service with a catalog and fake registries. */
function createService(
  catalog: unknown,
  { live, answer = 'free' }: { live?: Record<string, TldPrices> | undefined | 'never'; answer?: Availability } = {},
) {
  const parsed = DomainCatalog.parse(catalog);
  const checks: [DomainName, unknown][] = [];
  const map = typeof live === 'object' ? new Map(Object.entries(live)) : undefined;
  const domains = createDomains({
    catalog: () => parsed,
    ...(live !== undefined && { live: { current: () => map } }),
    availability: {
      async check(domain, lookup) {
        checks.push([domain, lookup]);
        return answer;
      },
    },
  });
  const listed = () => domains.list().map(({ tld }) => tld);
  const refusalOf = async (text: string): Promise<string> =>
    domains.search(text).then(
      () => 'answered',
      (error: unknown) => (error instanceof Problem ? error.code : String(error)),
    );
  const problemOf = (): string => {
    try {
      return domains.list().length === 0 ? 'empty' : 'listed';
    } catch (error) {
      return error instanceof Problem ? error.code : String(error);
    }
  };
  return { domains, checks, listed, refusalOf, problemOf };
}

const mixed = {
  order_url: 'https://clients.example.com/?name={domain}',
  tlds: {
    '.com': { active: true, prices: eur },
    '.net': { prices: eur, order_url: 'https://clients.example.com/net' },
    '.org': { active: false, prices: eur },
    '.pl': { active: true, prices: { PLN: { 1: prices } } },
    '.eu': { active: true, prices: { EUR: { 2: prices } } },
    '.de': { active: true },
    '.co.uk': { active: true, prices: eur, lookup: { whois: 'whois.nic.uk' } },
    '.uk': { active: false, prices: eur },
  },
};

describe('from the catalog', () => {
  test('active TLDs with all prices in EUR for one year are on sale, sorted by name', () => {
    const { domains, listed } = createService(mixed);
    expect(listed()).toEqual(['.co.uk', '.com', '.net']);
    expect(domains.list()[1]).toEqual({ tld: '.com', pricing });
    expect(domains.list()[2]).toEqual({ tld: '.net', pricing, order_url: 'https://clients.example.com/net' });
    expect(domains.list()).toBe(domains.list());
  });

  test('a search returns prices and the order URL', async () => {
    const { domains, checks } = createService(mixed);
    expect((await domains.search('EXAMPLE.com.')).body).toEqual({
      success: true,
      domain: 'example.com',
      tld: '.com',
      available: true,
      pricing,
      order_url: 'https://clients.example.com/?name=example.com',
    });
    expect((await domains.search('example.net')).body).toMatchObject({ order_url: 'https://clients.example.com/net' });
    await domains.search('example.co.uk');
    expect(checks).toEqual([
      [{ name: 'example.com', unicode: 'example.com', tld: 'com' }, undefined],
      [{ name: 'example.net', unicode: 'example.net', tld: 'net' }, undefined],
      [{ name: 'example.co.uk', unicode: 'example.co.uk', tld: 'co.uk' }, { whois: 'whois.nic.uk' }],
    ]);
  });

  test.each([
    ['a TLD that is not on sale', 'tld_not_found', 'a.org a.pl a.eu a.de a.uk a.unknown a.org.uk'.split(' ')],
    ['an invalid name', 'invalid_domain', ['', 'a b.com', 'https://a.com', 'www.a.com', 'co.uk']],
  ])('%s is refused, and not searched', async (_, refusal, names) => {
    const { checks, refusalOf } = createService(mixed);
    for (const name of names) expect([name, await refusalOf(name)]).toEqual([name, refusal]);
    expect(checks).toEqual([]);
  });

  test('an unknown availability is an error', async () => {
    const { refusalOf } = createService(mixed, { answer: 'unknown' });
    expect(await refusalOf('a.com')).toBe('provider_error');
    const taken = createService(mixed, { answer: 'taken' });
    expect((await taken.domains.search('a.com')).body).toMatchObject({ available: false });
  });

  test('a catalog without active TLDs has an empty list, and one without complete prices is an error', async () => {
    expect(createService({ tlds: {} }).problemOf()).toBe('empty');
    expect(createService({ tlds: { '.com': { active: false } } }).problemOf()).toBe('empty');
    expect(createService({ tlds: { '.com': { active: true } } }).problemOf()).toBe('pricing_unavailable');
    const { refusalOf } = createService({ tlds: { '.com': {} } });
    expect(await refusalOf('a.com')).toBe('pricing_unavailable');
    expect(await refusalOf('a b.com')).toBe('invalid_domain');
  });
});

describe('with live prices', () => {
  const live = { com: { register: 1, renew: 2, transfer: 3 }, 'co.uk': prices, 'xn--p1ai': prices, org: prices };

  test('the billing system has the TLDs; the catalog adds fields or hides a TLD', async () => {
    const { domains, listed, checks } = createService(mixed, { live });
    expect(listed()).toEqual(['.co.uk', '.com', '.xn--p1ai']);
    expect((await domains.search('a.com')).body).toMatchObject({ pricing: { register: 1, renew: 2, transfer: 3 } });
    await domains.search('a.co.uk');
    await domains.search('пример.рф');
    expect(checks.map(([, lookup]) => lookup)).toEqual([undefined, { whois: 'whois.nic.uk' }, undefined]);
  });

  test('a TLD in the catalog alone is not on sale', async () => {
    expect(await createService(mixed, { live }).refusalOf('a.net')).toBe('tld_not_found');
  });

  test('never read is 502, and read without complete prices is 500', async () => {
    const never = createService(mixed, { live: 'never' });
    expect([never.problemOf(), await never.refusalOf('a.com')]).toEqual(['provider_error', 'provider_error']);
    const none = createService(mixed, { live: {} });
    expect([none.problemOf(), await none.refusalOf('a.com')]).toEqual(['pricing_unavailable', 'pricing_unavailable']);
  });
});
