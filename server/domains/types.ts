import type { DomainLookup } from '#contract/domains.ts';

/** Whether a domain can be registered. `free` and `taken` are proved; all else is `unknown`. */
export type Availability = 'taken' | 'free' | 'unknown';

/** A name with one label before its TLD, as A-labels in lower case, without a dot at either end. */
export interface DomainName {
  readonly name: string;
  /** The TLD of the catalog, for instance `co.uk`. */
  readonly tld: string;
}

/** The result of checking the sources of a TLD, for the operator. */
export interface Diagnosis {
  /** The queried source, for instance `rdap https://rdap.sidn.nl/`, or `none`. */
  readonly source: string;
  /** The results for a name that must exist, and for one that must not. */
  readonly existing: { readonly name: string; readonly availability: Availability };
  readonly missing: { readonly name: string; readonly availability: Availability };
  readonly ms: number;
}

/** The domain registries. */
export interface Registries {
  /** Starts to read the list of RDAP servers regularly. */
  start(): void;
  /**
   * Checks whether a name can be registered: first by DNS, which can only prove `taken`, then at the source of the TLD,
   * from the catalog or the built-in table. Never rejects, and caches nothing.
   */
  check(domain: DomainName, lookup?: DomainLookup): Promise<Availability>;
  /** Queries the source of a TLD, without DNS, for a name that exists and one that does not. Never rejects. */
  diagnose(tld: string, lookup?: DomainLookup): Promise<Diagnosis>;
  close(): Promise<void>;
}

/** Prices in EUR for one year. */
export interface TldPrices {
  readonly register: number;
  readonly renew: number;
  readonly transfer: number;
}

/** A billing system with prices. */
export interface PriceSource {
  /**
   * Reads the TLDs on sale with complete prices in EUR for one year, by TLD as A-labels in lower case without a leading
   * dot. Throws a ProviderError if they cannot be read; the map may be empty.
   */
  read(): Promise<ReadonlyMap<string, TldPrices>>;
  close(): Promise<void>;
}
