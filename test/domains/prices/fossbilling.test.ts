import { expect, onTestFinished, test } from 'vitest';
import { createPriceSource } from '../../../server/domains/prices.ts';
import { failureOf } from '../../helpers/fault-suite.ts';
import { testSource } from '../../helpers/source-suite.ts';
import { createTestLog, createUpstream, json } from '../../helpers/upstream.ts';
import type { Answer, Seen } from '../../helpers/upstream.ts';

/** A TLD as FOSSBilling returns it. */
function toTld(tld: string, changes: Readonly<Record<string, unknown>> = {}): object {
  return {
    id: 1,
    tld,
    price_registration: '11.49',
    price_renew: '13.49',
    price_transfer: '11.49',
    active: true,
    allow_register: true,
    allow_transfer: true,
    require_transfer_code: true,
    min_years: 1,
    periods: null,
    ...changes,
  };
}

/** An error in FOSSBilling's format; most errors have status 200. */
const failure = (message: string, code: number, status = 200): Answer =>
  json(status, { result: null, error: { message, code } });

/** Simulates the guest API of a FOSSBilling in `/billing`, and creates a source of its prices. */
async function prepare() {
  const shop = {
    /** The default currency, which applies to all prices. */
    currency: 'EUR',
    tlds: [toTld('.com'), toTld('.co.uk', { price_transfer: '0.00' })] as unknown[],
    /** The web server's answer for paths that are not files, without URL rewriting. */
    withoutRewriting: undefined as Answer | undefined,
  };
  const envelope = (result: unknown) => json(200, { result, error: null }, 'application/json; charset=utf-8');
  const upstream = await createUpstream(({ method, path }) => {
    const [, file = '', call = ''] = /^\/billing\/(index\.php\?_url=\/)?api\/guest\/([a-z_/]+)$/.exec(path) ?? [];
    if (!file && shop.withoutRewriting) return shop.withoutRewriting;
    if (method !== 'GET') return failure('Unknown API call', 879, 400);
    if (call === 'servicedomain/tlds') return envelope(shop.tlds);
    if (call !== 'currency/get') return failure('Unknown API call', 879, 400);
    const format = { title: 'A currency', format: '{{price}}', price_format: '1' };
    return envelope({ code: shop.currency, conversion_rate: 1, default: true, ...format });
  });
  const { log, lines } = createTestLog();
  const settings = { FOSSBILLING_URL: `${upstream.url}/billing`, UPSTREAM_TIMEOUT_SECONDS: 20 };
  const source = createPriceSource({ DOMAIN_PRICES: 'fossbilling', ...settings }, log)!;
  onTestFinished(() => source.close());
  return { upstream, shop, source, warnings: () => lines().map(({ msg }) => msg as string) };
}

const prices = {
  com: { register: 11.49, renew: 13.49, transfer: 11.49 },
  'co.uk': { register: 11.49, renew: 13.49, transfer: 0 },
};

const requests = {
  currency: ({ path }: Seen) => path.endsWith('currency/get'),
  prices: ({ path }: Seen) => path.endsWith('servicedomain/tlds'),
};
testSource('FOSSBilling', requests, prepare, { value: new Map(Object.entries(prices)) });

test('prices are read without a credential', async () => {
  const { upstream, source, warnings } = await prepare();
  expect(Object.fromEntries(await source.read())).toEqual(prices);
  expect(upstream.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /billing/api/guest/currency/get',
    'GET /billing/api/guest/servicedomain/tlds',
  ]);
  expect(warnings()).toEqual([]);
});

test.each([
  ['a 404', { status: 404, body: 'Not Found' }],
  ['its start page', { status: 200, headers: { 'content-type': 'text/html' }, body: '\n<!DOCTYPE html><html></html>' }],
])('a web server without URL rewriting that answers %s gets the other path', async (_, answer) => {
  const { upstream, shop, source } = await prepare();
  shop.withoutRewriting = answer;
  expect(await source.read()).toHaveProperty('size', 2);
  expect(upstream.seen.map(({ path }) => path)).toEqual([
    '/billing/api/guest/currency/get',
    '/billing/index.php?_url=/api/guest/currency/get',
    '/billing/api/guest/servicedomain/tlds',
    '/billing/index.php?_url=/api/guest/servicedomain/tlds',
  ]);
});

