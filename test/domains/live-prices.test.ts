import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Logger } from '../../server/log.ts';
import type { TldPrices } from '../../server/domains/prices/source.ts';
import { shortenTimers } from '../helpers/clock.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { createTestLog, until } from '../helpers/upstream.ts';
import { createWhmcsUpstream, refusal } from '../helpers/upstream-whmcs.ts';
import { createLivePrices, createPriceSource } from '../../server/domains/prices.ts';

const hourMs = 3_600_000;
/** The prices of a TLD. */
const com = { register: 11.49, renew: 13.49, transfer: 11.49 };
/** A successful answer of a billing system. */
const sold = (tlds: Record<string, TldPrices> = { com }): Map<string, TldPrices> => new Map(Object.entries(tlds));
/** A failed read of a billing system. */
const down = (): Promise<never> => Promise.reject(new Error('the billing system is down'));

/** Creates a billing system whose answer a test may change. */
function createSource(answer: () => Promise<ReadonlyMap<string, TldPrices>>) {
  let running = 0;
  const closing = Promise.withResolvers<never>();
  closing.promise.catch(() => {});
  const source = {
    answer,
    reads: 0,
    /** The highest number of reads that ran at the same time. */
    atOnce: 0,
    closed: false,
    async read(): Promise<ReadonlyMap<string, TldPrices>> {
      source.reads += 1;
      running += 1;
      source.atOnce = Math.max(source.atOnce, running);
      return await Promise.race([source.answer(), closing.promise]).finally(() => (running -= 1));
    },
    close(): Promise<void> {
      source.closed = true;
      closing.reject(new Error('closed'));
      return Promise.resolve();
    },
  };
  return source;
}

type LivePrices = ReturnType<typeof createLivePrices>;

/** The pause between reads is 10 minutes, after a failure a minute or more, each with a jitter. */
const [retryMs, refreshMs] = [50_000, 500_000];

/** A folder that several runs of the service share, with a clock in hours since the start, and short pauses. */
function createWorld(shortened: readonly [from: number, below?: number] = [retryMs]) {
  shortenTimers(...shortened);
  const world = {
    file: join(temporaryFolder(), 'data', 'domain-prices-test.json'),
    hours: 0,
    /** Hours by which the wall clock was set. */
    setBy: 0,
    /** The reported failures, with the messages of their errors. */
    failures: [] as string[],
    /** Starts a run of the service. */
    start: (source: Parameters<typeof createLivePrices>[0], log?: Logger): LivePrices => {
      const error = (...[reported, message]: [{ err: Error }, string] | [string]) =>
        world.failures.push(typeof reported === 'string' ? reported : `${message}: ${reported.err.message}`);
      const prices = createLivePrices(source, world.file, log ?? ({ error } as unknown as Logger));
      onTestFinished(() => prices.stop());
      void prices.start();
      return prices;
    },
  };
  const startAt = Date.parse('2026-11-20T00:00:00Z');
  const wallClock = vi.spyOn(Date, 'now').mockImplementation(() => startAt + (world.hours + world.setBy) * hourMs);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => world.hours * hourMs);
  onTestFinished(() => [wallClock, clock].forEach((mock) => mock.mockRestore()));
  return world;
}

/** Creates a world in which an earlier run stored prices. */
async function createWorldWithStoredPrices(prices: ReadonlyMap<string, TldPrices>) {
  const world = createWorld();
  const before = world.start(createSource(() => Promise.resolve(prices)));
  await until('a copy is on disk', () => existsSync(world.file));
  await before.stop();
  world.failures.length = 0;
  return world;
}

test('prices are served and stored in a file that only the owner can read', async () => {
  const { start, file, failures } = createWorld();
  const prices = start(createSource(() => Promise.resolve(sold())));
  await until('prices are served', () => prices.current() !== undefined);
  await until('the prices are on disk', () => existsSync(file));
  expect(prices.current()).toEqual(sold());
  await prices.stop();
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ readAt: '2026-11-20T00:00:00.000Z', prices: { com } });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(dirname(file))).toEqual(['domain-prices-test.json']);
  expect(failures).toEqual([]);
});

