import { expect, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { createTestApp } from '../helpers/app.ts';
import { stopClock } from '../helpers/clock.ts';
import type { TestApp } from '../helpers/app.ts';
import { buildProject, createProject, temporaryFolder, writeFiles } from '../helpers/project.ts';
import { createTextUpstream } from '../helpers/upstream-registry.ts';
import { createRdapUpstream } from '../helpers/upstream-rdap.ts';
import { createWhmcsUpstream } from '../helpers/upstream-whmcs.ts';
import { ask, askJson } from '../server/ask.ts';
import { wrongNames } from '../server/wrong-names.ts';
import type { Availability, DomainName } from '../../server/domains/lookup/query.ts';
import { createAvailability } from '../../server/domains/service.ts';

const generous = { DOMAIN_RATELIMIT_BURST: '100000' };
/** The prices of each TLD, in the form of the API and of the catalog. */
const pricing = { currency: 'EUR', term: 1, period: 'year', register: 10, renew: 12, transfer: 0 };
const price = '{ EUR: { 1: { register: 10, renew: 12, transfer: 0 } } }';

function catalogOf(base: string): string {
  return [
    'order_url: "https://clients.example.com/?name={domain}"',
    'tlds:',
    `  .com: { active: true, prices: ${price}, lookup: { rdap: "${base}" } }`,
    `  .co.uk: { prices: ${price}, order_url: "https://clients.example.com/uk", lookup: { rdap: "${base}" } }`,
    `  .eu: { active: false, prices: ${price} }`,
    '  .pl: { prices: { PLN: { 1: { register: 10, renew: 12, transfer: 0 } } } }',
    '  .nl: { prices: { EUR: { 2: { register: 10, renew: 12, transfer: 0 } } } }',
    '  .fr: { active: true }',
    `  .de: { active: true, prices: ${price}, lookup: none }`,
    '',
  ].join('\n');
}

async function serve(settings: Record<string, string> = {}) {
  const rdap = await createRdapUpstream();
  const root = createProject({ 'catalog/domains.yaml': catalogOf(rdap.base) });
  await buildProject(root);
  const app = await createTestApp({ root, settings: { ...generous, DATA_DIR: temporaryFolder(), ...settings } });
  return { app, rdap, root };
}

async function search(app: TestApp, name: string) {
  const { status, json: body } = await askJson(app, `/v1/domains/search?domain=${encodeURIComponent(name)}`);
  return { status, body };
}

async function listed(app: TestApp) {
  const { status, json } = await askJson<{ tlds: { tld: string }[] }>(app, '/v1/domains/tlds');
  return { status, ...json };
}

test('a free and a taken name are distinguished, with prices and order URLs', async () => {
  const { app, rdap } = await serve();
  rdap.taken.add('taken.com');
  const order_url = 'https://clients.example.com/?name=free.com';
  const body = { success: true, domain: 'free.com', tld: '.com', available: true, pricing, order_url };
  expect(await search(app, 'Free.com')).toEqual({ status: 200, body });
  expect((await search(app, 'taken.com')).body).toMatchObject({ available: false, domain: 'taken.com' });
  expect((await search(app, 'free.co.uk')).body).toMatchObject({
    tld: '.co.uk',
    available: true,
    order_url: 'https://clients.example.com/uk',
  });
});

test('every listed TLD can be searched with the same prices, and no others', async () => {
  const { app, rdap } = await serve();
  const { tlds } = await listed(app);
  expect(tlds).toEqual([
    { tld: '.co.uk', pricing, order_url: 'https://clients.example.com/uk' },
    { tld: '.com', pricing },
    { tld: '.de', pricing },
  ]);
  for (const { tld } of tlds) {
    const { status, body } = await search(app, `a-name-to-search-for${tld}`);
    // This test's .de has no lookup source, so its availability is unknown.
    if (tld === '.de') expect(status).toBe(502);
    else expect(body).toMatchObject({ tld, pricing });
  }
  for (const tld of ['.eu', '.pl', '.nl', '.fr', '.org', '.uk', '.org.uk']) {
    const { status, body } = await search(app, `a-name${tld}`);
    expect({ tld, status, error: body.error }).toEqual({ tld, status: 404, error: 'tld_not_found' });
  }
  expect(rdap.queried().filter((name) => name.startsWith('a-name.'))).toEqual([]);
});

test('a failing or unreachable registry is 502', async () => {
  const { app, rdap } = await serve();
  await search(app, 'warm-up.com');
  for (const fault of [{ status: 500 }, { status: 403 }, 'garbage', { status: 200, body: '{}' }] as const) {
    rdap.fail(fault);
    const { status, body } = await search(app, `name-${JSON.stringify(fault).length}.com`);
    expect({ fault, status, error: body.error }).toEqual({ fault, status: 502, error: 'provider_error' });
  }
  await rdap.stop();
  expect((await search(app, 'some-other.com')).status).toBe(502);
});

test('an invalid name causes no lookup', async () => {
  const { app, rdap } = await serve();
  // This catalog has other TLDs without a name. A URL cannot contain malformed Unicode.
  const { 'in front of the TLD': _, ...wrong } = wrongNames;
  const names: string[] = Object.values(wrong).flat();
  for (const name of names.filter((text) => text.isWellFormed())) {
    const { status, body } = await search(app, name);
    const expected = body.error === 'tld_not_found' ? 404 : 400;
    expect({ name, status }).toEqual({ name, status: expected });
  }
  expect(rdap.queried()).toEqual([]);
});

test('200 concurrent searches for one name cause one lookup, and the answer is cached', async () => {
  const { app, rdap } = await serve();
  await search(app, 'warm-up.com');
  const before = rdap.queried().length;
  const answers = await Promise.all(Array.from({ length: 200 }, () => search(app, 'popular.com')));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  await search(app, 'POPULAR.com.');
  expect(rdap.queried().slice(before)).toEqual(['popular.com']);
});

test('a client has a separate limit for searches', async () => {
  const { app } = await serve({ DOMAIN_RATELIMIT_BURST: '2', DOMAIN_RATELIMIT_RPS: '1' });
  stopClock();
  const statuses = [];
  for (let count = 0; count < 3; count += 1) statuses.push((await search(app, 'com')).status);
  expect(statuses).toEqual([400, 400, 429]);
  const { text, headers } = await ask(app, '/v1/domains/search?domain=com');
  expect(text).toBe(renderProblem('json', 'rate_limited'));
  expect(headers['ratelimit-policy']).toContain('"domains";q=2;w=2');
  expect((await listed(app)).status).toBe(200);
});

test('the list has an ETag and changes with the release', async () => {
  const { app, rdap, root } = await serve();
  const first = await ask(app, '/v1/domains/tlds');
  expect(first.headers.etag).toMatch(/^"[0-9a-f]{32}"$/);
  const same = await ask(app, '/v1/domains/tlds', { headers: { 'If-None-Match': first.headers.etag } });
  expect(same.status).toBe(304);
  writeFiles(root, { 'catalog/domains.yaml': catalogOf(rdap.base).replace('register: 10', 'register: 11') });
  await buildProject(root);
  await expect.poll(async () => (await ask(app, '/v1/domains/tlds')).headers.etag).not.toBe(first.headers.etag);
});

/** Simulates a WHMCS with these prices in EUR. */
async function createWhmcs(prices: unknown) {
  const { upstream, shop, settings } = await createWhmcsUpstream();
  shop.pricing['EUR'] = prices;
  return { billing: upstream, settings };
}

test.each([
  ['no TLD', 'tlds: {}\n', 200, 404],
  ['no active TLD', 'tlds:\n  .com: { active: false }\n', 200, 404],
  ['no complete prices', 'tlds:\n  .com: {}\n', 500, 500],
])('a catalog with %s', async (_, catalogText, list, found) => {
  const root = createProject({ 'catalog/domains.yaml': catalogText });
  await buildProject(root);
  const app = await createTestApp({ root, settings: { ...generous, DATA_DIR: temporaryFolder() } });
  const { status, json } = await askJson(app, '/v1/domains/tlds');
  expect(status).toBe(list);
  expect(json).toMatchObject(list === 200 ? { tlds: [] } : { error: 'pricing_unavailable' });
  expect((await search(app, 'a.com')).status).toBe(found);
  expect(await search(app, 'a b.com')).toMatchObject({ status: 400, body: { error: 'invalid_domain' } });
});

/** Serves .me, .nl and .de with a WHOIS server that knows no name. */
async function serveWhois(answer: (line: string) => string = () => 'Domain not found.\r\n') {
  const whois = await createTextUpstream(answer);
  const rows = ['.me: { ', '.nl: { letters: none, ', '.de: { letters: ÄÖü, '].map(
    (start) => `  ${start}prices: ${price}, lookup: { whois: "${whois.address}" } }`,
  );
  const root = createProject({ 'catalog/domains.yaml': ['tlds:', ...rows, ''].join('\n') });
  await buildProject(root);
  const settings = { ...generous, DOMAIN_RATELIMIT_RPS: '100000', DATA_DIR: temporaryFolder() };
  return { whois, app: await createTestApp({ root, settings }) };
}

test('a letter that the registry does not take is 400, also in an A-label', async () => {
  const { app } = await serveWhois();
  const [ofNl, ofDe] = ['nl domain must not contain ü, only a-z, 0-9, hyphens', 'de domain must not contain é, only'];
  expect(await search(app, 'Müller.nl')).toMatchObject({ status: 400, body: { message: `A .${ofNl}` } });
  expect(await search(app, 'xn--mller-kva.nl')).toMatchObject({ status: 400, body: { message: `A .${ofNl}` } });
  expect(await search(app, 'café.de')).toMatchObject({
    status: 400,
    body: { error: 'invalid_domain', message: `A .${ofDe} a-z, 0-9, hyphens and äöü` },
  });
  for (const name of ['mueller-1.nl', 'MÜLLER.de', 'café.me']) {
    expect((await search(app, name)).body).toMatchObject({ available: true });
  }
});

test('a 502 has Retry-After if a server is paused or has too many queries, and only then', async () => {
  const busy = await serveWhois();
  // Else a slow test would get further queries.
  stopClock();
  const names = Array.from({ length: 40 }, (_, index) => `name${index}.me`);
  const askFor = (app: TestApp, name: string) => ask(app, `/v1/domains/search?domain=${name}`);
  const answers = await Promise.all(names.map((name) => askFor(busy.app, name)));
  const refused = answers.filter(({ status }) => status === 502);
  expect(refused.length).toBeGreaterThan(20);
  for (const { headers } of refused) expect(Number(headers['retry-after'])).toBeOneOf([...Array(41).keys()].slice(1));
  expect(busy.whois.seen).toHaveLength(40 - refused.length);

  const banned = await serveWhois((line) => (line.startsWith('a') ? 'Quota exceeded\r\n' : 'what is this\r\n'));
  expect((await askFor(banned.app, 'b.me')).headers).not.toHaveProperty('retry-after');
  const paused = await Promise.all(Array.from({ length: 40 }, () => askFor(banned.app, 'a.me')));
  expect(new Set(paused.map(({ status, headers }) => `${status} ${headers['retry-after']}`))).toEqual(
    new Set(['502 10']),
  );
  expect(banned.whois.seen).toEqual(['b.me', 'a.me']);
  expect(Number((await askFor(banned.app, 'b.me')).headers['retry-after'])).toBeGreaterThan(0);
});

test('live prices come from WHMCS and stay available while it fails', async () => {
  const year = { register: { 1: '7.00' }, renew: { 1: '8.00' }, transfer: { 1: '0.00' } };
  const sold = { com: year, org: { ...year, renew: [] }, de: year, eu: year, 'xn--p1ai': year };
  const { billing, settings } = await createWhmcs(sold);
  const { app, rdap } = await serve(settings);
  await expect.poll(async () => (await listed(app)).status).toBe(200);
  // The catalog hides .eu, and only the catalog has .co.uk.
  expect((await listed(app)).tlds.map(({ tld }) => tld)).toEqual(['.com', '.de', '.xn--p1ai']);
  for (const name of ['a.eu', 'a.co.uk']) expect((await search(app, name)).status).toBe(404);
  expect((await search(app, 'free.com')).body).toMatchObject({ available: true, pricing: { register: 7, renew: 8 } });
  await billing.stop();
  expect((await listed(app)).status).toBe(200);
  expect(JSON.stringify(app.log())).not.toContain(settings.WHMCS_SECRET);
  expect(rdap.queried()).toContain('free.com');
});

test('live prices are 502 if never read, and 500 if none is complete', async () => {
  const { settings } = await createWhmcs([]);
  const none = await serve({ ...settings, WHMCS_URL: 'http://127.0.0.1:9' });
  expect(await search(none.app, 'a.com')).toMatchObject({ status: 502, body: { error: 'provider_error' } });
  expect((await listed(none.app)).status).toBe(502);

  const empty = await serve(settings);
  await expect.poll(async () => (await listed(empty.app)).status).toBe(500);
  expect(await search(empty.app, 'a.com')).toMatchObject({ status: 500, body: { error: 'pricing_unavailable' } });
});

/** Creates an availability service with a fake registry; the test answers each check. */
function createService() {
  const checks: { answer: (availability: Availability) => void; fail: (error: Error) => void }[] = [];
  const advance = stopClock();
  const check = createAvailability({
    check: () => new Promise((answer, fail) => void checks.push({ answer, fail })),
  });
  return { check, checks, advance };
}

const domain: DomainName = { name: 'example.com', tld: 'com' };

test('a taken name is cached for 10 minutes, and a free one for one minute', async () => {
  for (const [availability, ms] of [
    ['taken', 600_000],
    ['free', 60_000],
  ] as const) {
    const { check, checks, advance } = createService();
    const first = check(domain, undefined);
    checks[0]!.answer(availability);
    expect(await first).toBe(availability);
    advance(ms);
    expect(await check(domain, undefined)).toBe(availability);
    expect(checks).toHaveLength(1);
    advance(1);
    void check(domain, undefined);
    expect(checks).toHaveLength(2);
  }
});

test('an unknown result is not cached', async () => {
  const { check, checks } = createService();
  const first = check(domain, undefined);
  checks[0]!.answer('unknown');
  await expect(first).rejects.toMatchObject({ code: 'provider_error', headers: {} });
  const second = check(domain, undefined);
  checks[1]!.answer('taken');
  expect(await second).toBe('taken');
});

test('a lookup that throws fails its searches, and the next search repeats it', async () => {
  const { check, checks } = createService();
  const answers = Promise.allSettled([check(domain, undefined), check(domain, undefined)]);
  checks[0]!.fail(new Error('a defect'));
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  void check(domain, undefined);
  expect(checks).toHaveLength(2);
});

test('each lookup source has its own cache entry', async () => {
  const { check, checks } = createService();
  const first = check(domain, undefined);
  checks[0]!.answer('free');
  expect(await first).toBe('free');
  const second = check(domain, 'none');
  checks[1]!.answer('taken');
  expect(await second).toBe('taken');
  expect(await check(domain, undefined)).toBe('free');
});

test('the cache is bounded', async () => {
  const { check, checks } = createService();
  for (let count = 0; count < 50_001; count += 1) {
    const answer = check({ name: `n${count}.com`, tld: 'com' }, undefined);
    checks[count]!.answer('taken');
    await answer;
  }
  void check({ name: 'n0.com', tld: 'com' }, undefined);
  expect(checks).toHaveLength(50_002);
  expect(await check({ name: 'n50000.com', tld: 'com' }, undefined)).toBe('taken');
});

const isUrl = 'The domain must be without a protocol, port, path or query';

/** Messages for invalid names. Suggestions are valid names, also checked. */
const messages: readonly (readonly [name: string, message: string])[] = [
  ['ex ample.com', 'The domain must not contain a space'],
  ['ex\tample.com', 'The domain must not contain U+0009'],
  ['a\u0000b.com', 'The domain must not contain U+0000'],
  ['a\u2028b.com', 'The domain must not contain U+2028'],
  ['exam_ple.com', 'The domain must not contain _'],
  ['<script>.com', 'The domain must not contain <'],
  [' free.com', 'The domain must not begin or end with a space; search for free.com'],
  ['info@free.com', 'The domain must not contain @; search for free.com'],
  ['info@', 'The domain must not contain @'],
  ['www.free.com', 'Only a whole domain can be searched for, without a subdomain; search for free.com'],
  ['a.b.free.co.uk', 'Only a whole domain can be searched for, without a subdomain; search for free.co.uk'],
  ['www.Bücher.com', 'Only a whole domain can be searched for, without a subdomain; search for bücher.com'],
  ['www.xn--bcher-kva.com.', 'Only a whole domain can be searched for, without a subdomain; search for bücher.com'],
  ['https://free.com', `${isUrl}; search for free.com`],
  ['HTTPS://info@www.free.com:443/a?b#c', `${isUrl}; search for free.com`],
  ['free.com/', `${isUrl}; search for free.com`],
  ['free.com:80', `${isUrl}; search for free.com`],
  ['free.com?x', `${isUrl}; search for free.com`],
  ['mailto:info@free.com', `${isUrl}; search for free.com`],
  ['//free.com', `${isUrl}; search for free.com`],
  ['https://free.example', isUrl],
  ['https://<b>.com', isUrl],
  ['free.com..', 'The domain has an empty part; search for free.com'],
  ['.free.com', 'The domain has an empty part; search for free.com'],
  ['a..free.com', 'The domain has an empty part'],
];

test('the message for an invalid name has the fault and the name to search for', async () => {
  const { app } = await serve();
  for (const [name, message] of messages) {
    const body = { success: false, error: 'invalid_domain', message };
    expect({ name, ...(await search(app, name)) }).toEqual({ name, status: 400, body });
  }
});
