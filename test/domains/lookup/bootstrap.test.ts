import { expect, onTestFinished, test } from 'vitest';
import { createBootstrap } from '../../../server/domains/lookup/rdap-bootstrap.ts';
import { createBootstrapUpstream, createRdapUpstream, toBootstrap } from '../../helpers/upstream-registry.ts';
import { createTestLog, until } from '../../helpers/upstream.ts';
import type { Fault } from '../../helpers/upstream.ts';
import { createTestRegistries } from './harness.ts';

const day = 24 * 60 * 60 * 1000;

async function prepare(bases: Readonly<Record<string, string>>, refreshMs = day) {
  const upstream = await createBootstrapUpstream(bases);
  const { log, written } = createTestLog();
  let passed = 0;
  const bootstrap = createBootstrap({
    url: `${upstream.url}/rdap/dns.json`,
    builtIn: new Map([['com', 'https://rdap.built-in.example/']]),
    userAgent: 'hosting-api/test',
    refreshMs,
    now: () => performance.now() + passed,
    log,
  });
  onTestFinished(() => bootstrap.close());
  return { upstream, bootstrap, written, pass: (ms: number) => void (passed += ms) };
}

test('the built-in list serves until the first is read, and is not vouched for', async () => {
  const { bootstrap } = await prepare({ com: 'https://rdap.new.example/' });
  expect(bootstrap.find('com')).toEqual({ base: 'https://rdap.built-in.example/', entry: 'com' });
  expect(bootstrap.isCurrent()).toBe(false);
  await bootstrap.start();
  expect(bootstrap.find('com')).toEqual({ base: 'https://rdap.new.example/', entry: 'com' });
  expect(bootstrap.isCurrent()).toBe(true);
});

test('the longest end counts, label by label; what is not listed is nowhere', async () => {
  const { bootstrap } = await prepare({ uk: 'https://rdap.uk.example', 'co.uk': 'https://rdap.co-uk.example/' });
  await bootstrap.start();
  expect(bootstrap.find('co.uk')).toEqual({ base: 'https://rdap.co-uk.example/', entry: 'co.uk' });
  // A slash is added where one is missing.
  expect(bootstrap.find('org.uk')).toEqual({ base: 'https://rdap.uk.example/', entry: 'uk' });
  expect(bootstrap.find('notuk')).toBeUndefined();
  expect(bootstrap.find('com')).toBeUndefined();
});

test('servers that may not be called are left out; https is preferred', async () => {
  const { upstream, bootstrap } = await prepare({});
  const services = [
    [['kg'], ['http://rdap.kg.example/']],
    [['ip'], ['https://192.0.2.7/']],
    [['port'], ['https://rdap.example.com:8443/']],
    [['both'], ['http://rdap.both.example/', 'https://rdap.both.example/']],
    [['none'], []],
  ];
  const list = JSON.parse(toBootstrap({})) as { services: unknown[] };
  const body = JSON.stringify({ ...list, services: [...services, ...list.services] });
  upstream.fail({ status: 200, body });
  await bootstrap.start();
  await bootstrap.refresh();
  expect(bootstrap.find('both')?.base).toBe('https://rdap.both.example/');
  for (const tld of ['kg', 'ip', 'port', 'none']) expect(bootstrap.find(tld)).toBeUndefined();
});

test('the list is asked for again with its tag, and a 304 keeps it as current', async () => {
  const { upstream, bootstrap, pass } = await prepare({ com: 'https://rdap.new.example/' });
  await bootstrap.start();
  expect(upstream.seen[0]!.headers).not.toHaveProperty('if-none-match');
  upstream.fail({ status: 304 });
  pass(6 * day);
  await bootstrap.refresh();
  expect(upstream.seen[1]!.headers).toMatchObject({ 'if-none-match': '"1"', 'user-agent': 'hosting-api/test' });
  pass(6 * day);
  expect(bootstrap.isCurrent()).toBe(true);
  expect(bootstrap.find('com')?.base).toBe('https://rdap.new.example/');
});

test.each<[string, Fault]>([
  ['an error', { status: 500 }],
  ['a redirect', { status: 302, headers: { location: '/elsewhere' } }],
  ['a page for people', { status: 200, body: '<html></html>' }],
  ['JSON of another shape', { status: 200, body: '{"services":[["com"]]}' }],
  [
    'services of another shape',
    { status: 200, body: JSON.stringify({ services: Array.from({ length: 600 }, () => 'com') }) },
  ],
  ['too small a list', { status: 200, body: toBootstrap({ com: 'https://rdap.wrong.example/' }, 400) }],
  ['a list of which few may be called', { status: 200, body: toBootstrap({}).replaceAll('https:', 'http:') }],
  ['too much', 'huge'],
  ['half of it', 'cut'],
  ['another protocol', 'garbage'],
  ['nothing, and the connection lost', 'drop'],
])('%s leaves the list as it is', async (_, fault) => {
  const { upstream, bootstrap, written, pass } = await prepare({ com: 'https://rdap.new.example/' });
  await bootstrap.start();
  upstream.fail(fault);
  await bootstrap.refresh();
  expect(bootstrap.find('com')?.base).toBe('https://rdap.new.example/');
  expect(written()).toContain('the previous one is still used');
  expect(bootstrap.isCurrent()).toBe(true);
  pass(8 * day);
  expect(bootstrap.isCurrent()).toBe(false);
});

test('a server that is down leaves the built-in list, whose servers have to prove themselves', async () => {
  const { upstream, bootstrap } = await prepare({});
  await bootstrap.start();
  await upstream.stop();
  const { log } = createTestLog();
  const away = createBootstrap({
    url: upstream.url,
    builtIn: new Map([['com', 'https://rdap.built-in.example/']]),
    userAgent: 'x',
    refreshMs: day,
    now: () => performance.now(),
    log,
  });
  onTestFinished(() => away.close());
  await away.start();
  expect(away.find('com')?.base).toBe('https://rdap.built-in.example/');
  expect(away.isCurrent()).toBe(false);
});

test('the list is read again by itself', async () => {
  const { upstream, bootstrap } = await prepare({}, 20);
  await bootstrap.start();
  await until('it was read three times', () => upstream.seen.length >= 3);
  expect(upstream.seen[2]!.headers['if-none-match']).toBe('"1"');
});

test('the first names wait for the list, and a new one is used from then on', async () => {
  const [old, moved] = [await createRdapUpstream(), await createRdapUpstream(['some-name.shop'])];
  const list = await createBootstrapUpstream({ shop: `${old.url}/` });
  const registries = createTestRegistries({ bootstrapUrl: list.url, limits: { refreshMs: 50 } });
  expect(await registries.check({ name: 'some-name.shop', tld: 'shop' })).toBe('free');
  list.fail({ status: 200, body: toBootstrap({ shop: `${moved.url}/` }) });
  const before = list.seen.length;
  await until('it is read again', () => list.seen.length > before + 1);
  expect(await registries.check({ name: 'some-name.shop', tld: 'shop' })).toBe('taken');
});