test('prices are read repeatedly, never concurrently', async () => {
  const { start } = createWorld();
  const source = createSource(() => sleep(10, sold()));
  const prices = start(source);
  await until('prices were read five times', () => source.reads >= 5);
  expect(source.atOnce).toBe(1);
  source.answer = () => Promise.resolve(sold({ de: com }));
  await until('the new prices are served', () => prices.current()?.has('de') === true);
  expect(prices.current()!.has('com')).toBe(false);
});

test('the last good prices are served while the billing system is down, for a day', async () => {
  const world = createWorld();
  const source = createSource(() => Promise.resolve(sold()));
  const prices = world.start(source);
  await until('prices are served', () => prices.current() !== undefined);
  source.answer = down;
  await until('a read failed', () => world.failures.length > 0);
  expect(new Set(world.failures)).toEqual(new Set(['the domain prices cannot be read: the billing system is down']));
  world.hours = 24;
  expect(prices.current()).toEqual(sold());
  world.hours = 24.001;
  expect(prices.current()).toBeUndefined();
  source.answer = () => Promise.resolve(sold({ de: com }));
  await until('prices are served again', () => prices.current() !== undefined);
  expect(prices.current()).toEqual(sold({ de: com }));
});

test.each([-48, 48])('the age of the prices does not depend on the wall clock, which is set by %s h', async (hours) => {
  const world = createWorld();
  const source = createSource(() => Promise.resolve(sold()));
  const prices = world.start(source);
  await until('prices are served', () => prices.current() !== undefined);
  source.answer = down;
  await until('a read failed', () => world.failures.length > 0);
  world.setBy = hours;
  world.hours = 24;
  expect(prices.current()).toEqual(sold());
  world.hours = 24.001;
  expect(prices.current()).toBeUndefined();
});

test('the age of a copy counts from the start of its read', async () => {
  const world = createWorld([Infinity]);
  const answer = Promise.withResolvers<Map<string, TldPrices>>();
  const prices = world.start(createSource(() => answer.promise));
  world.hours = 1;
  answer.resolve(sold());
  await until('prices are served', () => prices.current() !== undefined);
  world.hours = 24.001;
  expect(prices.current()).toBeUndefined();
});

test('after a failed first read nothing is served, and the retry does not wait for the refresh interval', async () => {
  const { start, failures } = createWorld([retryMs, refreshMs]);
  const source = createSource(down);
  const prices = start(source);
  await until('two retries have started', () => source.reads >= 3);
  expect(prices.current()).toBeUndefined();
  expect(failures[0]).toBe('the domain prices cannot be read: the billing system is down');
  source.answer = () => Promise.resolve(sold());
  await until('prices are served', () => prices.current() !== undefined);
  const { reads } = source;
  await sleep(30);
  expect(source.reads).toBe(reads);
});

test('an answer without complete prices replaces the previous one, also after a restart', async () => {
  const world = createWorld();
  const source = createSource(() => Promise.resolve(sold()));
  const prices = world.start(source);
  await until('prices are served', () => prices.current() !== undefined);
  source.answer = () => Promise.resolve(sold({}));
  await until('nothing is on sale', () => prices.current()!.size === 0);
  expect(world.failures).toContain('no TLD of the billing system has complete prices for one year in EUR');
  await prices.stop();
  expect(world.start(createSource(down)).current()).toEqual(new Map());
});

test('after a restart the stored copy is served at once while the billing system is down', async () => {
  const world = await createWorldWithStoredPrices(sold({ com, 'xn--p1ai': com }));
  world.hours = 23;
  const prices = world.start(createSource(down));
  expect(prices.current()).toEqual(sold({ com, 'xn--p1ai': com }));
  await until('a read failed', () => world.failures.length > 0);
  expect(prices.current()).toEqual(sold({ com, 'xn--p1ai': com }));
});

test('a restart does not reset the age of a copy', async () => {
  const world = await createWorldWithStoredPrices(sold());
  world.hours = 24.001;
  expect(world.start(createSource(down)).current()).toBeUndefined();
});

test('a copy with a future date is served for a day', async () => {
  const world = await createWorldWithStoredPrices(sold());
  world.hours = -1000;
  const prices = world.start(createSource(down));
  expect(prices.current()).toEqual(sold());
  world.hours += 24.001;
  expect(prices.current()).toBeUndefined();
});