test.each([
  ['a 404', { status: 404 }],
  ['a page', { status: 200, body: '<html>' }],
])('%s on both paths is an error after two requests', async (_, answer) => {
  const { upstream, source } = await prepare();
  upstream.fail(answer);
  await failureOf(source.read());
  expect(upstream.seen).toHaveLength(2);
});

test('a page with an error status is not requested twice', async () => {
  const { upstream, source } = await prepare();
  upstream.fail({ status: 403, body: '<html>' });
  await failureOf(source.read());
  expect(upstream.seen).toHaveLength(1);
});

test('without EUR as the default currency there are no prices, with a warning', async () => {
  const { shop, source, warnings } = await prepare();
  shop.currency = 'USD';
  expect(await source.read()).toEqual(new Map());
  expect(warnings()).toEqual(['the default currency of FOSSBilling must be EUR, and is USD']);
});

test('TLDs on sale that are left out are named once in the log', async () => {
  const { shop, source, warnings } = await prepare();
  shop.tlds.push(toTld('.info', { min_years: 2 }), toTld('.net', { active: false }), toTld('.eu', { price_renew: '' }));
  for (const _ of [1, 2]) expect(await source.read()).toHaveProperty('size', 2);
  expect(warnings()).toEqual(['not sold for one year, or without a price: ".info", ".eu"']);
});

test('a shop without TLDs has no prices and no error', async () => {
  const { shop, source } = await prepare();
  shop.tlds = [];
  expect(await source.read()).toEqual(new Map());
});

test.each([
  ['is not active', { active: false }],
  ['is not active, by a number', { active: 0 }],
  ['is not active, by a string', { active: '0' }],
  ['cannot be registered', { allow_register: false }],
  ['has no allow_register', { allow_register: null }],
  ['is sold for two years at least', { min_years: 2 }],
  ['is sold for two years at least, by a string', { min_years: '2' }],
  ['is sold for two years at least, without periods', { min_years: 2, periods: [] }],
  ['is not sold for one year', { periods: [2, 3] }],
  ['has no price to register', { price_registration: null }],
  ['has no price to renew', { price_renew: '' }],
  ['has no price to transfer', { price_transfer: undefined }],
  ['has a negative price', { price_transfer: '-1.00' }],
  ['has a negative number as its price', { price_renew: -1 }],
  ['has an invalid price', { price_renew: 'free' }],
  ['has no name', { tld: null }],
])('a TLD that %s is left out', async (_, changes) => {
  const { shop, source } = await prepare();
  shop.tlds = [toTld('.net', changes), 'x', null, [], toTld('.de')];
  expect([...(await source.read()).keys()]).toEqual(['de']);
});

test.each([
  ['strings', { active: '1', allow_register: '1', min_years: '1' }],
  ['numbers', { active: 1, allow_register: 1, min_years: 1, price_registration: 11.49, price_renew: 0 }],
  ['booleans', { active: true, allow_register: true, periods: [1, 2, 5] }],
  ['unset', { min_years: null }],
  ['zero', { min_years: 0, periods: [] }],
  ['decided by the periods', { min_years: 2, periods: [1, 2, 3] }],
])('values may be %s, depending on the database driver', async (_, changes) => {
  const { shop, source } = await prepare();
  shop.tlds = [toTld('.net', changes)];
  expect((await source.read()).get('net')).toMatchObject({ register: 11.49, transfer: 11.49 });
});

test('an inactive TLD does not hide an active duplicate', async () => {
  const { shop, source, warnings } = await prepare();
  shop.tlds = [toTld('.de', { active: false }), toTld('de')];
  expect([...(await source.read()).keys()]).toEqual(['de']);
  expect(warnings()).toEqual([]);
});

test.each([
  ['Unauthorized IP', 1002, 401],
  ['Invalid request. Make sure request origin is https://shop.example.com', 1004, 401],
  ['Domain module is not activated', 715, 200],
])('%s is an error with any status, with details only in the log', async (message, code, status) => {
  const { upstream, source } = await prepare();
  upstream.fail(failure(message, code, status), requests.prices);
  const error = await failureOf(source.read());
  expect(error.message).toBe('The request could not be completed');
  expect(String(error.cause)).toContain(message);
});

test.each([
  ['a valid body with an error status', 500, null],
  ['an error next to a valid result', 200, { message: 'No', code: 1 }],
])('%s is an error', async (_, status, error) => {
  const { upstream, source } = await prepare();
  upstream.fail(json(status, { result: [], error }), requests.prices);
  await expect(failureOf(source.read())).resolves.toMatchObject({ code: 'provider_error' });
});
