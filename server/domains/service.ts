import { isIP } from 'node:net';
import { z } from 'zod';
import type { DomainCatalog, DomainLookup, DomainSearchResponse } from '#contract/domains.ts';
import type { Base } from '../lifecycle.ts';
import type { Logger } from '../log.ts';
import { createLru } from '../lru.ts';
import { Problem } from '../problem.ts';
import { List } from '../settings.ts';
import type { SharedSettings } from '../settings.ts';
import { UpstreamUrl } from '../upstream/address.ts';
import { toRetryAfter } from '../upstream/client.ts';
import { withTimeout } from '../timeout.ts';
import type { CreateBucket } from '../token-bucket.ts';
import type { Availability, DomainName } from './lookup/query.ts';
import { createRegistries } from './lookup/registries.ts';
import type { Registries } from './lookup/registries.ts';
import { parseDomainName } from './names.ts';
import { openLivePrices } from './prices.ts';
import type { LivePriceSettings } from './prices.ts';
import type { TldPrices } from './prices/source.ts';

const DnsServers = List.transform((servers, context): 'off' | string[] => {
  if (servers.length === 1 && servers[0] === 'off') return 'off';
  if (servers.length > 0 && servers.every(isAddress)) return servers;
  context.addIssue(
    'must be off, or IP addresses with an optional port, such as 9.9.9.9, [::1]:5353 or fe80::1%eth0 with its zone',
  );
  return z.NEVER;
});

/** Tests for an IP address with an optional port; IPv6 with a port needs brackets, a link-local address its zone. */
function isAddress(text: string): boolean {
  const [, six, four, port = '53'] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const address = six ?? four ?? text;
  // `::1:5353` is a valid IPv6 address, but the writer meant a port.
  if (/^fe[89ab][\da-f]:[^%]*$|^::(?!1$)[\da-f:]*$/i.test(address)) return false;
  const family = isIP(address);
  return family > 0 && family === (six ? 6 : four ? 4 : family) && Number(port) > 0 && Number(port) < 65_536;
}

/** The settings of look-ups. */
export const DomainSettings = z.object({
  RDAP_BOOTSTRAP_URL: z
    .union([z.literal('off'), UpstreamUrl])
    .default('https://data.iana.org/rdap/dns.json')
    .describe('The list of RDAP servers of IANA, read once a day, or `off` for the built-in copy.'),
  DNS_SERVERS: DnsServers.optional().describe(
    'Resolvers of the domain search, `ip:port` separated by commas, or `off`; the default is the resolvers of the system.',
  ),
});
type RegistrySettings = z.infer<typeof DomainSettings> & Pick<SharedSettings, 'PUBLIC_URL' | 'SERVICE_VERSION'>;

interface DomainsBase extends Base<RegistrySettings & LivePriceSettings> {
  readonly releases: { current(): { readonly domains: DomainCatalog } };
  /** Creates the rate limits of queries to registries. */
  readonly createBucket: CreateBucket;
}

/** The maximum time that a request waits for the first prices. */
const firstReadMs = 5000;

/** Opens the domain search of the listed TLDs, with live prices if a billing system is configured. */
export function openDomains({ env, log, opened, releases, createBucket }: DomainsBase) {
  const registries = openRegistries(env, log, createBucket);
  opened.defer(() => registries.close());
  const live = openLivePrices(env, log);
  opened.defer(async () => await live?.stop());
  const checkAvailability = createAvailability(registries);
  let offers: ReturnType<typeof toOffers> | undefined;

  const read = () => {
    const catalog = releases.current().domains;
    const prices = live?.current();
    if (live && !prices) throw new Problem('provider_error');
    if (offers?.catalog !== catalog || offers.prices !== prices) offers = toOffers(catalog, prices);
    if (offers.lacksPrices) throw new Problem('pricing_unavailable');
    return offers;
  };
  return {
    /** Starts to read the list of RDAP servers and the live prices. */
    start(): void {
      registries.start();
      void live?.start();
    },
    async ready(): Promise<void> {
      if (live && !live.current()) await withTimeout(live.start(), firstReadMs, () => undefined);
    },
    /** Lists the TLDs on sale; the same object until prices or catalog change. Throws a Problem without prices. */
    list: () => read().listed,
    /** Returns the reply and the name in Unicode. Throws a Problem without a result. */
    async search(text: string) {
      const domain = parseDomainName(text, () => read().tlds);
      const { catalog, offers: onSale } = read();
      const offer = onSale.get(domain.tld);
      if (!offer) throw new Problem('tld_not_found');
      const { tld, pricing, order_url: ofTld } = offer.listed;
      checkLetters(domain, tld, offer.letters);
      const found = await checkAvailability(domain, offer.lookup);
      const orderUrl = ofTld ?? catalog.order_url?.replaceAll('{domain}', domain.name);
      const body: z.infer<typeof DomainSearchResponse> = {
        success: true,
        domain: domain.name,
        tld,
        available: found === 'free',
        pricing,
        ...(orderUrl !== undefined && { order_url: orderUrl }),
      };
      return { body, unicode: domain.unicode };
    },
  };
}

