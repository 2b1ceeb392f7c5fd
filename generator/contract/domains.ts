import { z } from 'zod';
import { endpointDefaults, json } from '#contract/endpoint.ts';
import type { Endpoint, StaticFile } from '#contract/endpoint.ts';
import { HostPort, HttpUrl, HttpsUrl, Price, object, success, text } from '#contract/primitives.ts';

export const DomainPricing = object('DomainPricing', 'The prices of a domain for one term.', {
  currency: text('Currency code (ISO 4217). Always EUR.'),
  term: z.int().min(1).describe('Length of the term. Always 1.'),
  period: text('Unit of the term. Always year.'),
  register: z.number().describe('Price to register the domain.'),
  renew: z.number().describe('Price to renew the domain.'),
  transfer: z.number().describe('Price to transfer the domain in.'),
});

const tld = text('The TLD with a leading dot; an internationalised TLD in xn-- form.', /^\./);

export const DomainTLD = object('DomainTLD', 'A TLD for sale.', {
  tld,
  pricing: DomainPricing,
  order_url: z.url().optional().describe('URL to order a domain of this TLD, if the TLD has its own order page.'),
});

export const DomainTLDListResponse = object('DomainTLDListResponse', 'All TLDs for sale.', {
  success,
  tlds: z.array(DomainTLD).describe('The TLDs for sale, sorted by name.'),
});

export const DomainSearchResponse = object('DomainSearchResponse', 'The availability and prices of a domain.', {
  success,
  domain: text('The searched domain in lower case; an internationalised domain in xn-- form.'),
  tld,
  available: z
    .boolean()
    .describe(
      'Whether the domain can be registered; true only if the registry confirms it. Premium names cannot be recognised: their price may differ from the list price.',
    ),
  pricing: DomainPricing,
  order_url: z.url().optional().describe('URL to order the domain.'),
});

const TermPrices = z.strictObject({
  register: Price.describe('Registration price.'),
  renew: Price.describe('Renewal price.'),
  transfer: Price.describe('Transfer price.'),
});

/** A name that must exist under a TLD, as A-labels. */
const confirm = z.string().regex(/^(?:[a-z0-9-]+\.)+[a-z0-9-]+$/, 'must be a domain in lower case (xn-- form)');
const lookupServers = [
  z.strictObject({
    rdap: HttpUrl.refine((url) => !/[?#]/.test(url), 'must not have a query or fragment'),
    confirm: confirm.optional(),
  }),
  z.strictObject({ whois: HostPort, confirm: confirm.optional() }),
  z.strictObject({ das: HostPort, confirm: confirm.optional() }),
] as const;

/** The servers for availability queries of a TLD; `none` if the TLD has no public server. */
export const DomainLookup = z.union(
  [
    z.literal('none'),
    ...lookupServers,
    z.strictObject({ confirm }),
    z.array(z.union(lookupServers)).min(1, 'must not be empty'),
  ],
  'must be none, { rdap: URL }, { whois: "host[:port]" }, { das: "host[:port]" }, { confirm: NAME } or a list of servers',
);
export type DomainLookup = z.infer<typeof DomainLookup>;

const CatalogTLD = z.strictObject({
  active: z.boolean().optional().describe('false hides the TLD.'),
  prices: z
    .record(
      z.string().regex(/^[A-Z]{3}$/, 'must be a currency code of three capital letters'),
      z.record(z.string().regex(/^[1-9][0-9]?$/, 'must be a number of years'), TermPrices),
    )
    .optional()
    .describe('Prices by currency and term in years.'),
  order_url: HttpsUrl.optional().describe('URL to order a domain of this TLD.'),
  lookup: DomainLookup.optional().describe(
    "Server for availability queries, or a list of them; an RDAP server must serve the name in `confirm`, by default nic.<tld> or the registry's own domain.",
  ),
  letters: z
    .string()
    .regex(/^(?:none|[^\p{ASCII}]+)$/u, 'must be none, or letters beyond a-z in a row, such as äöü')
    .optional()
    .describe('Letters that the registry takes besides a-z, 0-9 and hyphens, or `none`. Default: any.'),
});

/** The source `catalog/domains.yaml`: TLDs, prices and availability servers. */
export const DomainCatalog = z.strictObject({
  order_url: HttpsUrl.optional().describe('URL to order a domain; {domain} is replaced by the domain name.'),
  tlds: z.record(
    z
      .string()
      .regex(
        /^(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/,
        'must be a TLD with a leading dot in lower case (an internationalised TLD in xn-- form)',
      ),
    CatalogTLD,
  ),
});
export type DomainCatalog = z.infer<typeof DomainCatalog>;

/** The operations on domains, and the file that the server reads. */
export const domainEntries = {
  listDomainTlds: {
    ...endpointDefaults,
    stored: 'memory',
    errorStyle: 'json',
    path: '/v1/domains/tlds',
    tag: 'Domains',
    summary: 'List all TLDs for sale, with their prices for one year',
    description: 'Lists all TLDs for sale, with their prices in euros for one year. Only these TLDs can be searched.',
    replies: { 200: json('The TLDs.', DomainTLDListResponse) },
    problems: ['pricing_unavailable', 'provider_error'],
    messages: { provider_error: 'Domain data could not be loaded' },
  },
  searchDomain: {
    ...endpointDefaults,
    errorStyle: 'json',
    path: '/v1/domains/search',
    tag: 'Domains',
    summary: 'Check a domain: its availability, and its prices for one year',
    description:
      'Checks whether a domain is available, and returns its prices for one year. A domain counts as available only if the registry confirms it. If the registry does not respond, the response is 502: try again later, after Retry-After seconds if this header is present.',
    query: z.object({
      domain: z.string().describe('A full domain name, without protocol, path or query.'),
    }),
    missing: { code: 'invalid_domain' },
    malformed: 'invalid_domain',
    limit: 'domains',
    hasUnicodeName: true,
    replies: { 200: json('The availability and prices of the domain.', DomainSearchResponse) },
    problems: ['invalid_domain', 'tld_not_found', 'pricing_unavailable', 'provider_error'],
    messages: {
      invalid_domain: 'Query parameter domain is required',
      provider_error: 'Domain data could not be loaded',
    },
  },
  domains: { file: 'private/domains.json', schema: DomainCatalog },
} as const satisfies Record<string, Endpoint | StaticFile>;
