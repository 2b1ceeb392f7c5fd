import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { TldPrices } from '../../server/domains/types.ts';
import { createWhmcs } from '../../server/domains/prices/whmcs.ts';
import type { LivePrices } from '../../server/domains/prices/live.ts';
import { com, createPast, createSource, createWorld, down, hourMs, sold } from '../helpers/live-prices.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { createTestLog, until } from '../helpers/upstream.ts';
import { createWhmcsUpstream, refusal, whmcsCredential } from '../helpers/upstream-whmcs.ts';

test('the first read begins at once, and nobody waits for it', async () => {
  const { start, told } = createWorld();
  const source = createSource(() => new Promise(() => {}));
  const prices = start(source);
  expect(source.reads).toBe(1);
  expect(prices.current()).toBeUndefined();
  expect(told).toEqual([]);
});

test('what was read is served, and kept on disk for nobody else to read', async () => {
  const { start, file, told } = createWorld();
  const prices = start(createSource(() => Promise.resolve(sold())));
  await until('prices are served', () => prices.current() !== undefined);
  await until('they are on disk', () => existsSync(file));
  expect(prices.current()).toEqual(sold());
  await prices.stop();
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ readAt: '2026-11-20T00:00:00.000Z', prices: { com } });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(dirname(file))).toEqual(['domain-prices-test.json']);
  expect(told).toEqual([]);
});

test('prices are read again and again, and never twice at one time', async () => {
  const { start } = createWorld();
  const source = createSource(() => sleep(10, sold()));
  const prices = start(source, { refreshMs: 1 });
  await until('they were read five times', () => source.reads >= 5);
  expect(source.atOnce).toBe(1);
  source.answer = () => Promise.resolve(sold({ de: com }));
  await until('the new ones are served', () => prices.current()?.has('de') === true);
  expect(prices.current()!.has('com')).toBe(false);
});

test('the map is the same one while nothing changed', async () => {
  const { start } = createWorld();
  const source = createSource(() => Promise.resolve(sold()));
  const prices = start(source);
  await until('they are served', () => prices.current() !== undefined);
  const first = prices.current();
  await until('they were read again', () => source.reads >= 4);
  expect(prices.current()).toBe(first);
});

test('the last good ones serve while the billing system is down, until they are a day old', async () => {
  const world = createWorld();
  const source = createSource(() => Promise.resolve(sold()));
  const prices = world.start(source);
  await until('they are served', () => prices.current() !== undefined);
  source.answer = down;
  await until('a read failed', () => world.told.length > 0);
  expect(new Set(world.told)).toEqual(new Set(['the domain prices cannot be read: the billing system is down']));
  world.hours = 24;
  expect(prices.current()).toEqual(sold());
  world.hours = 24.001;
  expect(prices.current()).toBeUndefined();
  source.answer = () => Promise.resolve(sold({ de: com }));
  await until('it is back', () => prices.current() !== undefined);
  expect(prices.current()).toEqual(sold({ de: com }));
});

test('the age of a copy counts from the beginning of its read', async () => {
  const world = createWorld();
  const answer = Promise.withResolvers<Map<string, TldPrices>>();
  const prices = world.start(createSource(() => answer.promise));
  world.hours = 1;
  answer.resolve(sold());
  await until('they are served', () => prices.current() !== undefined);
  world.hours = 24.001;
  expect(prices.current()).toBeUndefined();
});

test('never reached: nothing is served, and it is tried again soon, not only at the next refresh', async () => {
  const { start, told } = createWorld();
  const source = createSource(down);
  const prices = start(source, { refreshMs: hourMs, retryMs: 5 });
  await until('it was tried again', () => source.reads >= 3);
  expect(prices.current()).toBeUndefined();
  expect(told[0]).toBe('the domain prices cannot be read: the billing system is down');
  source.answer = () => Promise.resolve(sold());
  await until('prices are served', () => prices.current() !== undefined);
  const { reads } = source;
  await sleep(30);
  expect(source.reads).toBe(reads);
});

test('an answer in which nothing is complete replaces the good one before it, also after a restart', async () => {
  const world = createWorld();
  const source = createSource(() => Promise.resolve(sold()));
  const prices = world.start(source);
  await until('they are served', () => prices.current() !== undefined);
  source.answer = () => Promise.resolve(sold({}));
  await until('nothing is on sale', () => prices.current()!.size === 0);
  expect(world.told).toContain('no TLD of the billing system has all its prices for one year in EUR');
  await prices.stop();
  expect(world.start(createSource(down)).current()).toEqual(new Map());
});

test('after a restart the copy on disk serves at once, with the billing system down', async () => {
  const world = await createPast(sold({ com, 'xn--p1ai': com }));
  world.hours = 23;
  const prices = world.start(createSource(down));
  expect(prices.current()).toEqual(sold({ com, 'xn--p1ai': com }));
  await until('a read failed', () => world.told.length > 0);
  expect(prices.current()).toEqual(sold({ com, 'xn--p1ai': com }));
});

