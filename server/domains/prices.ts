import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { createFolder, replaceFile } from '#common/files.ts';
import { listNames } from '#common/suggest.ts';
import type { Logger } from '../log.ts';
import { oneOf } from '../settings.ts';
import type { SharedSettings } from '../settings.ts';
import { Secret, UpstreamUrl } from '../upstream/address.ts';
import { createPoller } from '../upstream/poller.ts';
import { createFossBilling } from './prices/fossbilling.ts';
import { toIdnaName } from './names.ts';
import { TldPrices } from './prices/source.ts';
import type { TldEntry } from './prices/source.ts';
import { createWhmcs } from './prices/whmcs.ts';

/** The settings of domain prices. */
export const PriceSettings = z.object({
  DOMAIN_PRICES: oneOf('catalog', 'whmcs', 'fossbilling')
    .default('catalog')
    .describe('The source of domain prices: `catalog`, `whmcs` or `fossbilling`. Builds need it too, for examples.'),
  WHMCS_URL: UpstreamUrl.optional().describe('The base URL of WHMCS.'),
  WHMCS_IDENTIFIER: Secret.optional().describe('The identifier of an API credential of WHMCS.'),
  WHMCS_SECRET: Secret.optional().describe('The secret of the API credential of WHMCS.'),
  FOSSBILLING_URL: UpstreamUrl.optional().describe('The base URL of FOSSBilling.'),
});

/** The required settings of each source of prices. */
export const PriceSourceSettings = z.discriminatedUnion('DOMAIN_PRICES', [
  z.object({ DOMAIN_PRICES: z.literal('catalog') }),
  z.object({
    DOMAIN_PRICES: z.literal('whmcs'),
    WHMCS_URL: z.string(),
    WHMCS_IDENTIFIER: z.string(),
    WHMCS_SECRET: z.string(),
  }),
  z.object({ DOMAIN_PRICES: z.literal('fossbilling'), FOSSBILLING_URL: z.string() }),
]);
type PriceSourceSettings = z.infer<typeof PriceSourceSettings> & Pick<SharedSettings, 'UPSTREAM_TIMEOUT_SECONDS'>;

/** The settings of live prices. */
export type LivePriceSettings = PriceSourceSettings & Pick<SharedSettings, 'DATA_DIR'>;

/** Creates the configured source of domain prices; undefined if the catalog has the prices. */
export function createPriceSource(env: PriceSourceSettings, log: { warn(fields: object, message: string): void }) {
  if (env.DOMAIN_PRICES === 'catalog') return undefined;
  const warned = new Set<string>();
  const warn = (message: string): void => {
    if (!warned.has(message)) log.warn({ prices: env.DOMAIN_PRICES }, message);
    warned.add(message);
  };
  const options = { timeoutMs: env.UPSTREAM_TIMEOUT_SECONDS * 1000, warn };
  const source =
    env.DOMAIN_PRICES === 'fossbilling'
      ? createFossBilling({ url: env.FOSSBILLING_URL }, options)
      : createWhmcs({ url: env.WHMCS_URL, identifier: env.WHMCS_IDENTIFIER, secret: env.WHMCS_SECRET }, options);
  return {
    url: env.DOMAIN_PRICES === 'fossbilling' ? env.FOSSBILLING_URL : env.WHMCS_URL,
    /** Reads the complete prices by TLD: A-labels in lower case, no leading dot. Throws a ProviderError. */
    read: async (): Promise<ReadonlyMap<string, TldPrices>> => collectPrices(await source.read(), warn),
    close: () => source.close(),
  };
}

type PriceReader = Pick<NonNullable<ReturnType<typeof createPriceSource>>, 'read' | 'close'>;

/** Collects prices by TLD; skips duplicates and texts that are not TLDs, with a warning. */
function collectPrices(entries: readonly TldEntry[], warn: (message: string) => void): Map<string, TldPrices> {
  const collected = new Map<string, TldPrices>();
  const ignored: string[] = [];
  for (const [text, prices] of entries) {
    if (!prices) continue;
    const parsed = toIdnaName(text.replace(/^\./, ''));
    // No TLD begins with a digit; a last label with digits may belong to an IP address.
    const isTld = 'name' in parsed && /(?:^|\.)[a-z][^.]*$/.test(parsed.name);
    if (isTld && !collected.has(parsed.name)) collected.set(parsed.name, prices);
    else ignored.push(JSON.stringify(text.slice(0, 64)));
  }
  if (ignored.length > 0) warn(`ignored invalid or duplicate TLDs: ${listNames(ignored)}`);
  return collected;
}

/** Opens live prices without starting them; undefined if the catalog has the prices. */
export function openLivePrices(env: LivePriceSettings, log: Logger) {
  const source = createPriceSource(env, log);
  if (!source) return undefined;
  // One file for each billing system: never serve the prices of another system.
  const file = join(env.DATA_DIR, `domain-prices-${hash('sha256', source.url).slice(0, 8)}.json`);
  return createLivePrices(source, file, log);
}

/** How often the prices are read. */
const refreshMs = 600_000;
/** The pause after a failure, which doubles up to `refreshMs`. */
const retryMs = 60_000;
/** Use the last good copy this long. */
const keepMs = 86_400_000;

const CopyFile = z.strictObject({
  readAt: z.iso.datetime().transform((text) => Date.parse(text)),
  prices: z.record(z.string(), TldPrices).transform((prices) => new Map(Object.entries(prices))),
});

/** Creates live prices, with a copy in a file to serve right after a restart. Never throws. */
export function createLivePrices(source: PriceReader, file: string, log: Pick<Logger, 'error'>) {
  const onFailure = (message: string) => (error: unknown) => log.error({ err: error }, message);
  let copy: { readonly since: number; readonly prices: ReadonlyMap<string, TldPrices> } | undefined;
  try {
    if (existsSync(file)) {
      const { readAt, prices } = CopyFile.parse(JSON.parse(readFileSync(file, 'utf8')));
      // If the clock was set back, a copy from the future would stay in use for too long.
      copy = { since: performance.now() - Math.max(0, Date.now() - readAt), prices };
    }
  } catch (error) {
    onFailure('the stored domain prices cannot be read and are ignored')(error);
  }

  const save = async (readAt: number, prices: ReadonlyMap<string, TldPrices>): Promise<void> => {
    const content = { readAt: new Date(readAt).toISOString(), prices: Object.fromEntries(prices) };
    createFolder(dirname(file), 0o700);
    await replaceFile(file, JSON.stringify(content), { mode: 0o600, flush: true });
  };
  const poller = createPoller({
    async read() {
      const [readAt, since] = [Date.now(), performance.now()];
      const prices = await source.read();
      // Replace all prices, even by an empty map: the billing system may no longer sell a TLD.
      copy = { since, prices: copy && isDeepStrictEqual(copy.prices, prices) ? copy.prices : prices };
      if (prices.size === 0) log.error('no TLD of the billing system has complete prices for one year in EUR');
      await save(readAt, prices).catch(onFailure('the domain prices cannot be stored'));
    },
    onFailure: onFailure('the domain prices cannot be read'),
    everyMs: () => refreshMs,
    retryMs,
  });
  return {
    /** Starts to read the prices unless started, and waits for the first read; never rejects. */
    start: () => poller.start(),
    /** The latest prices by TLD, the same object until they change; undefined if missing or too old. */
    current: () => (copy && performance.now() - copy.since <= keepMs ? copy.prices : undefined),
    async stop(): Promise<void> {
      const stopped = poller.stop();
      await source.close();
      await stopped;
    },
  };
}