/** Opens the registries, with a contact URL for their operators in the User-Agent. */
export function openRegistries(env: RegistrySettings, log: Logger, createBucket?: CreateBucket): Registries {
  const { DNS_SERVERS: dnsServers, RDAP_BOOTSTRAP_URL: url, SERVICE_VERSION: version, PUBLIC_URL: contact } = env;
  const userAgent = `hosting-api/${version}${contact === undefined ? '' : ` (+${contact})`}`;
  const bootstrapUrl = url === 'off' ? undefined : url;
  return createRegistries({ dnsServers, bootstrapUrl, userAgent, log, createBucket });
}

/** Cache lifetimes: a taken name seldom becomes free, but a free name may be taken any moment. */
const cacheMs = { taken: 600_000, free: 60_000 };

/**
 * Returns a function that checks a domain, and caches the results of registries; concurrent checks of the same name share
 * a lookup. Throws a Problem if the result is unknown.
 */
export function createAvailability(registries: Pick<Registries, 'check'>) {
  type Question = { readonly domain: DomainName; readonly lookup: DomainLookup | undefined };
  const cache = createLru<string, Exclude<Availability, 'unknown'>, Question>(50_000, {
    ttl: cacheMs.free,
    ttlResolution: 0,
    ignoreFetchAbort: true,
    async fetchMethod(_key, _stale, { context: { domain, lookup }, options }) {
      let headers = {};
      const availability = await registries.check(domain, lookup, (ms) => (headers = toRetryAfter(ms)));
      if (availability === 'unknown') throw new Problem('provider_error', undefined, { headers });
      options.ttl = cacheMs[availability];
      return availability;
    },
  });
  return async (domain: DomainName, lookup?: DomainLookup) => {
    // With the lookup in the key, results of a former source are not used after a new release.
    const key = `${domain.name} ${JSON.stringify(lookup ?? null)}`;
    return await cache.forceFetch(key, { context: { domain, lookup } });
  };
}

/** Throws `invalid_domain` for a letter that the registry does not take; `letters` are those beyond a-z. */
function checkLetters({ unicode }: { readonly unicode: string }, tld: string, letters: string | undefined): void {
  if (letters === undefined) return;
  const allowed = letters === 'none' ? '' : letters.normalize('NFC').toLowerCase();
  const [label = ''] = unicode.split('.', 1);
  const other = Array.from(label).find((letter) => !/[a-z0-9-]/.test(letter) && !allowed.includes(letter));
  if (other === undefined) return;
  const more = allowed === '' ? '' : ` and ${allowed}`;
  throw new Problem('invalid_domain', `A ${tld} domain must not contain ${other}, only a-z, 0-9, hyphens${more}`);
}

/** Joins catalog and prices; with live prices, the catalog only adds lookups and order URLs, or hides TLDs. */
function toOffers(catalog: DomainCatalog, prices: ReadonlyMap<string, TldPrices> | undefined) {
  const entries = new Map(Object.entries(catalog.tlds).map(([tld, entry]) => [tld.slice(1), entry]));
  // TLDs that are not on sale count, too: example.co.uk is never a name under .uk.
  const tlds: ReadonlySet<string> = new Set([...entries.keys(), ...(prices?.keys() ?? [])]);
  const onSale = [...tlds].toSorted().flatMap((tld) => {
    const { active, order_url: orderUrl, lookup, letters, prices: own } = entries.get(tld) ?? {};
    const complete = prices ? prices.get(tld) : own?.['EUR']?.['1'];
    if (active === false || !complete) return [];
    const { register, renew, transfer } = complete;
    const pricing = { currency: 'EUR', term: 1, period: 'year', register, renew, transfer };
    const listed = { tld: `.${tld}`, pricing, ...(orderUrl !== undefined && { order_url: orderUrl }) };
    return [[tld, { listed, lookup, letters }] as const];
  });
  const offers = new Map(onSale);
  // A billing system without a complete price is not configured; a catalog may have nothing on sale.
  const lacksPrices = prices
    ? prices.size === 0
    : offers.size === 0 && entries.values().some(({ active }) => active !== false);
  const listed = onSale.map(([, offer]) => offer.listed);
  return { catalog, prices, tlds, offers, listed, lacksPrices };
}
