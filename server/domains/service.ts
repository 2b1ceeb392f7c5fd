import type { z } from 'zod';
import type { DomainCatalog, DomainLookup, DomainSearchResponse, DomainTLD } from '#contract/domains.ts';
import type { Registries, TldPrices } from './types.ts';
import { Problem } from '../problem.ts';
import { parseDomainName, toDomainName } from './name.ts';
import type { LivePrices } from './prices/live.ts';

/** What the domain service needs. */
export interface DomainsOptions {
  /** The catalog of the release that is being served. */
  readonly catalog: () => DomainCatalog;
  /** Where prices come from a billing system. */
  readonly live?: Pick<LivePrices, 'current'> | undefined;
  readonly availability: Pick<Registries, 'check'>;
}

/** The TLDs on sale, and the search in them. */
export interface Domains {
  /** Throws a Problem where there are no prices. The same object while nothing changed. */
  list(): z.infer<typeof DomainTLD>[];
  /** Throws a Problem where the name is none, its TLD is not on sale, or nobody knows whether it is free. */
  search(text: string): Promise<z.infer<typeof DomainSearchResponse>>;
}

/** What a TLD is sold at. */
interface Offer {
  readonly listed: z.infer<typeof DomainTLD>;
  readonly lookup: DomainLookup | undefined;
}

interface Offers {
  /** Every TLD that is known, on sale or not: example.co.uk is never a name under .uk. */
  readonly tlds: ReadonlySet<string>;
  readonly offers: ReadonlyMap<string, Offer>;
  readonly listed: z.infer<typeof DomainTLD>[];
  /** Whether something is on sale, and nothing of it has all its prices. */
  readonly lacksPrices: boolean;
}

/** Creates the domain service. What is listed can be searched for, and nothing else can. */
export function createDomains({ catalog, live, availability }: DomainsOptions): Domains {
  let made: { from: unknown[]; offers: Offers } | undefined;

  const read = (): Offers => {
    const source = catalog();
    const prices = live?.current();
    if (live && !prices) throw new Problem('provider_error', 'Domain data could not be loaded');
    if (made?.from[0] !== source || made.from[1] !== prices) {
      made = { from: [source, prices], offers: toOffers(source, prices) };
    }
    if (made.offers.lacksPrices) throw new Problem('pricing_unavailable');
    return made.offers;
  };
  return {
    list: () => read().listed,
    async search(text) {
      const name = parseDomainName(text);
      const { tlds, offers } = read();
      const domain = await toDomainName(name, tlds);
      const offer = offers.get(domain.tld);
      if (!offer) throw new Problem('tld_not_found');
      const found = await availability.check(domain, offer.lookup);
      if (found === 'unknown') throw new Problem('provider_error', 'Domain data could not be loaded');
      const orderUrl = offer.listed.order_url ?? catalog().order_url?.replaceAll('{domain}', domain.name);
      return {
        success: true,
        domain: domain.name,
        tld: offer.listed.tld,
        available: found === 'free',
        pricing: offer.listed.pricing,
        ...(orderUrl !== undefined && { order_url: orderUrl }),
      };
    },
  };
}

/** Joins the catalog and live prices: with those, the catalog adds where a TLD is asked and ordered, or hides it. */
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
  // A billing system that was read and has no complete price at all is not set up; a catalog may well sell nothing.
  const lacksPrices = prices
    ? prices.size === 0
    : offers.size === 0 && entries.values().some(({ active }) => active !== false);
  const listed = [...offers.values()].map((offer) => offer.listed);
  return { tlds, offers, listed, lacksPrices };
}
