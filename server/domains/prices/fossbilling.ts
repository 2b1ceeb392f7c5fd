import { z } from 'zod';
import { createClient } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';
import { Amount, collectPrices, maxPriceBytes, parsePrices } from './source.ts';
import type { PriceSource, PriceSourceOptions } from './source.ts';

/** The two responses. In older versions an error has the status 200 and a non-null `error`. */
const Currency = z.object({ error: z.null(), result: z.object({ code: z.string() }) });
const Tlds = z.object({ error: z.null(), result: z.array(z.unknown()) });

/** The database driver determines whether numbers and booleans are strings. */
const One = z.union([z.literal(true), z.literal(1), z.literal('1')]);

/** A TLD on sale for one year; with a longer minimum term there is no price for one year. */
const Entry = z.object({
  tld: z.string(),
  active: One,
  allow_register: One,
  min_years: One,
  // Newer versions may list the terms; one year must be among them.
  periods: z
    .array(z.coerce.number())
    .refine((years) => years.includes(1))
    .nullish(),
  price_registration: Amount,
  price_renew: Amount,
  price_transfer: Amount,
});

/** Creates the source of prices from the guest API of FOSSBilling at a base URL without a trailing slash. */
export function createFossBilling(
  { url }: { readonly url: string },
  { timeoutMs, warn }: PriceSourceOptions,
): PriceSource {
  const client = createClient({
    baseUrl: url,
    headers: {},
    timeoutMs,
    maxBytes: maxPriceBytes,
    upstream: 'fossbilling',
  });
  const call = async (method: string): Promise<Reply> => {
    const reply = await client.request('GET', `/api/guest/${method}`);
    // A web server without URL rewriting returns 404 or an HTML page.
    return isPage(reply) ? await client.request('GET', `/index.php?_url=/api/guest/${method}`) : reply;
  };
  return {
    async read() {
      // Without a code, the response is the default currency, which all prices have.
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
