import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { PriceSource, TldPrices } from '../../server/domains/prices/source.ts';
import { createLivePrices } from '../../server/domains/prices/index.ts';
import type { LivePrices, LivePricesOptions } from '../../server/domains/prices/index.ts';
import { temporaryFolder } from './project.ts';
import { until } from './upstream.ts';

/** One hour in milliseconds. */
export const hourMs = 3_600_000;
/** The prices of a TLD. */
export const com = { register: 11.49, renew: 13.49, transfer: 11.49 };
/** A successful answer of a billing system. */
export const sold = (tlds: Record<string, TldPrices> = { com }): Map<string, TldPrices> =>
  new Map(Object.entries(tlds));
/** A failed read of a billing system. */
export const down = (): Promise<never> => Promise.reject(new Error('the billing system is down'));

/** A billing system whose next answer a test sets. */
export interface TestSource extends PriceSource {
  answer: () => Promise<ReadonlyMap<string, TldPrices>>;
  reads: number;
  /** The highest number of reads that ran at the same time. */
  atOnce: number;
  closed: boolean;
}

/** Creates a billing system with a given answer. */
export function createSource(answer: TestSource['answer']): TestSource {
  let running = 0;
  const closing = Promise.withResolvers<never>();
  closing.promise.catch(() => {});
  const source: TestSource = {
    answer,
    reads: 0,
    atOnce: 0,
    closed: false,
    async read() {
      source.reads += 1;
      running += 1;
      source.atOnce = Math.max(source.atOnce, running);
      return await Promise.race([source.answer(), closing.promise]).finally(() => (running -= 1));
    },
    close() {
      source.closed = true;
      closing.reject(new Error('closed'));
      return Promise.resolve();
    },
  };
  return source;
}

/** A folder that several runs of the service share, with a clock. */
export interface World {
  readonly file: string;
  /** The time, in hours since the start. */
  hours: number;
  /** The reported failures, with the messages of their errors. */
  readonly failures: string[];
  /** Starts a run of the service. */
  readonly start: (source: PriceSource, options?: Partial<LivePricesOptions>) => LivePrices;
}

/** Creates a world at hour 0. */
export function createWorld(): World {
  const world: World = {
    file: join(temporaryFolder(), 'data', 'domain-prices-test.json'),
    hours: 0,
    failures: [],
    start(source, options) {
      const prices = createLivePrices({
        source,
        file: world.file,
        now: () => Date.parse('2026-11-20T00:00:00Z') + world.hours * hourMs,
        refreshMs: 5,
        onFailure: (what, error) => world.failures.push(error instanceof Error ? `${what}: ${error.message}` : what),
        ...options,
      });
      onTestFinished(() => prices.stop());
      prices.start();
      return prices;
    },
  };
  return world;
}

/** Creates a world in which an earlier run stored prices. */
export async function createWorldWithStoredPrices(prices: ReadonlyMap<string, TldPrices>): Promise<World> {
  const world = createWorld();
  const before = world.start(createSource(() => Promise.resolve(prices)));
  await until('a copy is on disk', () => existsSync(world.file));
  await before.stop();
  world.failures.length = 0;
  return world;
}
