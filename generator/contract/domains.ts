import { z } from 'zod';
import { HostPort, HttpUrl, HttpsUrl, Price, schemas } from '#contract/primitives.ts';

const pricing = { currency: 'EUR', term: 1, period: 'year', register: 11.49, renew: 13.49, transfer: 11.49 };

/** The prices of a domain. */
export const DomainPricing = z
  .strictObject({
    currency: z.string(),
    term: z.int(),
    period: z.string(),
    register: z.number(),
    renew: z.number(),
    transfer: z.number(),
  })
  .register(schemas, {
    id: 'DomainPricing',
    description: 'The prices of a domain for one term.',
    example: pricing,
  });

/** A TLD for sale. */
export const DomainTLD = z
  .strictObject({ tld: z.string().regex(/^\./), pricing: DomainPricing, order_url: z.url().optional() })
  .register(schemas, { id: 'DomainTLD', description: 'A TLD for sale.', example: { tld: '.com', pricing } });

/** The TLDs for sale. */
export const DomainTLDListResponse = z
  .strictObject({ success: z.boolean(), tlds: z.array(DomainTLD) })
  .register(schemas, {
    id: 'DomainTLDListResponse',
    description: 'All TLDs for sale.',
    example: { success: true, tlds: [{ tld: '.com', pricing }] },
  });

/** Whether a domain can be registered. */
export const DomainSearchResponse = z
  .strictObject({
    success: z.boolean(),
    domain: z.string(),
    tld: z.string().regex(/^\./),
    available: z.boolean(),
    pricing: DomainPricing,
    order_url: z.url().optional(),
  })
  .register(schemas, {
    id: 'DomainSearchResponse',
    description: 'Whether a domain is available, and its prices.',
    example: {
      success: true,
      domain: 'example.com',
      tld: '.com',
      available: false,
      pricing,
      order_url: 'https://clients.example.com/domain?name=example.com',
    },
  });

const TermPrices = z.strictObject({
  register: Price.describe('Registration price.'),
  renew: Price.describe('Renewal price.'),
  transfer: Price.describe('Transfer price.'),
});

/** The server that answers availability queries for a TLD; `none` if there is none that may be queried. */
export const DomainLookup = z.union(
  [
    z.literal('none'),
    z.strictObject({ rdap: HttpUrl }),
    z.strictObject({ whois: HostPort }),
    z.strictObject({ das: HostPort }),
  ],
  'must be none, { rdap: URL }, { whois: "host[:port]" } or { das: "host[:port]" }',
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
    .describe('Prices by currency and by term in years.'),
  order_url: HttpsUrl.optional().describe('URL to order a domain of this TLD.'),
  lookup: DomainLookup.optional().describe(
    "Server that answers availability queries; an RDAP server must know nic.<tld> or the registry's own domain.",
  ),
});

/** The source `catalog/domains.yaml`: the TLDs, their prices and their availability servers. */
export const DomainCatalog = z.strictObject({
  order_url: HttpsUrl.optional().describe('URL to order a domain; {domain} is replaced by its name.'),
  tlds: z.record(
    z
      .string()
      .regex(
        /^(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/,
        'must be a TLD with its leading dot, in lower case (an internationalised one in its xn-- form)',
      ),
    CatalogTLD,
  ),
});
export type DomainCatalog = z.infer<typeof DomainCatalog>;
