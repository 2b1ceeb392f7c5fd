import { z } from 'zod';
import { openUpstream } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';
import { createReadClient } from '../../upstream/reads.ts';
import { Amount, maxPriceBytes, parsePrices } from './source.ts';
import type { PriceSource, PriceSourceOptions } from './source.ts';

/** The two responses. In older versions an error has status 200 and a non-null `error`. */
const Currency = z.object({ error: z.null(), result: z.object({ code: z.string() }) });
const Tlds = z.object({ error: z.null(), result: z.array(z.unknown()) });

/** Depending on the database driver, numbers and booleans are strings. */
const One = z.union([z.literal(true), z.literal([1, '1'])]);

/** A TLD on sale for one year; a longer minimum term has no price for one year. */
const FossBillingTld = z
  .object({
    tld: z.string(),
    active: One,
    allow_register: One,
    min_years: One,
    // Newer versions may list the terms, which must include one year.
    periods: z.array(z.coerce.number()).nullish(),
    price_registration: Amount,
    price_renew: Amount,
    price_transfer: Amount,
  })
  .refine(({ periods }) => periods?.includes(1) ?? true)
  .transform(({ tld, price_registration: register, price_renew: renew, price_transfer: transfer }) => {
    return [tld, { register, renew, transfer }] as const;
  });

/** Creates a price source from the guest API of FOSSBilling. */
export function createFossBilling(
  { url: baseUrl }: { readonly url: string },
  { timeoutMs, warn }: PriceSourceOptions,
): PriceSource {
  const options = { name: 'fossbilling', baseUrl, headers: {}, timeoutMs, maxBytes: maxPriceBytes };
  const client = createReadClient(openUpstream(options));
  const call = async (method: string): Promise<Reply> => {
    const reply = await client.request('GET', `/api/guest/${method}`);
    // A web server without URL rewriting returns 404 or an HTML page.
    const isPage = reply.status === 404 || (reply.status < 300 && /^\s*</.test(reply.text));
    return isPage ? await client.request('GET', `/index.php?_url=/api/guest/${method}`) : reply;
  };
  return {
    async read() {
      // Without a code, the response is the default currency, which applies to all prices.
      const currency = parsePrices(await call('currency/get'), Currency);
      if (currency.result.code !== 'EUR') {
        warn('the default currency of FOSSBilling is not EUR');
        return [];
      }
      const { result } = parsePrices(await call('servicedomain/tlds'), Tlds);
      return result.map((tld) => FossBillingTld.safeParse(tld).data).filter((entry) => entry !== undefined);
    },
    close: () => client.close(),
  };
}
