import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { replaceFile } from '#common/atomic-file.ts';
import { createFolder } from '#common/folder.ts';
import { createPoller } from '../../upstream/poller.ts';
import type { PriceSource, TldPrices } from '../types.ts';

/** Prices that are regularly read from a billing system. */
export interface LivePrices {
  /** Starts to read every ten minutes. */
  start(): void;
  /**
   * The latest prices by TLD; empty if no TLD had complete prices. Undefined if none were read yet, or they are too old.
   * The same object until they change.
   */
  current(): ReadonlyMap<string, TldPrices> | undefined;
  /** Closes the source, and aborts a running read. */
  stop(): Promise<void>;
}

/** Dependencies of live prices. */
export interface LivePricesOptions {
  readonly source: PriceSource;
  /** The file of the last good copy; one for each billing system. */
  readonly file: string;
  /** Called with a message for the operator, and the error if there is one. */
  readonly onFailure: (message: string, error?: unknown) => void;
  readonly now?: () => number;
  readonly refreshMs?: number;
  /** The pause after a failure; it doubles up to `refreshMs`. */
  readonly retryMs?: number;
  /** How long the last good copy is used. */
  readonly keepMs?: number;
}

const Money = z.number().nonnegative();
const TldPricesFile = z.strictObject({ register: Money, renew: Money, transfer: Money });
const CopyFile = z.strictObject({
  readAt: z.iso.datetime().transform((text) => Date.parse(text)),
  prices: z.record(z.string(), TldPricesFile).transform((prices) => new Map(Object.entries(prices))),
});

interface Copy {
  readonly readAt: number;
  readonly prices: ReadonlyMap<string, TldPrices>;
}

/**
 * Creates live prices. The last good copy is kept in memory and on disk, so that it can be used right after a restart.
 * Never throws.
 */
export function createLivePrices({
  source,
  file,
  onFailure,
  now = Date.now,
  refreshMs = 600_000,
  retryMs = 60_000,
  keepMs = 86_400_000,
}: LivePricesOptions): LivePrices {
  let copy: Copy | undefined;
  try {
    copy = loadCopy(file, now());
  } catch (error) {
    onFailure('the stored domain prices are ignored: they cannot be read', error);
  }

  const current = (): Copy['prices'] | undefined => (copy && now() - copy.readAt <= keepMs ? copy.prices : undefined);

  const read = async (): Promise<void> => {
    const readAt = now();
    const prices = await source.read();
    // A TLD that the billing system no longer sells is removed, even if none is left.
    copy = { readAt, prices: copy && isDeepStrictEqual(copy.prices, prices) ? copy.prices : prices };
    if (prices.size === 0) onFailure('no TLD of the billing system has all its prices for one year in EUR');
    await saveCopy(file, copy).catch((error: unknown) => onFailure('the domain prices cannot be stored', error));
  };
  const poller = createPoller({
    read,
    onFailure: (error) => onFailure('the domain prices cannot be read', error),
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

/** Loads the copy on disk; undefined if there is none. Throws if it is corrupted. */
function loadCopy(file: string, now: number): Copy | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const { readAt, prices } = CopyFile.parse(JSON.parse(text));
  // If the clock was set back, a copy from the future would be used for too long.
  return { readAt: Math.min(readAt, now), prices };
}

async function saveCopy(file: string, { readAt, prices }: Copy): Promise<void> {
  const content = { readAt: new Date(readAt).toISOString(), prices: Object.fromEntries(prices) };
  createFolder(dirname(file), 0o700);
  await replaceFile(file, JSON.stringify(content), { mode: 0o600, flush: true });
}
