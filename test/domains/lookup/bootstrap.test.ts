import { expect, onTestFinished, test } from 'vitest';
import { listedBases } from '#common/domain-sources.ts';
import { createBootstrap } from '../../../server/domains/lookup/rdap.ts';
import { shiftClock } from '../../helpers/clock.ts';
import { createRdapUpstream } from '../../helpers/upstream-rdap.ts';
import { createBootstrapUpstream, toBootstrap } from '../../helpers/upstream-registry.ts';
import { createTestLog, json, until } from '../../helpers/upstream.ts';
import type { Fault } from '../../helpers/upstream.ts';
import { createTestRegistries } from './harness.ts';

const day = 24 * 60 * 60 * 1000;
const builtIn = listedBases.get('com');

async function prepare(bases: Readonly<Record<string, string>>) {
  const upstream = await createBootstrapUpstream(bases);
  const { log, written } = createTestLog();
  const advance = shiftClock();
  const url = `${upstream.url}/rdap/dns.json`;
  const bootstrap = createBootstrap(url, 'hosting-api/test', day, log);
  onTestFinished(() => bootstrap.close());
  return { upstream, bootstrap, written, advance };
}

test('the built-in list is used before the first read, and is not current', async () => {
  const { bootstrap } = await prepare({ com: 'https://rdap.new.example/' });
  expect(bootstrap.find('com')).toEqual({ base: builtIn, entry: 'com' });
  expect(bootstrap.isCurrent()).toBe(false);
  await bootstrap.start();
  expect(bootstrap.find('com')).toEqual({ base: 'https://rdap.new.example/', entry: 'com' });
  expect(bootstrap.isCurrent()).toBe(true);
});

test('the longest matching suffix counts, label by label; unlisted names have no server', async () => {
  const { bootstrap } = await prepare({ uk: 'https://rdap.uk.example', 'co.uk': 'https://rdap.co-uk.example/' });
  await bootstrap.start();
  expect(bootstrap.find('co.uk')).toEqual({ base: 'https://rdap.co-uk.example/', entry: 'co.uk' });
  // A missing slash is added.
  expect(bootstrap.find('org.uk')).toEqual({ base: 'https://rdap.uk.example/', entry: 'uk' });
  expect(bootstrap.find('notuk')).toBeUndefined();
  expect(bootstrap.find('com')).toBeUndefined();
});

test('disallowed servers are left out, and https is preferred', async () => {
  const { upstream, bootstrap } = await prepare({});
  const services = [
    [['kg'], ['http://rdap.kg.example/']],
    [['ip'], ['https://192.0.2.7/']],
    [['port'], ['https://rdap.example.com:8443/']],
    [['both'], ['http://rdap.both.example/', 'https://rdap.both.example/']],
    [['none'], []],
    [
      [7, 'odd'],
      [null, 'https://rdap.odd.example/'],
    ],
    7,
  ];
  const list = JSON.parse(toBootstrap({})) as { services: unknown[] };
  upstream.fail(json(200, { ...list, services: [...services, ...list.services] }));
  await bootstrap.start();
  await bootstrap.refresh();
  for (const tld of ['both', 'odd']) expect(bootstrap.find(tld)?.base).toBe(`https://rdap.${tld}.example/`);
  for (const tld of ['kg', 'ip', 'port', 'none']) expect(bootstrap.find(tld)).toBeUndefined();
});

test.each<[string, Fault]>([
  ['an error', { status: 500 }],
  ['a redirect', { status: 302, headers: { location: '/elsewhere' } }],
  ['an HTML page', { status: 200, body: '<html></html>' }],
  ['JSON of another shape', { status: 200, body: '{"services":[["com"]]}' }],
  ['services of another shape', json(200, { services: Array.from({ length: 600 }, () => 'com') })],
  ['too small a list', { status: 200, body: toBootstrap({ com: 'https://rdap.wrong.example/' }, 400) }],
  ['a list with few allowed servers', { status: 200, body: toBootstrap({}).replaceAll('https:', 'http:') }],
  ['a huge response', 'huge'],
  ['half of a response', 'cut'],
  ['another protocol', 'garbage'],
  ['a dropped connection', 'drop'],
])('%s leaves the list unchanged', async (_, fault) => {
  const { upstream, bootstrap, written, advance } = await prepare({ com: 'https://rdap.new.example/' });
  await bootstrap.start();
  upstream.fail(fault);
  await bootstrap.refresh();
  expect(bootstrap.find('com')?.base).toBe('https://rdap.new.example/');
  expect(written()).toContain('the previous list stays in use');
  expect(bootstrap.isCurrent()).toBe(true);
  advance(8 * day);
  expect(bootstrap.isCurrent()).toBe(false);
});

test('if the list server is down, the built-in list is used and its servers need a canary check', async () => {
  const { upstream, bootstrap } = await prepare({});
  await upstream.stop();
  await bootstrap.start();
  expect(bootstrap.find('com')?.base).toBe(builtIn);
  expect(bootstrap.isCurrent()).toBe(false);
});

test('the first searches wait for the list, and a new list is used after a refresh', async () => {
  const [old, moved] = [
    await createRdapUpstream({ names: [] }),
    await createRdapUpstream({ names: ['some-name.shop'] }),
  ];
  const list = await createBootstrapUpstream({ shop: `${old.url}/` });
  const registries = createTestRegistries({ bootstrapUrl: list.url, limits: { refreshMs: 50 } });
  expect(await registries.check({ name: 'some-name.shop', tld: 'shop' })).toBe('free');
  list.fail({ status: 200, body: toBootstrap({ shop: `${moved.url}/` }) });
  const before = list.seen.length;
  await until('the list is read again', () => list.seen.length > before + 1);
  expect(await registries.check({ name: 'some-name.shop', tld: 'shop' })).toBe('taken');
});
