import type { z } from 'zod';
import type { DomainCatalog, DomainLookup, DomainSearchResponse, DomainTLD } from '#contract/domains.ts';
import type { Registries, TldPrices } from './types.ts';
import { Problem } from '../problem.ts';
import { parseDomainName } from './name.ts';
import type { LivePrices } from './prices/live.ts';

/** Dependencies of the domain service. */
export interface DomainsOptions {
  /** The catalog of the served release. */
  readonly catalog: () => DomainCatalog;
  /** The prices of a billing system, if one is configured. */
  readonly live?: Pick<LivePrices, 'current'> | undefined;
  readonly availability: Pick<Registries, 'check'>;
}

/** The TLDs on sale, and the domain search. */
export interface Domains {
  /** Lists the TLDs on sale; the same object until they change. Throws a Problem if there are no prices. */
  list(): z.infer<typeof DomainTLD>[];
  /** Throws a Problem if the name is invalid, its TLD is not on sale, or its availability is unknown. */
  search(text: string): Promise<Searched>;
}

/** The result of a search. */
interface Searched {
  readonly body: z.infer<typeof DomainSearchResponse>;
  /** The name with U-labels; equal to the domain of the body if the name is ASCII. */
  readonly unicode: string;
}

interface Offer {
  readonly listed: z.infer<typeof DomainTLD>;
  readonly lookup: DomainLookup | undefined;
}

interface Offers {
  /** All TLDs of the catalog and prices, on sale or not: example.co.uk is never a name under .uk. */
  readonly tlds: ReadonlySet<string>;
  readonly offers: ReadonlyMap<string, Offer>;
  readonly listed: z.infer<typeof DomainTLD>[];
  /** Whether TLDs are on sale, but none has all its prices. */
  readonly lacksPrices: boolean;
}

/** Creates the domain service. Exactly the listed TLDs can be searched. */
export function createDomains({ catalog, live, availability }: DomainsOptions): Domains {
  let cached: { catalog: unknown; prices: unknown; offers: Offers } | undefined;

  const read = (): Offers => {
    const source = catalog();
    const prices = live?.current();
    if (live && !prices) throw new Problem('provider_error');
    if (cached?.catalog !== source || cached.prices !== prices) {
      cached = { catalog: source, prices, offers: toOffers(source, prices) };
    }
    if (cached.offers.lacksPrices) throw new Problem('pricing_unavailable');
    return cached.offers;
  };
  return {
    list: () => read().listed,
    async search(text) {
      const domain = await parseDomainName(text, () => read().tlds);
      const offer = read().offers.get(domain.tld);
      if (!offer) throw new Problem('tld_not_found');
      const found = await availability.check(domain, offer.lookup);
      if (found === 'unknown') throw new Problem('provider_error');
      const orderUrl = offer.listed.order_url ?? catalog().order_url?.replaceAll('{domain}', domain.name);
      const body = {
        success: true,
        domain: domain.name,
        tld: offer.listed.tld,
        available: found === 'free',
        pricing: offer.listed.pricing,
        ...(orderUrl !== undefined && { order_url: orderUrl }),
      };
      return { body, unicode: domain.unicode };
    },
  };
}

/** Merges the catalog and live prices. With live prices, the catalog only adds lookups and order URLs, or hides TLDs. */
function toOffers(catalog: DomainCatalog, prices: ReadonlyMap<string, TldPrices> | undefined): Offers {
  const entries = new Map(Object.entries(catalog.tlds).map(([tld, entry]) => [tld.slice(1), entry]));
  const tlds = new Set([...entries.keys(), ...(prices?.keys() ?? [])]);
  const offers = new Map<string, Offer>();
  for (const tld of [...tlds].toSorted()) {
    const { active, order_url: orderUrl, lookup, prices: own } = entries.get(tld) ?? {};
    const complete = prices ? prices.get(tld) : own?.['EUR']?.['1'];
    if (active === false || !complete) continue;
    const { register, renew, transfer } = complete;
    const pricing = { currency: 'EUR', term: 1, period: 'year', register, renew, transfer };
    const listed = { tld: `.${tld}`, pricing, ...(orderUrl !== undefined && { order_url: orderUrl }) };
    offers.set(tld, { listed, lookup });
  }
  // A billing system without any complete price is not set up; a catalog may have nothing on sale.
  const lacksPrices = prices
    ? prices.size === 0
    : offers.size === 0 && entries.values().some(({ active }) => active !== false);
  const listed = [...offers.values()].map((offer) => offer.listed);
  return { tlds, offers, listed, lacksPrices };
}
