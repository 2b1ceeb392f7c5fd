import { randomBytes } from 'node:crypto';
import pLimit from 'p-limit';
import type { DomainLookup } from '#contract/domains.ts';
import type { Logger } from '../../log.ts';
import { createLru } from '../../lru.ts';
import { withTimeout } from '../../timeout.ts';
import type { CreateBucket } from '../../token-bucket.ts';
import { openUpstream } from '../../upstream/client.ts';
import { createReadClient } from '../../upstream/reads.ts';
import { lookupPublic } from '../../upstream/address.ts';
import { isDelegated } from './dns.ts';
import { createHostLimiter, defaultLimits } from './query.ts';
import type { Availability, Deadline, DomainName, QueryContext, Rate, RegistryLimits } from './query.ts';
import { createBootstrap, createRdap } from './rdap.ts';
import { createWhois } from './whois.ts';

/** A source of availability for a TLD. */
type Source = Exclude<DomainLookup, 'none'>;

/**
 * Sources of TLDs that are not in IANA's list as of 2026-11-20, the better source first. RDAP: DENIC's pilot (denic.de),
 * SWITCH (whoisit's overrides), Identity Digital for .io (caarlos0/domain_exporter PR 409; the server at nic.io denies
 * existing names). DAS: docs.dnsbelgium.be, EURid. WHOIS: rfc1036/whois 5.6.6 of 2026-02-16.
 *
 * .es and .gr have no source, only a web form; the response formats of .bg, .hr, .ie, .lv and .me are unknown.
 */
const unlisted: ReadonlyMap<string, readonly Source[]> = new Map([
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
  ['io', [{ rdap: 'https://rdap.identitydigital.services/rdap/' }]],
  ['it', [{ whois: 'whois.nic.it' }]],
  ['li', [{ rdap: 'https://rdap.nic.li/' }, { whois: 'whois.nic.li' }]],
  ['lt', [{ whois: 'whois.domreg.lt' }]],
  ['lu', [{ whois: 'whois.dns.lu' }]],
  ['nu', [{ whois: 'whois.iis.nu' }]],
  ['pt', [{ whois: 'whois.dns.pt' }]],
  ['ro', [{ whois: 'whois.rotld.ro' }]],
  ['se', [{ whois: 'whois.iis.se' }]],
  ['sk', [{ whois: 'whois.sk-nic.sk' }]],
]);

/** Suffixes run by the registry of their TLD, with an existing name. Other suffixes may be private, such as .uk.com. */
const zones: ReadonlyMap<string, { readonly of: string; readonly existing: string }> = new Map([
  ['co.uk', { of: 'uk', existing: 'bbc.co.uk' }],
  ['org.uk', { of: 'uk', existing: 'nominet.org.uk' }],
]);

/**
 * Hosts with a known rate limit: Google sends 429 beyond about one query per second (measured in 2026-03). The other
 * limits are published: .be 50 per minute, .eu DAS 120 and WHOIS 15 per minute, .nl one per second.
 */
const hostRates: ReadonlyMap<string, Rate> = new Map([
  ['pubapi.registry.google', { rps: 1, burst: 5 }],
  ['das.dns.be', { rps: 0.75, burst: 5 }],
  ['das.eu', { rps: 1.9, burst: 5 }],
  ['whois.eu', { rps: 0.2, burst: 3 }],
  ['whois.domain-registry.nl', { rps: 1, burst: 1 }],
]);

export type Registries = ReturnType<typeof createRegistries>;

export interface RegistriesOptions {
  /** Resolvers as `ip:port`, by default the resolvers of the system; `off` disables DNS. */
  readonly dnsServers?: readonly string[] | 'off' | undefined;
  readonly bootstrapUrl?: string | undefined;
  readonly userAgent: string;
  readonly log: Logger;
  readonly now?: () => number;
  readonly limits?: Partial<RegistryLimits>;
  readonly createBucket?: CreateBucket | undefined;
}

