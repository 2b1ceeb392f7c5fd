import { expect, onTestFinished, test } from 'vitest';
import { createPriceSource } from '../../../server/domains/prices.ts';
import { createWhmcsUpstream, refusal, whmcsCredential, whmcsTld } from '../../helpers/upstream-whmcs.ts';
import { failureOf } from '../../helpers/fault-suite.ts';
import { testSource } from '../../helpers/source-suite.ts';
import { createTestLog, json } from '../../helpers/upstream.ts';

const isAction =
  (action: string) =>
  ({ body }: { body: string }): boolean =>
    new URLSearchParams(body).get('action') === action;

async function prepare(changes: { readonly WHMCS_SECRET?: string } = {}) {
  const { upstream, shop, settings } = await createWhmcsUpstream();
  const { log, lines } = createTestLog();
  const source = createPriceSource({ ...settings, ...changes, UPSTREAM_TIMEOUT_SECONDS: 20 }, log)!;
  onTestFinished(() => source.close());
  return { upstream, shop, source, warnings: () => lines().map(({ msg }) => msg as string) };
}

const prices = {
  com: { register: 11.49, renew: 13.49, transfer: 11.49 },
  'co.uk': { register: 8, renew: 8, transfer: 0 },
};

testSource('WHMCS', { currencies: isAction('GetCurrencies'), prices: isAction('GetTLDPricing') }, prepare, {
  value: new Map(Object.entries(prices)),
  secrets: [whmcsCredential.secret],
});

test('prices are in EUR for one year, and the credential is only in the body', async () => {
  const { upstream, source, warnings } = await prepare();
  expect(Object.fromEntries(await source.read())).toEqual(prices);
  expect(upstream.seen.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))).toEqual([
    { ...whmcsCredential, action: 'GetCurrencies', responsetype: 'json' },
    { ...whmcsCredential, action: 'GetTLDPricing', responsetype: 'json', currencyid: '3' },
  ]);
  for (const { path, headers } of upstream.seen) {
    expect(path).toBe('/clients/includes/api.php');
    expect(JSON.stringify(headers)).not.toContain(whmcsCredential.secret);
  }
  expect(warnings()).toEqual([]);
});

test('the id of a currency may be a string', async () => {
  const { shop, source } = await prepare();
  // An unreadable currency does not hide the others.
  shop.currencies = [{ id: null, code: 'USD' } as never, { id: '7', code: 'EUR' }];
  expect(await source.read()).toHaveProperty('size', 2);
});

test.each([
  ['no term of one year', { 2: '20.00' }],
  ['an empty map', []],
  ['a list', ['1.00', '2.00']],
  ['nothing', null],
  ['a price that disables the term', { 1: '-1.00' }],
  ['an empty price', { 1: '' }],
  ['an invalid price', { 1: 'NaN' }],
  ['a price with a thousands separator', { 1: '1,200.00' }],
  ['a price with a decimal comma', { 1: '11,49' }],
  ['a price with a currency', { 1: '€9.00' }],
  ['a price with an exponent', { 1: '1e3' }],
  ['a price with spaces', { 1: ' 9.00' }],
  ['a price with 400 digits', { 1: '9'.repeat(400) }],
  ['no price', { 1: null }],
  ['a negative number', { 1: -1 }],
])('a TLD with %s for one of its actions is left out', async (_, years) => {
  const { shop, source, warnings } = await prepare();
  const fine = { 1: '5.00' };
  shop.pricing['EUR'] = {
    net: whmcsTld('net', fine, { register: years }),
    org: whmcsTld('org', fine, { renew: years }),
    info: whmcsTld('info', fine, { transfer: years }),
    de: whmcsTld('de', fine),
  };
  expect([...(await source.read()).keys()]).toEqual(['de']);
  expect(warnings()).toEqual([]);
});

test('an entry without an action and an invalid one are left out', async () => {
  const { shop, source } = await prepare();
  const fine = { 1: '5.00' };
  shop.pricing['EUR'] = {
    net: { register: fine, renew: fine },
    org: 'x',
    info: null,
    biz: [],
    de: whmcsTld('de', fine),
  };
  expect([...(await source.read()).keys()]).toEqual(['de']);
});

test('zero and numbers are valid prices', async () => {
  const { shop, source } = await prepare();
  shop.pricing['EUR'] = { de: whmcsTld('de', { 1: '0.00' }, { renew: { 1: 9.5 }, transfer: { 1: '7' } }) };
  expect((await source.read()).get('de')).toEqual({ register: 0, renew: 9.5, transfer: 7 });
});

test.each([
  ['an empty map', []],
  ['nothing complete', { com: whmcsTld('com', { 2: '20.00' }) }],
])('%s has no prices and no error', async (_, pricing) => {
  const { shop, source } = await prepare();
  shop.pricing['EUR'] = pricing;
  expect(await source.read()).toEqual(new Map());
});

