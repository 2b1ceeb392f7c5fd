import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { stopClock, stopTimeouts } from '../../helpers/clock.ts';
import { createRdapUpstream, toDomainObject } from '../../helpers/upstream-rdap.ts';
import { createUpstream, json, until } from '../../helpers/upstream.ts';
import type { Answer } from '../../helpers/upstream.ts';
import { createListedRegistries, createTestRegistries, serveShop } from './harness.ts';

const shop = { name: 'some-name.shop', tld: 'shop' };
const missing = json(404, { errorCode: 404, title: 'Not Found' });

test.each<[string, Answer, string]>([
  ['the object of the name', json(200, toDomainObject(shop.name)), 'taken'],
  ['a name in capitals, as Verisign has it', json(200, toDomainObject('SOME-NAME.SHOP')), 'taken'],
  ['a name with a dot at its end', json(200, toDomainObject('some-name.shop.')), 'taken'],
  ['a name in redemption', json(200, toDomainObject(shop.name, { status: ['redemption period'] })), 'taken'],
  ['only the Unicode name', json(200, { objectClassName: 'domain', unicodeName: 'Some-Name.shop' }), 'taken'],
  ['an object with an error in it', json(200, toDomainObject(shop.name, { errorCode: 404 })), 'unknown'],
  ['another kind of object', json(200, { objectClassName: 'ip network', ldhName: shop.name }), 'unknown'],
  ['a domain without a name', json(200, { objectClassName: 'domain' }), 'unknown'],
  ['404 with an RDAP error body', missing, 'free'],
  ['404 with only an RDAP version', json(404, { rdapConformance: ['rdap_level_0'] }), 'free'],
  ['404 whose error code is a text', json(404, { errorCode: '404' }), 'free'],
  ["404 with the server's own error code", json(404, { rdapConformance: ['rdap_level_0'], errorCode: 4041 }), 'free'],
  [
    '404 with another status in its body',
    json(404, { rdapConformance: ['rdap_level_0'], errorCode: '500' }),
    'unknown',
  ],
  ['404 with the object of the name', json(404, toDomainObject(shop.name)), 'unknown'],
  [
    'the Unicode name as ldhName null',
    json(200, { ...toDomainObject(shop.name), ldhName: null, unicodeName: shop.name }),
    'taken',
  ],
  ['the Unicode name as ldhName', json(200, { objectClassName: 'domain', ldhName: 'Some-Name.shop.' }), 'taken'],
  ['404 without a body', { status: 404 }, 'unknown'],
  ['404 with an HTML page', { status: 404, body: '<html>Object not found</html>' }, 'unknown'],
  ['404 with JSON of a gateway', json(404, { message: 'Not Found' }), 'unknown'],
  ['404 with JSON that is not an object', json(404, [404]), 'unknown'],
])('RDAP: %s', async (_, answer, expected) => {
  const { upstream, registries, check } = await serveShop(() => answer);
  expect(await check()).toBe(expected);
  // A 404 without an RDAP body is followed by the canary.
  expect(upstream.seen.filter(({ path }) => !path.endsWith('/nic.shop'))).toMatchObject([
    {
      method: 'GET',
      path: '/rdap/domain/some-name.shop',
      headers: {
        accept: 'application/rdap+json, application/json;q=0.5',
        'user-agent': 'hosting-api/test (+https://www.example.com)',
      },
    },
  ]);
  // Searched names are private and not logged.
  expect(registries.written()).not.toContain('some-name');
});

const withheld = 'some-name.shop blocked by the registry';
test.each<[string, object, string]>([
  ['blocked, in its description', { description: [withheld] }, 'taken'],
  ['blocked, in a description that is no list', { description: withheld }, 'taken'],
  ['reserved, in its title', { title: 'Reserved' }, 'taken'],
  ['reserved, in the title of a notice', { notices: [{ title: 'Reserved Domain' }] }, 'taken'],
  ['restricted, in a remark', { remarks: [{ title: 'Policy', description: ['Restricted'] }] }, 'taken'],
  ['not available, under another key', { errors: [{ detail: 'This name is not\n currently available' }] }, 'taken'],
  ['reserved, in a notice that is a text', { notices: 'Reserved' }, 'taken'],
  ['reserved, as an error', { error: 'Domain name is reserved' }, 'taken'],
  ['in an expiry access period', { notices: [{ title: 'Expiry Access Period' }] }, 'unknown'],
  ['a premium name', { message: 'Premium domain' }, 'unknown'],
  ['missing, with terms of use', { notices: [{ title: 'Terms', description: ['Misuse may be blocked.'] }] }, 'free'],
  [
    'missing, with terms of use as a text',
    { notices: { title: 'Terms', description: 'Access is restricted.' } },
    'free',
  ],
  ['missing, with links', { links: [{ title: 'Reserved names', href: 'https://example.com/premium' }] }, 'free'],
  ['missing, with all rights reserved', { description: ['Not found. All rights reserved.'] }, 'free'],
  ['missing, with the name', { description: ['some-name.shop not found'] }, 'free'],
])('a 404 that says the name is %s', async (_, members, expected) => {
  const { check } = await serveShop(() => json(404, { errorCode: 404, ...members }));
  expect(await check()).toBe(expected);
});

