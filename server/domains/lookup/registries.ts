import { randomBytes } from 'node:crypto';
import pLimit from 'p-limit';
import { toRegistryTld, unlisted, zones } from '#common/domain-sources.ts';
import type { DomainSource } from '#common/domain-sources.ts';
import type { DomainLookup } from '#contract/domains.ts';
import type { Logger } from '../../log.ts';
import { createLru } from '../../lru.ts';
import { withTimeout } from '../../timeout.ts';
import type { CreateBucket } from '../../token-bucket.ts';
import { openUpstream } from '../../upstream/client.ts';
import { createReadClient } from '../../upstream/reads.ts';
import { lookupPublic } from '../../upstream/address.ts';
import { isDelegated } from './dns.ts';
import { createDeadline, createHostLimiter, defaultLimits } from './query.ts';
import type { Availability, Deadline, DomainName, QueryContext, Rate, RegistryLimits } from './query.ts';
import { createBootstrap, createRdap } from './rdap.ts';
import { createWhois } from './whois.ts';

/** A source of availability for a TLD, and a name that must exist there. */
type Source = DomainSource & { readonly confirm?: string | undefined };

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
  readonly limits?: Partial<RegistryLimits>;
  readonly createBucket?: CreateBucket | undefined;
}

/** Creates the registries without sending a request before the first check or start. */
export function createRegistries(options: RegistriesOptions) {
  const { dnsServers, bootstrapUrl: url, userAgent, log, createBucket } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const { lookupMs } = limits;
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
  const bootstrap = createBootstrap(url, userAgent, limits.refreshMs, log);
  const rateOf = (host: string): Rate => {
    const [hostname = ''] = host.split(':', 1);
    const isListed = bootstrap.hasHost(host) || tableHosts.has(hostname);
    return hostRates.get(hostname) ?? (isListed ? limits.rate : limits.unlistedRate);
  };
  const context: QueryContext = {
    limiter: createHostLimiter(limits.concurrency, rateOf, createBucket),
    limits,
    onAnomaly: (host, description) => log.warn({ host }, `a registry ${description}`),
  };
  const askRdap = createRdap(client, context);
  const askWhois = createWhois(context);
  const dnsSlots = pLimit(limits.dnsConcurrency);
  const running = new Set<Deadline>();
  let isClosed = false;

  /** Runs work with a deadline; `unknown` if the work fails or is too slow, and after the close. */
  const within = async <Answer>(deadline: Deadline, work: (deadline: Deadline) => Promise<Answer>) => {
    if (isClosed) return 'unknown';
    running.add(deadline);
    try {
      return await withTimeout(work(deadline), deadline.ms, () => 'unknown' as const);
    } catch (error) {
      log.error({ err: error }, 'a registry lookup failed');
      return 'unknown';
    } finally {
      running.delete(deadline);
      deadline.abort();
    }
  };

  /** Checks DNS, with the time of two queries: enough time must remain for the registry. */
  const askDns = async (name: string): Promise<Availability> => {
    if (dnsServers === 'off') return 'unknown';
    const query = { servers: dnsServers, timeoutMs: limits.dnsMs };
    const isSeen = await within(createDeadline(2 * limits.dnsMs), ({ signal }) =>
      dnsSlots(async () => !signal.aborted && (await isDelegated(name, { ...query, signal }))),
    );
    return isSeen === true ? 'taken' : 'unknown';
  };

  /** Results of canary checks: a moved server, or a server of another TLD, denies a name that must exist. */
  const canaries = createLru<string, boolean, { base: string; name: string; deadline: Deadline }>(5000, {
    ttl: limits.canaryMs,
    ttlResolution: 0,
    ignoreFetchAbort: true,
    async fetchMethod(server, _stale, { context: { base, name, deadline: asked } }) {
      const deadline = createDeadline(lookupMs);
      const answer = await within(deadline, () => askRdap(base, name, deadline));
      asked.retryMs = Math.min(asked.retryMs, deadline.retryMs);
      if (answer === 'unknown' || answer.proof === undefined) return undefined;
      if (answer.proof !== 'domain') {
        log.error({ server, name }, 'an RDAP server denies a name that exists; its 404s do not count');
      }
      return answer.proof === 'domain';
    },
  });

  const askServer = async (
    base: string,
    { name, tld }: DomainName,
    deadline: Deadline,
    canary: string,
  ): Promise<Availability> => {
    const server = `${base} for ${canary}`;
    const listed = bootstrap.find(tld);
    // Only IANA's current list counts, not the built-in list: servers move.
    const isListed = bootstrap.isCurrent() && listed?.base === base && listed.entry === toRegistryTld(tld);
    if (!isListed && canaries.get(server) === false) return 'unknown';
    const { availability, proof } = await askRdap(base, name, deadline);
    // Any name confirms the server of the registry. A registrar's server, for instance, has only its own names.
    if (proof === 'domain' && isListed) canaries.set(server, true);
    if (proof === 'domain' || availability === 'unknown' || (proof === 'error' && isListed)) return availability;
    // If another search confirms the server first, the fetch rejects or its result is outdated.
    await canaries.fetch(server, { context: { base, name: canary, deadline } }).catch(() => undefined);
    return canaries.get(server) ? availability : 'unknown';
  };

  const findSources = async (tld: string, lookup: DomainLookup | undefined): Promise<readonly Source[]> => {
    if (lookup === 'none') return [];
    if (Array.isArray(lookup)) return lookup;
    const { confirm, ...source } = lookup ?? {};
    if ('rdap' in source || 'whois' in source || 'das' in source) return [{ ...source, confirm }];
    await bootstrap.start();
    const listed = bootstrap.find(tld);
    const sources = listed ? [{ rdap: listed.base }] : (unlisted.get(toRegistryTld(tld)) ?? []);
    return sources.map((one) => ({ ...one, confirm }));
  };
  const askSource = (source: Source, domain: DomainName, deadline: Deadline): Promise<Availability> => {
    if ('das' in source) return askWhois('das', source.das, domain, deadline);
    if ('whois' in source) return askWhois('whois', source.whois, domain, deadline);
    const { rdap } = source;
    const base = URL.parse(rdap.endsWith('/') ? rdap : `${rdap}/`)?.href ?? rdap;
    return askServer(base, domain, deadline, toExistingName(domain.tld, source));
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
    /**
     * Checks a name in DNS, which can only prove `taken`, then at the sources of its TLD. If the result is `unknown`,
     * `onWait` gets the time after which a source can be queried again, if known. Never rejects.
     */
    async check(domain: DomainName, lookup?: DomainLookup, onWait?: (ms: number) => void): Promise<Availability> {
      const { name, tld } = domain;
      // Check again: the name becomes part of lines and paths.
      if (!/^[a-z0-9-]{1,63}$/.test(name.slice(0, -tld.length - 1)) || !name.endsWith(`.${tld}`)) return 'unknown';
      const deadline = createDeadline(lookupMs);
      const answer = await within(deadline, async () => {
        const seen = await askDns(name);
        return seen === 'taken' ? seen : await ask(domain, lookup, deadline);
      });
      if (answer === 'unknown' && deadline.retryMs < Infinity) onWait?.(deadline.retryMs);
      return answer;
    },
    /** Queries DNS and each source of a TLD for a name that must exist and a name that must not. Never rejects. */
    async diagnose(tld: string, lookup?: DomainLookup) {
      const free = `x${randomBytes(12).toString('hex')}.${tld}`;
      const diagnoseSource = async (source: string, taken: string, find: (name: string) => Promise<Availability>) => {
        const start = performance.now();
        const existing = { name: taken, availability: await find(taken) };
        const missing = { name: free, availability: await find(free) };
        const proves = [
          ...(existing.availability === 'taken' && missing.availability !== 'taken' ? ['taken'] : []),
          ...(missing.availability === 'free' && existing.availability !== 'free' ? ['free'] : []),
        ];
        return { source, proves, existing, missing, ms: performance.now() - start };
      };
      const sources = await findSources(tld, lookup);
      const first = toExistingName(tld, sources[0]);
      return await Promise.all([
        ...(dnsServers === 'off' ? [] : [diagnoseSource('dns', first, askDns)]),
        ...sources.map((source) => {
          const { confirm: _confirm, ...server } = source;
          return diagnoseSource(Object.entries(server).flat().join(' '), toExistingName(tld, source), (name) =>
            within(createDeadline(lookupMs), (deadline) => askSource(source, { name, tld }, deadline)),
          );
        }),
      ]);
    },
    async close(): Promise<void> {
      isClosed = true;
      for (const deadline of running) deadline.abort();
      await Promise.all([bootstrap.close(), client.close()]);
    },
  };
}

function toHostname(source: Source): string {
  if ('rdap' in source) return URL.parse(source.rdap)?.hostname ?? '';
  return ('whois' in source ? source.whois : source.das).split(':', 1)[0]!.toLowerCase();
}

/** The WHOIS and DAS hosts of the table. */
const tableHosts = new Set(
  [...unlisted.values()].flat().flatMap((source) => ('rdap' in source ? [] : toHostname(source))),
);

/** Returns a name that must exist: `confirm`, or the registry's own domain if its host is under the TLD, else nic.<tld>. */
export function toExistingName(tld: string, source: Source | undefined): string {
  const known = source?.confirm ?? zones.get(tld)?.existing;
  if (known !== undefined) return known;
  const hostname = source ? toHostname(source) : '';
  if (!hostname.endsWith(`.${tld}`)) return `nic.${tld}`;
  return hostname.slice(hostname.lastIndexOf('.', hostname.length - tld.length - 2) + 1);
}
