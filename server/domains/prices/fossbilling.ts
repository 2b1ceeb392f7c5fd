import { z } from 'zod';
import { createClient } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';
import type { PriceSource } from '../types.ts';
import { Amount, collectPrices, maxPriceBytes, parsePrices } from './tld-prices.ts';
import type { PriceSourceOptions } from './tld-prices.ts';

/** Where FOSSBilling is; its guest API takes no credential. */
export interface FossBillingSettings {
  /** The base of the installation, without a slash at its end. */
  readonly url: string;
}

/** The two answers; an error is one of status 200 in older versions, and tells by not being null. */
const Currency = z.object({ error: z.null(), result: z.object({ code: z.string() }) });
const Tlds = z.object({ error: z.null(), result: z.array(z.unknown()) });

/** Numbers and booleans are of the database: strings or not, by its driver. */
const One = z.union([z.literal(true), z.literal(1), z.literal('1')]);

/** A TLD that is on sale for one year: prices are for a year, so that with a longer term there is none for one. */
const Entry = z.object({
  tld: z.string(),
  active: One,
  allow_register: One,
  min_years: One,
  // Where the terms are listed one by one, which newer versions know, one year must be among them.
  periods: z
    .array(z.coerce.number())
    .refine((years) => years.includes(1))
    .nullish(),
  price_registration: Amount,
  price_renew: Amount,
  price_transfer: Amount,
});

/** Creates the source of the prices that a FOSSBilling sells at, by its guest API. */
export function createFossBilling(settings: FossBillingSettings, { timeoutMs, warn }: PriceSourceOptions): PriceSource {
  const client = createClient({ baseUrl: settings.url, headers: {}, timeoutMs, maxBytes: maxPriceBytes });
  const call = async (method: string): Promise<Reply> => {
    const reply = await client.request('GET', `/api/guest/${method}`);
    // A web server that does not rewrite URLs knows no such file, or answers with the page for what is not there.
    return isPage(reply) ? await client.request('GET', `/index.php?_url=/api/guest/${method}`) : reply;
  };
  return {
    async read() {
      // Without a code it is the default currency, and that is the one of all prices.
      const currency = parsePrices(await call('currency/get'), Currency);
      if (currency.result.code !== 'EUR') {
        warn('the default currency of FOSSBilling is not EUR');
        return new Map();
      }
      const { result } = parsePrices(await call('servicedomain/tlds'), Tlds);
      const entries = result.map((entry) => Entry.safeParse(entry).data).filter((entry) => entry !== undefined);
      return collectPrices(
        entries.map((entry) => [
          entry.tld,
          { register: entry.price_registration, renew: entry.price_renew, transfer: entry.price_transfer },
        ]),
        warn,
      );
    },
    close: () => client.close(),
  };
}

function isPage({ status, text }: Reply): boolean {
  return status === 404 || (status < 300 && /^\s*</.test(text));
}