test.each([
  ['is empty', ''],
  ['is cut', '{"readAt":"2026-11-20T00:00:00.000Z","prices":{"com":{"register":11.4'],
  ['has another shape', '[]'],
  ['has no time', JSON.stringify({ prices: { com } })],
  ['has an invalid time', JSON.stringify({ readAt: 'yesterday', prices: { com } })],
  [
    'has a price below zero',
    JSON.stringify({ readAt: '2026-11-20T00:00:00Z', prices: { com: { ...com, renew: -1 } } }),
  ],
  ['lacks a price', JSON.stringify({ readAt: '2026-11-20T00:00:00Z', prices: { com: { register: 1, renew: 1 } } })],
  ['has a price as text', JSON.stringify({ readAt: '2026-11-20T00:00:00Z', prices: { com: { ...com, renew: '1' } } })],
])('a file that %s is ignored with a warning and replaced', async (_, content) => {
  const { start, file, failures } = createWorld();
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  const answer = Promise.withResolvers<Map<string, TldPrices>>();
  const prices = start(createSource(() => answer.promise));
  expect(prices.current()).toBeUndefined();
  expect(failures).toEqual([expect.stringContaining('the stored domain prices cannot be read')]);
  answer.resolve(sold());
  await until('prices are served', () => prices.current() !== undefined);
  expect(prices.current()).toEqual(sold());
  await prices.stop();
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ readAt: '2026-11-20T00:00:00.000Z', prices: { com } });
});

test('an unreadable and unwritable file is reported, and prices are served from memory', async () => {
  const { start, file, failures } = createWorld();
  mkdirSync(join(file, 'in-the-way'), { recursive: true });
  const prices = start(createSource(() => Promise.resolve(sold())));
  await until('the file cannot be written', () => failures.length >= 2);
  expect(failures[0]).toContain('the stored domain prices cannot be read');
  expect(failures[1]).toContain('the domain prices cannot be stored');
  expect(prices.current()).toEqual(sold());
});

test('a stop aborts the running read without a failure', async () => {
  const { start, failures } = createWorld();
  const source = createSource(() => new Promise(() => {}));
  const prices = start(source);
  await prices.stop();
  expect(source.closed).toBe(true);
  await sleep(20);
  expect(source.reads).toBe(1);
  expect(failures).toEqual([]);
});

test('after a stop between two reads, no read starts', async () => {
  const { start, file } = createWorld();
  const source = createSource(() => Promise.resolve(sold()));
  const prices = start(source);
  await until('prices were read', () => existsSync(file));
  await prices.stop();
  const { reads } = source;
  await sleep(30);
  expect(source.reads).toBe(reads);
});

test('the refresh timer does not keep a process alive', async () => {
  const program = `
    import { createLivePrices } from './server/domains/prices.ts';
    const source = { read: async () => new Map(), close: async () => {} };
    createLivePrices(source, process.argv[1], { error() {} }).start();`;
  const file = join(temporaryFolder(), 'prices.json');
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, file], { timeout: 200_000 });
  await expect(run).resolves.toMatchObject({ stdout: '' });
  expect(existsSync(file)).toBe(true);
});

test('the secret of WHMCS is in neither log nor file after a read, a refusal, an outage and a restart', async () => {
  const { upstream, settings } = await createWhmcsUpstream();
  const { log, written } = createTestLog();
  const { start, file } = createWorld();
  const startWhmcs = (): LivePrices => {
    const source = createPriceSource({ ...settings, UPSTREAM_TIMEOUT_SECONDS: 20 }, log)!;
    return start(source, log);
  };
  const secret = settings.WHMCS_SECRET;
  const first = startWhmcs();
  await until('prices are served', () => first.current() !== undefined);
  const served = first.current();
  expect([...served!.keys()]).toEqual(['com', 'co.uk']);
  upstream.fail(refusal(`Authentication Failed for ${secret}`, 403));
  await until('a refusal is in the log', () => written().includes('Authentication Failed for [redacted]'));
  upstream.fail({ status: 200, body: `<pre>identifier=x&secret=${secret}</pre>` });
  await until('a page is in the log', () => written().includes('<pre>identifier=x&secret=[redacted]'));
  await upstream.stop();
  await until('the outage is in the log', () => written().includes('ECONNREFUSED'));
  expect(first.current()).toBe(served);
  await first.stop();

  const second = startWhmcs();
  expect(second.current()).toEqual(served);
  await second.stop();
  expect(written()).not.toContain(secret);
  expect(readFileSync(file, 'utf8')).not.toContain(secret);
});