test('a word inside the searched name does not count', async () => {
  const { check } = await serveShop(() => json(404, { errorCode: 404, title: 'RESERVED.shop not found' }));
  expect(await check('reserved.shop')).toBe('free');
});

test('a 404 with another status in its body is one log line', async () => {
  const { registries, check } = await serveShop(() => json(404, { errorCode: 500 }));
  await check();
  expect(registries.written().match(/answered 404 with a body that contradicts it/g)).toHaveLength(1);
});

test('a reserved name without an RDAP body counts once the server has found a name, and does not confirm it', async () => {
  const { upstream, check } = await serveShop(({ path }) =>
    path.endsWith('/taken.shop') ? json(200, toDomainObject('taken.shop')) : json(404, { error: 'Name is reserved' }),
  );
  expect([await check(), await check('taken.shop'), await check()]).toEqual(['unknown', 'taken', 'taken']);
  expect(upstream.seen.filter(({ path }) => path.endsWith('/nic.shop'))).toHaveLength(1);
});

test('an internationalised name is compared as A-labels', async () => {
  const { check } = await serveShop(() => json(200, { objectClassName: 'domain', unicodeName: 'Müller.shop' }));
  expect(await check('xn--mller-kva.shop')).toBe('taken');
});

test.each([
  [502, 2],
  [503, 2],
  [504, 2],
  [500, 1],
  [429, 1],
])('status %i causes %i requests', async (status, times) => {
  const { upstream, check } = await serveShop(() => ({ status }));
  expect(await check()).toBe('unknown');
  expect(upstream.seen).toHaveLength(times);
});

test.each([301, 302, 303, 307, 308])('%i is followed on the same host, where a 404 counts', async (status) => {
  const { check } = await serveShop(({ path }) =>
    path.startsWith('/new/') ? missing : { status, headers: { location: `/new${path}` } },
  );
  expect(await check()).toBe('free');
});

test('after a redirect to another host a name can be taken, but not free', async () => {
  const elsewhere = await createRdapUpstream({ names: [shop.name] });
  const { check } = await serveShop(({ path }) => ({ status: 302, headers: { location: elsewhere.url + path } }));
  expect(await check()).toBe('taken');
  expect(await check('other.shop')).toBe('unknown');
  expect(elsewhere.seen).toHaveLength(2);
});

test('after a redirect to another host and back a name cannot be free', async () => {
  const elsewhere = await createUpstream(() => ({ status: 302, headers: { location: `${upstream.url}/back` } }));
  const { upstream, check } = await serveShop(({ path }) =>
    path === '/back' ? missing : { status: 302, headers: { location: elsewhere.url } },
  );
  expect(await check()).toBe('unknown');
});

test.each([
  [3, 'free', 4],
  [4, 'unknown', 4],
])('%i redirects: %s, after %i requests', async (redirects, expected, requests) => {
  const { upstream, check } = await serveShop(() =>
    upstream.seen.length > redirects ? missing : { status: 302, headers: { location: '/again' } },
  );
  expect(await check()).toBe(expected);
  expect(upstream.seen).toHaveLength(requests);
});

