import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { replaceFile } from '#common/atomic-file.ts';
import { createPoller } from '../../upstream/poller.ts';
import type { PriceSource, TldPrices } from '../types.ts';

/** Prices that are read from a billing system again and again. */
export interface LivePrices {
  /** Begins to read, and goes on every ten minutes. */
  start(): void;
  /**
   * The last ones that were read, by TLD; empty where nothing had complete prices. Undefined where none were ever
   * read, or they are too old. The same object while nothing changed.
   */
  current(): ReadonlyMap<string, TldPrices> | undefined;
  /** Closes the source, and ends a read that is running. */
  stop(): Promise<void>;
}

/** What live prices need. */
export interface LivePricesOptions {
  readonly source: PriceSource;
  /** Where the last good copy outlives this process; one file for each billing system. */
  readonly file: string;
  /** Is told what the operator should know, with the error where there is one. */
  readonly failed: (what: string, error?: unknown) => void;
  readonly now?: () => number;
  readonly refreshMs?: number;
  /** How soon it is tried again after a failure; later and later, up to `refreshMs`. */
  readonly retryMs?: number;
  /** How long the last good copy serves. */
  readonly keepMs?: number;
}

const Money = z.number().nonnegative();
const TldPricesFile = z.strictObject({ register: Money, renew: Money, transfer: Money });
const CopyFile = z.strictObject({
  readAt: z.iso.datetime().transform((text) => Date.parse(text)),
  prices: z.record(z.string(), TldPricesFile).transform((prices) => new Map(Object.entries(prices))),
});

/** What was read last, and when. */
interface Copy {
  readonly readAt: number;
  readonly prices: ReadonlyMap<string, TldPrices>;
}

/**
 * Reads prices in the background, one read at a time, and keeps the last good copy in memory and on disk. A
 * copy of the process before serves at once. Never throws.
 */
export function createLivePrices({
  source,
  file,
  failed,
  now = Date.now,
  refreshMs = 600_000,
  retryMs = 60_000,
  keepMs = 86_400_000,
}: LivePricesOptions): LivePrices {
  let copy: Copy | undefined;
  try {
    copy = loadCopy(file, now());
  } catch (error) {
    failed('the stored domain prices are ignored: they cannot be read', error);
  }

  const current = (): Copy['prices'] | undefined => (copy && now() - copy.readAt <= keepMs ? copy.prices : undefined);

  const read = async (): Promise<void> => {
    const readAt = now();
    const prices = await source.read();
    // What the billing system no longer sells is no longer sold here, also where nothing is left.
    copy = { readAt, prices: copy && isDeepStrictEqual(copy.prices, prices) ? copy.prices : prices };
    if (prices.size === 0) failed('no TLD of the billing system has all its prices for one year in EUR');
    await saveCopy(file, copy).catch((error: unknown) => failed('the domain prices cannot be stored', error));
  };
  const poller = createPoller({
    read,
    onFailure: (error) => failed('the domain prices cannot be read', error),
    everyMs: () => refreshMs,
    retryMs,
  });
  return {
    start: () => void poller.start(),
    current,
    async stop() {
      const stopped = poller.stop();
      await source.close();
      await stopped;
    },
  };
}

/** The copy on disk, or undefined where there is none. Throws where it is not as it was written. */
function loadCopy(file: string, now: number): Copy | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const { readAt, prices } = CopyFile.parse(JSON.parse(text));
  // With a clock that was set back, a copy of the future would serve for too long.
  return { readAt: Math.min(readAt, now), prices };
}

async function saveCopy(file: string, { readAt, prices }: Copy): Promise<void> {
  const content = { readAt: new Date(readAt).toISOString(), prices: Object.fromEntries(prices) };
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await replaceFile(file, JSON.stringify(content), { mode: 0o600, flush: true });
}
