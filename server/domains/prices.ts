import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { createFolder, replaceFile } from '#common/files.ts';
import type { Logger } from '../log.ts';
import { createPoller } from '../upstream/poller.ts';
import { createFossBilling } from './prices/fossbilling.ts';
import { TldPrices } from './prices/source.ts';
import type { PriceSource } from './prices/source.ts';
import { createWhmcs } from './prices/whmcs.ts';

/** The settings of domain prices, by their source. */
export type PriceSettings = { readonly UPSTREAM_TIMEOUT_SECONDS: number } & (
  | { readonly DOMAIN_PRICES: 'catalog' }
  | ({ readonly DOMAIN_PRICES: 'whmcs' } & Readonly<Record<'WHMCS_URL' | 'WHMCS_IDENTIFIER' | 'WHMCS_SECRET', string>>)
  | { readonly DOMAIN_PRICES: 'fossbilling'; readonly FOSSBILLING_URL: string }
);

/** Creates the configured source of domain prices; undefined if the catalog has them. */
export function createPriceSource(env: PriceSettings, log: Logger): PriceSource | undefined {
  if (env.DOMAIN_PRICES === 'catalog') return undefined;
  const warn = (message: string): void => log.warn({ prices: env.DOMAIN_PRICES }, message);
  const options = { timeoutMs: env.UPSTREAM_TIMEOUT_SECONDS * 1000, warn };
  if (env.DOMAIN_PRICES === 'fossbilling') return createFossBilling({ url: env.FOSSBILLING_URL }, options);
  const { WHMCS_URL: url, WHMCS_IDENTIFIER: identifier, WHMCS_SECRET: secret } = env;
  return createWhmcs({ url, identifier, secret }, options);
}

/** Opens the prices of the billing system, not started; undefined if the catalog has them. */
export function openLivePrices(env: PriceSettings & { readonly DATA_DIR: string }, log: Logger) {
  const source = createPriceSource(env, log);
  if (!source || env.DOMAIN_PRICES === 'catalog') return undefined;
  // One file for each billing system: prices of another one must not be served.
  const installation = hash('sha256', env.DOMAIN_PRICES === 'whmcs' ? env.WHMCS_URL : env.FOSSBILLING_URL).slice(0, 8);
  const file = join(env.DATA_DIR, `domain-prices-${installation}.json`);
  return createLivePrices({ source, file, onFailure: (message, error) => log.error({ err: error }, message) });
}

/** Prices that are regularly read from a billing system. */
export type LivePrices = ReturnType<typeof createLivePrices>;

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
}

/** How long the last good copy is used. */
const keepMs = 86_400_000;

const CopyFile = z.strictObject({
  readAt: z.iso.datetime().transform((text) => Date.parse(text)),
  prices: z.record(z.string(), TldPrices).transform((prices) => new Map(Object.entries(prices))),
});

/** Creates live prices. Their last good copy is on disk too, so that it is used right after a restart. Never throws. */
export function createLivePrices(options: LivePricesOptions) {
  const { source, file, onFailure, now = Date.now, refreshMs = 600_000, retryMs = 60_000 } = options;
  let copy: { readonly readAt: number; readonly prices: ReadonlyMap<string, TldPrices> } | undefined;
  try {
    if (existsSync(file)) copy = CopyFile.parse(JSON.parse(readFileSync(file, 'utf8')));
    // If the clock was set back, a copy from the future would be used for too long.
    if (copy) copy = { ...copy, readAt: Math.min(copy.readAt, now()) };
  } catch (error) {
    onFailure('the stored domain prices are ignored: they cannot be read', error);
  }

  const save = async (readAt: number, prices: ReadonlyMap<string, TldPrices>): Promise<void> => {
    const content = { readAt: new Date(readAt).toISOString(), prices: Object.fromEntries(prices) };
    createFolder(dirname(file), 0o700);
    await replaceFile(file, JSON.stringify(content), { mode: 0o600, flush: true });
  };
  const poller = createPoller({
    async read() {
      const readAt = now();
      const prices = await source.read();
      // A TLD that the billing system no longer sells is removed, even if none is left.
      copy = { readAt, prices: copy && isDeepStrictEqual(copy.prices, prices) ? copy.prices : prices };
      if (prices.size === 0) onFailure('no TLD of the billing system has all its prices for one year in EUR');
      await save(readAt, prices).catch((error: unknown) => onFailure('the domain prices cannot be stored', error));
    },
    onFailure: (error) => onFailure('the domain prices cannot be read', error),
    everyMs: () => refreshMs,
    retryMs,
  });
  return {
    start: () => void poller.start(),
    /** Resolves when the first read has ended, which it starts; never rejects. */
    firstRead: () => poller.start(),
    /** The latest prices by TLD, the same object until they change; undefined if there are none, or too old ones. */
    current: () => (copy && now() - copy.readAt <= keepMs ? copy.prices : undefined),
    async stop(): Promise<void> {
      const stopped = poller.stop();
      await source.close();
      await stopped;
    },
  };
}
