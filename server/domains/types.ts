import type { DomainLookup } from '#contract/domains.ts';

/** Whether a domain can be registered, as far as it is proved: what is not proved is `unknown`, never `free`. */
export type Availability = 'taken' | 'free' | 'unknown';

/** A name that can be registered: one label in front of a TLD, as A-labels in lower case, without a dot at either end. */
export interface DomainName {
  readonly name: string;
  /** The TLD of the catalog, for instance `co.uk`. */
  readonly tld: string;
}

/** What was found out about a TLD, for the operator. */
export interface Diagnosis {
  /** Where it is asked, for instance `rdap https://rdap.sidn.nl/`, or `none`. */
  readonly source: string;
  /** The answer for a name that must exist, and for one that must not. */
  readonly existing: { readonly name: string; readonly availability: Availability };
  readonly missing: { readonly name: string; readonly availability: Availability };
  readonly ms: number;
}

/** The registries of the world. */
export interface Registries {
  /** Begins to read the list of RDAP servers, and keeps it current. */
  start(): void;
  /**
   * Finds out whether a name can be registered: DNS first, which proves `taken` alone, then where the TLD is asked; the
   * built-in table says where, unless the catalog does. Never rejects, and never keeps an answer.
   */
  check(domain: DomainName, lookup?: DomainLookup): Promise<Availability>;
  /** Asks where a TLD is asked, past DNS, for two names whose answers are known. Never rejects. */
  diagnose(tld: string, lookup?: DomainLookup): Promise<Diagnosis>;
  close(): Promise<void>;
}

/** Prices in EUR for one year, without a judgement on what else is on sale. */
export interface TldPrices {
  readonly register: number;
  readonly renew: number;
  readonly transfer: number;
}

/** A billing system that has prices. */
export interface PriceSource {
  /**
   * Reads the TLDs on sale whose prices for one year are complete in EUR, by TLD as A-labels in lower case without a
   * dot in front. Throws a ProviderError where they cannot be read; an empty map is an answer.
   */
  read(): Promise<ReadonlyMap<string, TldPrices>>;
  close(): Promise<void>;
}