/** Creates the registries without sending a request before the first check or start. */
export function createRegistries(options: RegistriesOptions) {
  const { dnsServers, bootstrapUrl: url, userAgent, log, now = () => performance.now(), createBucket } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const { refreshMs, lookupMs, concurrency } = limits;
  const upstream = openUpstream({
    name: 'rdap',
    baseUrl: '',
    headers: { accept: 'application/rdap+json, application/json;q=0.5', 'user-agent': userAgent },
    timeoutMs: limits.answerMs,
    maxBytes: limits.maxBytes,
    redirects: 'reply',
    lookup: lookupPublic,
  });
  const client = createReadClient(upstream);
  const bootstrap = createBootstrap({ url, userAgent, refreshMs, now, log });
  const rateOf = (host: string): Rate => {
    const [hostname = ''] = host.split(':', 1);
    const isListed = bootstrap.hasHost(host) || tableHosts.has(hostname);
    return hostRates.get(hostname) ?? (isListed ? limits.rate : limits.unlistedRate);
  };
  const context: QueryContext = {
    limiter: createHostLimiter({ concurrency, rateOf, now, createBucket }),
    limits,
    onAnomaly: (host, description) => log.warn({ host }, `a registry ${description}`),
  };
  const askRdap = createRdap(client, context);
  const askWhois = createWhois(context);
  const dnsSlots = pLimit(limits.dnsConcurrency);
  const running = new Set<AbortController>();
  let isClosed = false;

  /** Runs work with a deadline; `unknown` if the work fails or is too slow, and after the close. */
  const within = async <Answer>(
    ms: number,
    work: (deadline: Deadline) => Promise<Answer>,
  ): Promise<Answer | 'unknown'> => {
    if (isClosed) return 'unknown';
    // AbortSignal.any would leak memory at a signal that lives as long as the process.
    const controller = new AbortController();
    const { signal } = controller;
    const end = performance.now() + ms;
    running.add(controller);
    try {
      return await withTimeout(work({ signal, remainingMs: () => end - performance.now() }), ms, () => 'unknown');
    } catch (error) {
      log.error({ err: error }, 'a registry lookup failed');
      return 'unknown';
    } finally {
      running.delete(controller);
      controller.abort();
    }
  };

  /** Checks DNS, with the time of two queries: enough time must remain for the registry. */
  const isSeenInDns = async (name: string): Promise<boolean> => {
    if (dnsServers === 'off') return false;
    const query = { servers: dnsServers, timeoutMs: limits.dnsMs };
    const isSeen = await within(2 * limits.dnsMs, ({ signal }) =>
      dnsSlots(async () => !signal.aborted && (await isDelegated(name, { ...query, signal }))),
    );
    return isSeen === true;
  };

  /** Results of canary checks: a moved server, or a server of another TLD, denies a name that must exist. */
  const canaries = createLru<string, boolean, { readonly base: string; readonly tld: string }>(5000, {
    ttl: limits.canaryMs,
    ttlResolution: 0,
    perf: { now },
    ignoreFetchAbort: true,
    async fetchMethod(server, _stale, { context: { base, tld } }) {
      const name = toExistingName(tld, { rdap: base });
      const answer = await within(lookupMs, (deadline) => askRdap(base, name, deadline));
      if (answer === 'unknown' || answer.proof === undefined) return undefined;
      if (answer.proof !== 'domain') {
        log.error({ server, name }, 'an RDAP server denies a name that exists; its 404s do not count');
      }
      return answer.proof === 'domain';
    },
  });

  const askServer = async (base: string, { name, tld }: DomainName, deadline: Deadline): Promise<Availability> => {
    const server = `${base} for .${tld}`;
    const listed = bootstrap.find(tld);
    // Only IANA's current list counts, not the built-in list: servers move.
    const isListed = bootstrap.isCurrent() && listed?.base === base && listed.entry === toRegistryTld(tld);
    if (!isListed && canaries.get(server) === false) return 'unknown';
    const { availability, proof } = await askRdap(base, name, deadline);
    // Any name confirms the server of the registry. A registrar's server, for instance, has only its own names.
    if (proof === 'domain' && isListed) canaries.set(server, true);
    if (proof === 'domain' || availability === 'unknown' || (proof === 'error' && isListed)) return availability;
    // If another search confirms the server first, the fetch rejects or its result is outdated.
    await canaries.fetch(server, { context: { base, tld } }).catch(() => undefined);
    return canaries.get(server) ? availability : 'unknown';
  };

  const findSources = async (tld: string, lookup: DomainLookup | undefined): Promise<readonly Source[]> => {
    if (lookup !== undefined) return lookup === 'none' ? [] : [lookup];
    await bootstrap.start();
    const listed = bootstrap.find(tld);
    return listed ? [{ rdap: listed.base }] : (unlisted.get(toRegistryTld(tld)) ?? []);
  };
  const askSource = (source: Source, domain: DomainName, deadline: Deadline): Promise<Availability> => {
    if ('das' in source) return askWhois('das', source.das, domain, deadline);
    if ('whois' in source) return askWhois('whois', source.whois, domain, deadline);
    const { rdap } = source;
    return askServer(URL.parse(rdap.endsWith('/') ? rdap : `${rdap}/`)?.href ?? rdap, domain, deadline);
  };
  /** Queries the sources of a TLD in turn, until a source has a result. */
  const ask = async (domain: DomainName, lookup: DomainLookup | undefined, deadline: Deadline) => {
    for (const source of await findSources(domain.tld, lookup)) {
      const answer = await askSource(source, domain, deadline);
      if (answer !== 'unknown') return answer;
    }
    return 'unknown';
  };

  return {
    start: () => void bootstrap.start(),
    /** Checks a name in DNS, which can only prove `taken`, then at the source of its TLD. Never rejects. */
    async check(domain: DomainName, lookup?: DomainLookup): Promise<Availability> {
      const { name, tld } = domain;
      // Check again: the name becomes part of lines and paths.
      if (!/^[a-z0-9-]{1,63}$/.test(name.slice(0, -tld.length - 1)) || !name.endsWith(`.${tld}`)) return 'unknown';
      return await within(lookupMs, async (deadline) =>
        (await isSeenInDns(name)) ? 'taken' : await ask(domain, lookup, deadline),
      );
    },
    /** Queries the source of a TLD, without DNS. Never rejects. */
    async diagnose(tld: string, lookup?: DomainLookup) {
      const start = performance.now();
      const sources = await findSources(tld, lookup);
      const diagnoseName = async (name: string) => ({
        name,
        availability: await within(lookupMs, (deadline) => ask({ name, tld }, lookup, deadline)),
      });
      const existing = await diagnoseName(toExistingName(tld, sources[0]));
      const missing = await diagnoseName(`x${randomBytes(12).toString('hex')}.${tld}`);
      const source = sources.map((one) => Object.entries(one).flat().join(' ')).join(', else ') || 'none';
      return { source, existing, missing, ms: performance.now() - start };
    },
    async close(): Promise<void> {
      isClosed = true;
      for (const controller of running) controller.abort();
      await Promise.all([bootstrap.close(), client.close()]);
    },
  };
}

/** Returns the TLD whose registry runs a suffix, usually the suffix itself. */
function toRegistryTld(tld: string): string {
  return zones.get(tld)?.of ?? tld;
}

function toHostname(source: Source): string {
  if ('rdap' in source) return URL.parse(source.rdap)?.hostname ?? '';
  return ('whois' in source ? source.whois : source.das).split(':', 1)[0]!.toLowerCase();
}

/** The WHOIS and DAS hosts of the table. */
const tableHosts = new Set(
  [...unlisted.values()].flat().flatMap((source) => ('rdap' in source ? [] : toHostname(source))),
);

/** Returns a name that must exist: the registry's own domain if its host is under the TLD, else nic.<tld>. */
export function toExistingName(tld: string, source: Source | undefined): string {
  const zone = zones.get(tld);
  if (zone) return zone.existing;
  const hostname = source ? toHostname(source) : '';
  if (!hostname.endsWith(`.${tld}`)) return `nic.${tld}`;
  return hostname.slice(hostname.lastIndexOf('.', hostname.length - tld.length - 2) + 1);
}
