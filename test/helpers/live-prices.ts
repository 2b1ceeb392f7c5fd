import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { PriceSource, TldPrices } from '../../server/domains/types.ts';
import { createLivePrices } from '../../server/domains/prices/live.ts';
import type { LivePrices, LivePricesOptions } from '../../server/domains/prices/live.ts';
import { temporaryFolder } from './project.ts';
import { until } from './upstream.ts';

/** An hour. */
export const hourMs = 3_600_000;
/** What a TLD costs. */
export const com = { register: 11.49, renew: 13.49, transfer: 11.49 };
/** An answer of a billing system. */
export const sold = (tlds: Record<string, TldPrices> = { com }): Map<string, TldPrices> =>
  new Map(Object.entries(tlds));
/** No answer of a billing system. */
export const down = (): Promise<never> => Promise.reject(new Error('the billing system is down'));

/** A billing system whose next answers are told. */
export interface TestSource extends PriceSource {
  answer: () => Promise<ReadonlyMap<string, TldPrices>>;
  reads: number;
  /** The most reads that ran at one time. */
  atOnce: number;
  closed: boolean;
}

/** Creates a billing system that answers as told. */
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

/** A place for the prices of one process after another. */
export interface World {
  readonly file: string;
  /** Shows the time, in hours since the beginning. */
  hours: number;
  /** What was told, with the messages of errors. */
  readonly told: string[];
  /** Starts a process, as it were. */
  readonly start: (source: PriceSource, options?: Partial<LivePricesOptions>) => LivePrices;
}

/** Creates a place for prices, at its hour 0. */
export function createWorld(): World {
  const world: World = {
    file: join(temporaryFolder(), 'data', 'domain-prices-test.json'),
    hours: 0,
    told: [],
    start(source, options) {
      const prices = createLivePrices({
        source,
        file: world.file,
        now: () => Date.parse('2026-11-20T00:00:00Z') + world.hours * hourMs,
        refreshMs: 5,
        onFailure: (what, error) => world.told.push(error instanceof Error ? `${what}: ${error.message}` : what),
        ...options,
      });
      onTestFinished(() => prices.stop());
      prices.start();
      return prices;
    },
  };
  return world;
}

/** A folder in which a process kept prices before it ended. */
export async function createPast(prices: ReadonlyMap<string, TldPrices>): Promise<World> {
  const world = createWorld();
  const before = world.start(createSource(() => Promise.resolve(prices)));
  await until('a copy is on disk', () => existsSync(world.file));
  await before.stop();
  world.told.length = 0;
  return world;
}