test.each<[string, () => Answer['headers'], number]>([
  ['for the given seconds', () => ({ 'retry-after': '30' }), 30_000],
  ['until the given time', () => ({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() }), 60_000],
  ['for 10 s without a Retry-After', () => ({}), 10_000],
  ['for 10 s with an invalid Retry-After', () => ({ 'retry-after': 'later' }), 10_000],
  ['for at least a second', () => ({ 'retry-after': '0' }), 1000],
  ['for at most five minutes', () => ({ 'retry-after': '86400' }), 300_000],
])('after 429 a host gets no requests %s, others do', async (_, headers, ms) => {
  const throttled = await createRdapUpstream({ names: [] });
  const other = await createRdapUpstream({ names: [] });
  const bases = { shop: `${throttled.url}/`, nl: `${other.url}/` };
  const registries = await createListedRegistries(bases);
  const advance = stopClock();
  throttled.fail({ status: 429, headers: headers()! });
  expect(await registries.check(shop)).toBe('unknown');
  throttled.fail(undefined);
  // A date has whole seconds, and a busy machine may take some seconds.
  advance(Math.max(0, ms - 30_000));
  for (let count = 0; count < 5; count += 1) expect(await registries.check(shop)).toBe('unknown');
  expect(throttled.seen).toHaveLength(1);
  expect(await registries.check({ name: 'some-name.nl', tld: 'nl' })).toBe('free');
  advance(30_000);
  expect(await registries.check(shop)).toBe('free');
});

test('1,000 concurrent names: four requests at a time per host, and the rest wait or are dropped', async () => {
  const upstream = await createRdapUpstream({ names: [] });
  let running = 0;
  let most = 0;
  upstream.server.removeAllListeners('request');
  upstream.server.on('request', (_, response) => {
    most = Math.max(most, (running += 1));
    setTimeout(() => {
      running -= 1;
      response.writeHead(404).end(missing.body);
    }, 50);
  });
  const askAll = async (count: number, lookupMs: number) => {
    const limits = { rate: { rps: 1, burst: 20 }, lookupMs };
    // The clock stands still: only the names of the burst are queried.
    const registries = await createListedRegistries({ shop: `${upstream.url}/` }, { limits });
    stopClock();
    const names = Array.from({ length: count }, (_, index) => ({ name: `name${index}.shop`, tld: 'shop' }));
    const answers = await Promise.all(names.map((domain) => registries.check(domain)));
    const free = answers.filter((answer) => answer === 'free').length;
    return { free, unknown: answers.filter((answer) => answer === 'unknown').length };
  };
  expect(await askAll(20, 20_000)).toEqual({ free: 20, unknown: 0 });
  const { free, unknown } = await askAll(1000, 1000);
  expect(most).toBe(4);
  expect(free).toBeLessThanOrEqual(20);
  expect(free + unknown).toBe(1000);
});

test('slow answers block others, four at a time', async () => {
  const clocks = [stopClock(), stopTimeouts(), (ms: number) => vi.advanceTimersByTime(ms)];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const pass = (ms: number) => clocks.forEach((advance) => advance(ms));
  const upstream = await createRdapUpstream({ names: [] });
  const registries = await createListedRegistries(
    { shop: `${upstream.url}/` },
    { limits: { lookupMs: 1000, answerMs: 800 } },
  );
  expect(await registries.check(shop)).toBe('free');
  upstream.forget();
  upstream.fail('hang');
  const names = Array.from({ length: 50 }, (_, index) => ({ name: `name${index}.shop`, tld: 'shop' }));
  const answers = Promise.all(names.map((domain) => registries.check(domain)));
  await until('four names are requested', () => upstream.seen.length >= 4);
  pass(800);
  // The next four start if time is left.
  await sleep(50);
  pass(200);
  expect(new Set(await answers)).toEqual(new Set(['unknown']));
  expect(upstream.seen.length).toBeLessThanOrEqual(8);
});

test('closed registries send no requests', async () => {
  const upstream = await createRdapUpstream({ names: [] });
  const registries = createTestRegistries();
  const arrived = upstream.hold();
  const running = registries.check(shop, { rdap: upstream.url });
  await arrived;
  await registries.close();
  expect(await running).toBe('unknown');
  expect(await registries.check(shop, { rdap: upstream.url })).toBe('unknown');
  expect(upstream.seen).toHaveLength(1);
});

test.each([
  { name: 'a/b.shop', tld: 'shop' },
  { name: 'a\r\nb.shop', tld: 'shop' },
  { name: 'a.b.shop', tld: 'shop' },
  { name: 'shop', tld: 'shop' },
  { name: 'some-name.com', tld: 'shop' },
])('$name causes no request', async (domain) => {
  const upstream = await createRdapUpstream({ names: [] });
  expect(await createTestRegistries().check(domain, { rdap: upstream.url })).toBe('unknown');
  expect(upstream.seen).toHaveLength(0);
});
