import { z } from 'zod';
import { createClient } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';
import { Amount, collectPrices, maxPriceBytes, parsePrices } from './source.ts';
import type { PriceSource, PriceSourceOptions } from './source.ts';

const Success = z.literal('success');

/** The currencies; an installation has at least one. */
const Currencies = z
  .looseObject({ result: Success })
  .transform(listCurrencies)
  .pipe(z.array(z.object({ id: z.union([z.int(), z.string()]), code: z.string() })).nonempty());

const Pricing = z.object({
  result: Success,
  currency: z.object({ code: z.string() }),
  // PHP encodes an empty map as [].
  pricing: z.union([z.record(z.string(), z.unknown()), z.tuple([])]),
});

/** Prices by years; terms that are not sold are missing. */
const OneYear = z.object({ 1: Amount }).transform((years) => years[1]);
const Entry = z.object({ register: OneYear, renew: OneYear, transfer: OneYear });

/** Creates the source of prices from WHMCS at a base URL, by its actions GetCurrencies and GetTLDPricing. */
export function createWhmcs(
  { url: baseUrl, identifier, secret }: Readonly<Record<'url' | 'identifier' | 'secret', string>>,
  { timeoutMs, warn }: PriceSourceOptions,
): PriceSource {
  const client = createClient({
    baseUrl,
    headers: {},
    secrets: [secret, identifier, encodeURIComponent(secret)],
    timeoutMs,
    maxBytes: maxPriceBytes,
    upstream: 'whmcs',
    credentialStatuses: [401, 403],
  });
  const call = (parameters: Readonly<Record<string, string>>): Promise<Reply> => {
    const body = new URLSearchParams({ identifier, secret, responsetype: 'json', ...parameters });
    return client.request('POST', '/includes/api.php', { body });
  };
  return {
    async read() {
      const currencies = parsePrices(await call({ action: 'GetCurrencies' }), Currencies);
      const euro = currencies.find(({ code }) => code === 'EUR');
      if (!euro) {
        warn('WHMCS has no currency EUR');
        return new Map();
      }
      const answer = parsePrices(await call({ action: 'GetTLDPricing', currencyid: String(euro.id) }), Pricing);
      // The response for an unknown currency is undocumented. Prices are not converted: those in EUR are set by hand.
      if (answer.currency.code !== 'EUR') {
        warn('WHMCS answers with prices in another currency than EUR');
        return new Map();
      }
      const entries = Object.entries(answer.pricing).map(([tld, entry]) => [tld, Entry.safeParse(entry).data] as const);
      return collectPrices(entries, warn);
    },
    close: () => client.close(),
  };
}

/** The currencies of a response, which are nested in practice and flat in the documentation. */
function listCurrencies(answer: Readonly<Record<string, unknown>>): unknown {
  const nested = z.object({ currency: z.unknown() }).safeParse(answer['currencies']);
  if (nested.success) return nested.data.currency;
  return Object.entries(answer).flatMap(([key, id]) => {
    const [, entry] = /^(currencies\[currency\]\[\d+\])\[id\]$/.exec(key) ?? [];
    return entry === undefined ? [] : [{ id, code: answer[`${entry}[code]`] }];
  });
}