test('a restart does not make a copy younger', async () => {
  const world = await createPast(sold());
  world.hours = 24.001;
  expect(world.start(createSource(down)).current()).toBeUndefined();
});

test('a copy of the future serves for a day, and no longer', async () => {
  const world = await createPast(sold());
  world.hours = -1000;
  const prices = world.start(createSource(down));
  expect(prices.current()).toEqual(sold());
  world.hours += 24.001;
  expect(prices.current()).toBeUndefined();
});

test.each([
  ['is empty', ''],
  ['is cut', '{"readAt":"2026-11-20T00:00:00.000Z","prices":{"com":{"register":11.4'],
  ['is of another shape', '[]'],
  ['has no time', JSON.stringify({ prices: { com } })],
  ['has a time that is none', JSON.stringify({ readAt: 'yesterday', prices: { com } })],
  [
    'has a price below zero',
    JSON.stringify({ readAt: '2026-11-20T00:00:00Z', prices: { com: { ...com, renew: -1 } } }),
  ],
  ['lacks a price', JSON.stringify({ readAt: '2026-11-20T00:00:00Z', prices: { com: { register: 1, renew: 1 } } })],
  ['has a price as text', JSON.stringify({ readAt: '2026-11-20T00:00:00Z', prices: { com: { ...com, renew: '1' } } })],
])('a file that %s is ignored with a warning, and replaced', async (_, content) => {
  const { start, file, told } = createWorld();
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  const answer = Promise.withResolvers<Map<string, TldPrices>>();
  const prices = start(createSource(() => answer.promise));
  expect(prices.current()).toBeUndefined();
  expect(told).toEqual([expect.stringContaining('the stored domain prices are ignored')]);
  answer.resolve(sold());
  await until('prices are served', () => prices.current() !== undefined);
  expect(prices.current()).toEqual(sold());
  await prices.stop();
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ readAt: '2026-11-20T00:00:00.000Z', prices: { com } });
});

test('a place that cannot be read or written is told, and prices are served from memory', async () => {
  const { start, file, told } = createWorld();
  mkdirSync(join(file, 'in-the-way'), { recursive: true });
  const prices = start(createSource(() => Promise.resolve(sold())));
  await until('it cannot be written', () => told.length >= 2);
  expect(told[0]).toContain('the stored domain prices are ignored');
  expect(told[1]).toContain('the domain prices cannot be stored');
  expect(prices.current()).toEqual(sold());
});

test('a stop ends the read that is running, and is no failure', async () => {
  const { start, told } = createWorld();
  const source = createSource(() => new Promise(() => {}));
  const prices = start(source);
  await prices.stop();
  expect(source.closed).toBe(true);
  await sleep(20);
  expect(source.reads).toBe(1);
  expect(told).toEqual([]);
});

test('a stop between two reads is the end of them', async () => {
  const { start, file } = createWorld();
  const source = createSource(() => Promise.resolve(sold()));
  const prices = start(source);
  await until('it was read', () => existsSync(file));
  await prices.stop();
  const { reads } = source;
  await sleep(30);
  expect(source.reads).toBe(reads);
});

test('a process that has nothing else to do is not kept by the next refresh', async () => {
  const program = `
    import { createLivePrices } from './server/domains/prices/live.ts';
    const source = { read: async () => new Map(), close: async () => {} };
    createLivePrices({ source, file: process.argv[1], onFailure: () => {} }).start();`;
  const file = join(temporaryFolder(), 'prices.json');
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, file], { timeout: 30_000 });
  await expect(run).resolves.toMatchObject({ stdout: '' });
  expect(existsSync(file)).toBe(true);
});

test('with a WHMCS: read, refused, gone and after a restart, with its secret in no line of the log and no file', async () => {
  const { upstream } = await createWhmcsUpstream();
  const { log, written } = createTestLog();
  const { start, file } = createWorld();
  const startWhmcs = (): LivePrices => {
    const settings = { url: `${upstream.url}/clients`, ...whmcsCredential };
    const source = createWhmcs(settings, { timeoutMs: 20_000, warn: (message) => log.warn(message) });
    return start(source, { onFailure: (what, error) => log.error({ err: error }, what) });
  };
  const { secret } = whmcsCredential;
  const first = startWhmcs();
  await until('prices are served', () => first.current() !== undefined);
  const served = first.current();
  expect([...served!.keys()]).toEqual(['com', 'co.uk']);
  upstream.fail(refusal(`Authentication Failed for ${secret}`, 403));
  await until('a refusal is in the log', () => written().includes('Authentication Failed for [redacted]'));
  upstream.fail({ status: 200, body: `<pre>identifier=x&secret=${secret}</pre>` });
  await until('a page is in the log', () => written().includes('<pre>identifier=x&secret=[redacted]'));
  await upstream.stop();
  await until('its absence is in the log', () => written().includes('ECONNREFUSED'));
  expect(first.current()).toBe(served);
  await first.stop();

  const second = startWhmcs();
  expect(second.current()).toEqual(served);
  await second.stop();
  expect(written()).not.toContain(secret);
  expect(readFileSync(file, 'utf8')).not.toContain(secret);
});
