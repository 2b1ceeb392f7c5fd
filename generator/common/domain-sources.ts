import snapshot from './rdap-snapshot.json' with { type: 'json' };

/** A server that answers availability queries. */
export type DomainSource = { readonly rdap: string } | { readonly whois: string } | { readonly das: string };

/**
 * The RDAP server of each TLD until a newer list is read: IANA's list (https://data.iana.org/rdap/dns.json) of
 * 2026-02-13, without .kg, .mg and .ng, which have no https; .online, .site, .store and .tech as of 2026-09-30.
 */
export const listedBases: ReadonlyMap<string, string> = new Map(
  Object.entries(snapshot).flatMap(([base, tlds]) => tlds.split(' ').map((tld) => [tld, base] as const)),
);

/**
 * Sources of TLDs that are not in IANA's list as of 2026-11-20, the better source first. RDAP: DENIC's pilot (denic.de),
 * SWITCH (whoisit's overrides), Identity Digital for .io (caarlos0/domain_exporter PR 409; the server at nic.io denies
 * existing names). DAS: docs.dnsbelgium.be, EURid. WHOIS: rfc1036/whois 5.6.6 of 2026-02-16.
 *
 * .es and .gr have no source, only a web form.
 */
export const unlisted: ReadonlyMap<string, readonly DomainSource[]> = new Map([
  ['at', [{ whois: 'whois.nic.at' }]],
  // The registry advises against WHOIS for availability checks.
  ['be', [{ das: 'das.dns.be:4343' }]],
  ['ch', [{ rdap: 'https://rdap.nic.ch/' }, { whois: 'whois.nic.ch' }]],
  ['co', [{ whois: 'whois.registry.co' }]],
  ['de', [{ rdap: 'https://rdap.denic.de/' }, { whois: 'whois.denic.de' }]],
  ['dk', [{ whois: 'whois.punktum.dk' }]],
  ['ee', [{ whois: 'whois.tld.ee' }]],
  ['eu', [{ das: 'das.eu:4343' }, { whois: 'whois.eu' }]],
  ['hu', [{ whois: 'whois.nic.hu' }]],
  ['ie', [{ whois: 'whois.weare.ie' }]],
  ['io', [{ rdap: 'https://rdap.identitydigital.services/rdap/' }]],
  ['it', [{ whois: 'whois.nic.it' }]],
  ['li', [{ rdap: 'https://rdap.nic.li/' }, { whois: 'whois.nic.li' }]],
  ['lt', [{ whois: 'whois.domreg.lt' }]],
  ['lu', [{ whois: 'whois.dns.lu' }]],
  ['lv', [{ whois: 'whois.nic.lv' }]],
  ['me', [{ whois: 'whois.nic.me' }]],
  ['nu', [{ whois: 'whois.iis.nu' }]],
  ['pt', [{ whois: 'whois.dns.pt' }]],
  ['ro', [{ whois: 'whois.rotld.ro' }]],
  ['se', [{ whois: 'whois.iis.se' }]],
  ['sk', [{ whois: 'whois.sk-nic.sk' }]],
]);

/** Suffixes run by the registry of their TLD, with an existing name. Other suffixes may be private, such as .uk.com. */
export const zones: ReadonlyMap<string, { readonly of: string; readonly existing: string }> = new Map([
  ['co.uk', { of: 'uk', existing: 'bbc.co.uk' }],
  ['org.uk', { of: 'uk', existing: 'nominet.org.uk' }],
]);

/** Returns the TLD whose registry runs a suffix, usually the suffix itself. */
export function toRegistryTld(tld: string): string {
  return zones.get(tld)?.of ?? tld;
}

/** Finds the RDAP server of a TLD by the longest entry that is a suffix of the TLD. */
export function findBase(tld: string, bases: ReadonlyMap<string, string>) {
  for (let entry = tld; entry !== ''; entry = entry.split('.').slice(1).join('.')) {
    const base = bases.get(entry);
    if (base !== undefined) return { base, entry };
  }
  return undefined;
}

/** Checks whether the domain search has a source for a TLD without `lookup`. */
export function hasDefaultSource(tld: string): boolean {
  return findBase(tld, listedBases) !== undefined || unlisted.has(toRegistryTld(tld));
}
