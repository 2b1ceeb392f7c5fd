import { z } from 'zod';
import { openUpstream, parseJson } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';
import { createReadClient } from '../../upstream/reads.ts';
import { Amount, maxPriceBytes, parsePrices } from './source.ts';
import type { PriceSource, PriceSourceOptions } from './source.ts';

const Success = z.literal('success');

const Currency = z
  .object({ id: z.union([z.int(), z.string()]), code: z.string() })
  .or(z.unknown().transform(() => null));

/** The currencies; every installation has at least one. */
const Currencies = z.object({
  result: Success,
  currencies: z.object({ currency: z.array(Currency).nonempty() }),
});

const Pricing = z.object({
  result: Success,
  currency: z.object({ code: z.string() }),
  // PHP encodes an empty map as [].
  pricing: z.union([z.record(z.string(), z.unknown()), z.tuple([])]),
});

/** Prices by years, without the terms that are not sold. */
const OneYear = z.object({ 1: Amount }).transform((years) => years[1]);
const WhmcsPrices = z.object({ register: OneYear, renew: OneYear, transfer: OneYear });

/** Creates a price source from the WHMCS actions GetCurrencies and GetTLDPricing. */
export function createWhmcs(
  { url: baseUrl, identifier, secret }: Readonly<Record<'url' | 'identifier' | 'secret', string>>,
  { timeoutMs, warn }: PriceSourceOptions,
): PriceSource {
  const upstream = openUpstream({
    name: 'whmcs',
    baseUrl,
    headers: {},
    secrets: [secret, identifier, encodeURIComponent(secret)],
    timeoutMs,
    maxBytes: maxPriceBytes,
    credentialStatuses: [401, 403],
    judgeError: ({ text }, byStatus) => (parseJson(text, z.object({ result: z.string() })) ? byStatus : undefined),
  });
  const client = createReadClient(upstream);
  const call = (parameters: Readonly<Record<string, string>>): Promise<Reply> => {
    const body = new URLSearchParams({ identifier, secret, responsetype: 'json', ...parameters });
    return client.request('POST', '/includes/api.php', { body });
  };
  return {
    async read() {
      const { currencies } = parsePrices(await call({ action: 'GetCurrencies' }), Currencies);
      const euro = currencies.currency.find((currency) => currency?.code === 'EUR');
      if (!euro) {
        warn('WHMCS has no currency EUR');
        return [];
      }
      const answer = parsePrices(await call({ action: 'GetTLDPricing', currencyid: String(euro.id) }), Pricing);
      // The response for an unknown currency is undocumented. WHMCS does not convert prices.
      if (answer.currency.code !== 'EUR') {
        warn('WHMCS answers with prices in another currency than EUR');
        return [];
      }
      return Object.entries(answer.pricing).map(([tld, prices]) => [tld, WhmcsPrices.safeParse(prices).data] as const);
    },
    close: () => client.close(),
  };
}