test('without a currency EUR there are no prices, with a warning', async () => {
  const { upstream, shop, source, warnings } = await prepare();
  shop.currencies = [{ id: 1, code: 'USD' }];
  expect(await source.read()).toEqual(new Map());
  expect(upstream.seen).toHaveLength(1);
  expect(warnings()).toEqual(['WHMCS has no currency EUR']);
});

test('prices in another currency are ignored with a warning', async () => {
  const { shop, source, warnings } = await prepare();
  delete shop.pricing['EUR'];
  expect(await source.read()).toEqual(new Map());
  expect(warnings()).toEqual(['WHMCS answers with prices in another currency than EUR']);
});

test('TLDs are normalised to A-labels in lower case without a dot', async () => {
  const { shop, source, warnings } = await prepare();
  const written = ['de', '.nl', 'COM', '.Co.Uk', 'рф', '.XN--P1ACF', 'com.рф'];
  shop.pricing['EUR'] = Object.fromEntries(written.map((tld) => [tld, whmcsTld(tld, { 1: '5.00' })]));
  const tlds = ['de', 'nl', 'com', 'co.uk', 'xn--p1ai', 'xn--p1acf', 'com.xn--p1ai'];
  expect([...(await source.read()).keys()]).toEqual(tlds);
  expect(warnings()).toEqual([]);
});

test.each([
  '',
  '.',
  '..de',
  'de.',
  'co..uk',
  '-de',
  'de-',
  'de/x',
  'd e',
  'd\te',
  '%64e',
  'de:80',
  'a_b',
  '*.de',
  '123',
  '0x7f',
  'co.1',
  'xn--a',
  'ab--cd',
  'x'.repeat(64),
  '__proto__',
])('%j is not a TLD and is left out with a warning', async (tld) => {
  const { shop, source, warnings } = await prepare();
  const entry = whmcsTld(tld, { 1: '5.00' });
  shop.pricing['EUR'] = { [tld]: entry, de: entry };
  expect([...(await source.read()).keys()]).toEqual(['de']);
  if (tld !== '__proto__') {
    expect(warnings()).toEqual([`ignored invalid or duplicate TLDs: ${JSON.stringify(tld)}`]);
  }
});

test('the first of two spellings of a TLD counts, with a short warning', async () => {
  const { shop, source, warnings } = await prepare();
  shop.pricing['EUR'] = {
    de: whmcsTld('de', { 1: '5.00' }),
    '.DE': whmcsTld('de', { 1: '6.00' }),
    ...Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`-${index}`, whmcsTld('', { 1: '1.00' })])),
  };
  expect(Object.fromEntries(await source.read())).toEqual({ de: { register: 5, renew: 5, transfer: 5 } });
  expect(warnings()).toHaveLength(1);
  expect(warnings()[0]).toContain('".DE", "-0"');
  expect(warnings()[0]).toContain('and 491 more');
  expect(warnings()[0]!.length).toBeLessThan(200);
});

test('2,000 TLDs with ten years each are read', async () => {
  const { shop, source } = await prepare();
  const years = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [index + 1, `${index + 1}234.50`]));
  const tlds = Array.from({ length: 2000 }, (_, index) => `tld${index}x`);
  shop.pricing['EUR'] = Object.fromEntries(tlds.map((tld) => [tld, whmcsTld(tld, years)]));
  expect(await source.read()).toHaveProperty('size', 2000);
});

test.each([
  'Authentication Failed',
  'Invalid IP 192.0.2.7',
  'Invalid Permissions: API action "GetTLDPricing" is not allowed',
  'Command Not Found',
  `Invalid secret ${whmcsCredential.secret}`,
])('%s is an error with any status, with details only in the log', async (message) => {
  const { upstream, source } = await prepare();
  for (const status of [200, 403]) {
    upstream.fail(refusal(message, status), isAction('GetTLDPricing'));
    const error = await failureOf(source.read());
    expect(error.message).toBe('The request could not be completed');
    const redacted = JSON.stringify(message).slice(1, -1).replace(whmcsCredential.secret, '[redacted]');
    expect(String(error.cause)).toContain(redacted);
  }
});

test('a rejected credential is an error', async () => {
  const { source } = await prepare({ WHMCS_SECRET: 'another-secret-of-ours' });
  const error = await failureOf(source.read());
  expect(String(error.cause)).toContain('Authentication Failed');
  expect(String(error.cause)).not.toContain('another-secret-of-ours');
});

test.each([
  ['status', 500, 'success'],
  ['result', 200, 'error'],
])('a valid body with an error %s is an error', async (_, status, result) => {
  const { upstream, source } = await prepare();
  upstream.fail(json(status, { result, currency: { code: 'EUR' }, pricing: [] }), isAction('GetTLDPricing'));
  await expect(failureOf(source.read())).resolves.toMatchObject({ code: 'provider_error' });
});
