import { z } from 'zod';
import { listNames } from '#common/suggest.ts';
import { ForeignInt, openUpstream } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';
import { createReadClient } from '../../upstream/reads.ts';
import { Amount, maxPriceBytes, parsePrices } from './source.ts';
import type { PriceSource, PriceSourceOptions } from './source.ts';

/** The two responses. In older versions an error has status 200 and a non-null `error`. */
const Currency = z.object({ error: z.null(), result: z.object({ code: z.string() }) });
const Tlds = z.object({ error: z.null(), result: z.array(z.unknown()) });

/** Depending on the database driver, numbers and booleans are strings. */
const One = z.union([z.literal(true), z.literal([1, '1'])]);

/** A TLD on sale for any term. */
const OnSale = z.looseObject({ tld: z.string(), active: One, allow_register: One });

/** A TLD on sale for one year; a longer minimum term has no price for one year. */
const FossBillingTld = z
  .object({
    tld: z.string(),
    min_years: ForeignInt.nullish(),
    // Newer versions may list the terms, which then decide alone.
    periods: z.array(z.coerce.number()).nullish(),
    price_registration: Amount,
    price_renew: Amount,
    price_transfer: Amount,
  })
  .refine(({ periods, min_years: years }) => (periods?.length ? periods.includes(1) : (years ?? 0) <= 1))
  .transform(({ tld, price_registration: register, price_renew: renew, price_transfer: transfer }) => {
    return [tld, { register, renew, transfer }] as const;
  });

/** Creates a price source from the guest API of FOSSBilling. */
export function createFossBilling(
  { url: baseUrl }: { readonly url: string },
  { timeoutMs, warn }: PriceSourceOptions,
): PriceSource {
  const options = { name: 'fossbilling', headers: {}, credentialStatuses: [], maxBytes: maxPriceBytes };
  const client = createReadClient(openUpstream({ ...options, baseUrl, timeoutMs }));
  const call = async (method: string): Promise<Reply> => {
    const reply = await client.request('GET', `/api/guest/${method}`);
    // A web server without URL rewriting returns 404 or an HTML page.
    const isPage = reply.status === 404 || (reply.status < 300 && /^\s*</.test(reply.text));
    return isPage ? await client.request('GET', `/index.php?_url=/api/guest/${method}`) : reply;
  };
  return {
    async read() {
      // Without a code, the response is the default currency, which applies to all prices.
      const { code } = parsePrices(await call('currency/get'), Currency).result;
      if (code !== 'EUR') {
        warn(`the default currency of FOSSBilling must be EUR, and is ${code.replaceAll(/\W/g, '').slice(0, 8)}`);
        return [];
      }
      const { result } = parsePrices(await call('servicedomain/tlds'), Tlds);
      const onSale = result.flatMap((entry) => OnSale.safeParse(entry).data ?? []);
      const sold = onSale.map((entry) => FossBillingTld.safeParse(entry).data);
      const left = onSale.filter((_, index) => !sold[index]).map(({ tld }) => JSON.stringify(tld.slice(0, 64)));
      if (left.length > 0) warn(`not sold for one year, or without a price: ${listNames(left)}`);
      return sold.filter((entry) => entry !== undefined);
    },
    close: () => client.close(),
  };
}
