import { z } from 'zod';
import { HostPort, HttpsUrl, Price, schemas } from '#contract/primitives.ts';

const pricing = { currency: 'EUR', term: 1, period: 'year', register: 11.49, renew: 13.49, transfer: 11.49 };

/** What a domain costs. */
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
    description: 'What a domain costs for one term.',
    example: pricing,
  });

/** A TLD on sale. */
export const DomainTLD = z
  .strictObject({ tld: z.string().regex(/^\./), pricing: DomainPricing, order_url: z.url().optional() })
  .register(schemas, { id: 'DomainTLD', description: 'A TLD on sale.', example: { tld: '.com', pricing } });

/** The TLDs on sale. */
export const DomainTLDListResponse = z
  .strictObject({ success: z.boolean(), tlds: z.array(DomainTLD) })
  .register(schemas, {
    id: 'DomainTLDListResponse',
    description: 'All TLDs on sale.',
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
    description: 'Whether a domain can be registered, and its price.',
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

/** Where the availability of the names of a TLD is asked for; `none` where nobody may be asked. */
export const DomainLookup = z.union(
  [
    z.literal('none'),
    z.strictObject({ rdap: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }) }),
    z.strictObject({ whois: HostPort }),
    z.strictObject({ das: HostPort }),
  ],
  'must be none, { rdap: URL }, { whois: "host[:port]" } or { das: "host[:port]" }',
);
export type DomainLookup = z.infer<typeof DomainLookup>;

const CatalogTLD = z.strictObject({
  active: z.boolean().optional().describe('false takes the TLD off sale.'),
  prices: z
    .record(
      z.string().regex(/^[A-Z]{3}$/, 'must be a currency code of three capital letters'),
      z.record(z.string().regex(/^[1-9][0-9]?$/, 'must be a number of years'), TermPrices),
    )
    .optional()
    .describe('Prices by currency and by years.'),
  order_url: HttpsUrl.optional().describe('Where this TLD is ordered.'),
  lookup: DomainLookup.optional().describe('Where availability is asked for.'),
});

/** The source `catalog/domains.yaml`: the TLDs, their prices and where their availability is asked for. */
export const DomainCatalog = z.strictObject({
  order_url: HttpsUrl.optional().describe('Where a domain is ordered; {domain} stands for the name.'),
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
