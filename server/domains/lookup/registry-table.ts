import type { DomainLookup } from '#contract/domains.ts';
import type { Rate } from './limits.ts';
import snapshot from './rdap-snapshot.json' with { type: 'json' };

/** A place where names of a TLD are asked for. */
export type Source = Exclude<DomainLookup, 'none'>;

/**
 * The RDAP server of each TLD by IANA's list of 2026-02-13 (https://data.iana.org/rdap/dns.json), without the three
 * that have none over https (.kg, .mg, .ng); .online, .site, .store and .tech as they moved until 2026-09-30. It is used
 * until a newer one is read.
 */
export const listedBases: ReadonlyMap<string, string> = new Map(
  Object.entries(snapshot).flatMap(([base, tlds]) => tlds.split(' ').map((tld) => [tld, base] as const)),
);

/**
 * TLDs that IANA's list does not have, as of 2026-11-20: where each is asked, the better source first. RDAP: DENIC's
 * pilot (denic.de), SWITCH (whoisit's overrides), Identity Digital for .io (caarlos0/domain_exporter PR 409; the one
 * at nic.io denies names that exist). DAS: docs.dnsbelgium.be, EURid. WHOIS: rfc1036/whois 5.6.6 of 2026-02-16.
 *
 * None for .es and .gr, which have the web alone, and for those whose answers are not known: .bg, .hr, .ie, .lv, .me.
 */
export const unlisted: ReadonlyMap<string, readonly Source[]> = new Map(
  Object.entries({
    at: [{ whois: 'whois.nic.at' }],
    // Not its WHOIS: the registry says that it is unfit for this.
    be: [{ das: 'das.dns.be:4343' }],
    ch: [{ rdap: 'https://rdap.nic.ch/' }, { whois: 'whois.nic.ch' }],
    co: [{ whois: 'whois.registry.co' }],
    de: [{ rdap: 'https://rdap.denic.de/' }, { whois: 'whois.denic.de' }],
    dk: [{ whois: 'whois.punktum.dk' }],
    ee: [{ whois: 'whois.tld.ee' }],
    eu: [{ das: 'das.eu:4343' }, { whois: 'whois.eu' }],
    hu: [{ whois: 'whois.nic.hu' }],
    io: [{ rdap: 'https://rdap.identitydigital.services/rdap/' }],
    it: [{ whois: 'whois.nic.it' }],
    li: [{ rdap: 'https://rdap.nic.li/' }, { whois: 'whois.nic.li' }],
    lt: [{ whois: 'whois.domreg.lt' }],
    lu: [{ whois: 'whois.dns.lu' }],
    nu: [{ whois: 'whois.iis.nu' }],
    pt: [{ whois: 'whois.dns.pt' }],
    ro: [{ whois: 'whois.rotld.ro' }],
    se: [{ whois: 'whois.iis.se' }],
    sk: [{ whois: 'whois.sk-nic.sk' }],
  }),
);

/**
 * Ends of two labels that the registry of their last one is known to run itself, and a name that exists there. Others
 * may be anybody's: the server of .com denies every name of .uk.com, which is not its own.
 */
const zones: ReadonlyMap<string, { readonly of: string; readonly existing: string }> = new Map(
  Object.entries({
    'co.uk': { of: 'uk', existing: 'bbc.co.uk' },
    'org.uk': { of: 'uk', existing: 'nominet.org.uk' },
  }),
);

/**
 * Hosts with a pace of their own: Google answers about one a second before its 429 (measured in 2026-03); the others
 * are published limits: .be 50 a minute, .eu DAS 120 and WHOIS 15 a minute, .nl one a second.
 */
export const paces: ReadonlyMap<string, Rate> = new Map(
  Object.entries({
    'pubapi.registry.google': { rps: 1, burst: 5 },
    'das.dns.be': { rps: 0.75, burst: 5 },
    'das.eu': { rps: 1.9, burst: 5 },
    'whois.eu': { rps: 0.2, burst: 3 },
    'whois.domain-registry.nl': { rps: 1, burst: 1 },
  }),
);

/** The TLD whose registry runs the names of this one, as far as that is known: mostly itself. */
export function toRegistryTld(tld: string): string {
  return zones.get(tld)?.of ?? tld;
}

/** Whether the table has a host of WHOIS or DAS. */
export function isKnownHost(hostname: string): boolean {
  return [...unlisted.values()].flat().some((source) => !('rdap' in source) && toHostname(source) === hostname);
}

/** The host of a source: its name alone. */
export function toHostname(source: Source): string {
  if ('rdap' in source) return URL.parse(source.rdap)?.hostname ?? '';
  return ('whois' in source ? source.whois : source.das).split(':', 1)[0]!.toLowerCase();
}

/** A name that must exist in a TLD: the registry's own domain, where its host is below the TLD, else nic.<tld>. */
export function toExistingName(tld: string, source: Source | undefined): string {
  const zone = zones.get(tld);
  if (zone) return zone.existing;
  const hostname = source ? toHostname(source) : '';
  if (!hostname.endsWith(`.${tld}`)) return `nic.${tld}`;
  const labels = hostname.slice(0, -tld.length - 1).split('.');
  return `${labels.at(-1)}.${tld}`;
}
