import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { DomainLookup } from '#contract/domains.ts';
import type { Logger } from '../../log.ts';
import { withTimeout } from '../../timeout.ts';
import type { CreateBucket } from '../../token-bucket.ts';
import { createClient } from '../../upstream/client.ts';
import { lookupPublic } from '../../upstream/public-address.ts';
import type { DomainName } from '../names.ts';
import { isDelegated } from './dns.ts';
import { createHostLimiter, defaultLimits } from './query.ts';
import type { Availability, Deadline, QueryContext, Rate, RegistryLimits } from './query.ts';
import { createRdap } from './rdap.ts';
import { createBootstrap, hostRates, isListedHost, toExistingName, toRegistryTld, unlisted } from './servers.ts';
import type { Source } from './servers.ts';
import { createWhois } from './whois.ts';

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

/** The result of checking the sources of a TLD, for the operator. */
export interface Diagnosis {
  /** The queried source, for instance `rdap https://rdap.sidn.nl/`, or `none`. */
  readonly source: string;
  /** The results for a name that must exist, and for one that must not. */
  readonly existing: { readonly name: string; readonly availability: Availability };
  readonly missing: { readonly name: string; readonly availability: Availability };
  readonly ms: number;
}

/** Options of the registries. */
export interface RegistriesOptions {
  /** Resolvers as `ip:port`; `off` disables DNS. Default the system's. */
  readonly dnsServers?: readonly string[] | 'off' | undefined;
  /** The URL of IANA's list of RDAP servers; without it, the built-in list is used. */
  readonly bootstrapUrl?: string | undefined;
  /** Product, version and contact URL. */
  readonly userAgent: string;
  readonly log: Logger;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
  readonly limits?: Partial<RegistryLimits>;
  /** Creates the buckets that pace the queries to each host; default in memory. */
  readonly createBucket?: CreateBucket | undefined;
}

/** The maximum number of cached canaries. */
const maxCanaries = 5000;

/** Creates the registries. No request is sent before the first check or start. */
export function createRegistries(options: RegistriesOptions): Registries {
  const { dnsServers, bootstrapUrl, userAgent, log, createBucket } = options;
  const { now = () => performance.now() } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const client = createClient({
    baseUrl: '',
    headers: { accept: 'application/rdap+json, application/json;q=0.5', 'user-agent': userAgent },
    timeoutMs: limits.answerMs,
    maxBytes: limits.maxBytes,
    redirects: 'reply',
    lookup: lookupPublic,
    upstream: 'rdap',
  });
  const { refreshMs } = limits;
  const bootstrap = createBootstrap({ url: bootstrapUrl, userAgent, refreshMs, now, log });
  const rateOf = (host: string): Rate => {
    const [hostname = ''] = host.split(':', 1);
    const isListed = bootstrap.hasHost(host) || isListedHost(hostname);
    return hostRates.get(hostname) ?? (isListed ? limits.rate : limits.unlistedRate);
  };
  const context: QueryContext = {
    limiter: createHostLimiter({ concurrency: limits.concurrency, rateOf, now, createBucket }),
    limits,
    onAnomaly: (host, description) => log.warn({ host }, `a registry ${description}`),
  };
  const askRdap = createRdap(client, context);
  const askWhois = createWhois(context);
  const dnsSlots = pLimit(limits.dnsConcurrency);
  const running = new Set<AbortController>();
  let isClosed = false;

  /** Runs some work with a deadline. The result is `unknown` if it fails or is too slow, and after the close. */
  const within = async <Answer>(
    ms: number,
    work: (deadline: Deadline) => Promise<Answer>,
  ): Promise<Answer | 'unknown'> => {
    if (isClosed) return 'unknown';
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
      // Aborts what is still running for this work.
      controller.abort();
    }
  };

  /** Checks by DNS whether a name is taken. It has the time of two queries, which leaves time for the registry. */
  const isSeenInDns = async (name: string): Promise<boolean> => {
    if (dnsServers === 'off') return false;
    const query = { servers: dnsServers, timeoutMs: limits.dnsMs };
    const isSeen = await within(2 * limits.dnsMs, ({ signal }) =>
      dnsSlots(async () => !signal.aborted && (await isDelegated(name, { ...query, signal }))),
    );
    return isSeen === true;
  };

  /**
   * The canaries: whether a server knows a name that must exist. A server of another TLD denies it, and so does one that
   * moved.
   */
  const canaries = new LRUCache<string, boolean, { readonly base: string; readonly tld: string }>({
    max: maxCanaries,
    ttl: limits.canaryMs,
    ttlResolution: 0,
    perf: { now },
    ignoreFetchAbort: true,
    async fetchMethod(server, _stale, { context: { base, tld } }) {
      const existing = toExistingName(tld, { rdap: base });
      const answer = await within(limits.lookupMs, (deadline) => askRdap(base, existing, deadline));
      if (answer === 'free' || answer === 'denied') {
        log.error({ server, name: existing }, 'an RDAP server denies a name that exists; its 404s do not count');
      }
      // An unknown result is not cached.
      return answer === 'unknown' ? undefined : answer === 'taken';
    },
  });

  const askServer = async (base: string, { name, tld }: DomainName, deadline: Deadline): Promise<Availability> => {
    const server = `${base} for .${tld}`;
    const listed = bootstrap.find(tld);
    // By IANA's current list: the built-in one is not enough, as servers move.
    const isListed = bootstrap.isCurrent() && listed?.base === base && listed.entry === toRegistryTld(tld);
    if (!isListed && canaries.get(server) === false) return 'unknown';
    const answer = await askRdap(base, name, deadline);
    // Any name confirms the server of the registry. Another, such as a registrar's, may have this name and no others.
    if (answer === 'taken' && isListed) canaries.set(server, true);
    if (answer === 'taken' || answer === 'unknown' || (answer === 'free' && isListed)) return answer;
    // Another search may confirm the server meanwhile: then the fetch rejects, or its result is outdated.
    await canaries.fetch(server, { context: { base, tld } }).catch(() => undefined);
    return canaries.get(server) ? 'free' : 'unknown';
  };

  const findSources = (tld: string, lookup: DomainLookup | undefined): readonly Source[] => {
    if (lookup !== undefined) return lookup === 'none' ? [] : [lookup];
    const listed = bootstrap.find(tld);
    return listed ? [{ rdap: listed.base }] : (unlisted.get(toRegistryTld(tld)) ?? []);
  };
  const askSource = (source: Source, domain: DomainName, deadline: Deadline): Promise<Availability> => {
    if ('rdap' in source) return askServer(toBase(source.rdap), domain, deadline);
    if ('das' in source) return askWhois('das', source.das, domain, deadline);
    return askWhois('whois', source.whois, domain, deadline);
  };
  /** Queries the sources of a TLD in turn, until one knows the availability. */
  const ask = async (domain: DomainName, lookup: DomainLookup | undefined, deadline: Deadline) => {
    if (lookup === undefined) await bootstrap.start();
    for (const source of findSources(domain.tld, lookup)) {
      const answer = await askSource(source, domain, deadline);
      if (answer !== 'unknown') return answer;
    }
    return 'unknown';
  };

  return {
    start: () => void bootstrap.start(),
    async check(domain, lookup) {
      // The name becomes a part of lines and paths, so it is checked again.
      if (!/^[a-z0-9-]{1,63}$/.test(domain.name.slice(0, -domain.tld.length - 1))) return 'unknown';
      if (!domain.name.endsWith(`.${domain.tld}`)) return 'unknown';
      return await within(limits.lookupMs, async (deadline) => {
        if (await isSeenInDns(domain.name)) return 'taken';
        return await ask(domain, lookup, deadline);
      });
    },
    async diagnose(tld, lookup) {
      const start = performance.now();
      if (lookup === undefined) await bootstrap.start();
      const sources = findSources(tld, lookup);
      const diagnoseName = async (name: string) => ({
        name,
        availability: await within(limits.lookupMs, (deadline) => ask({ name, tld }, lookup, deadline)),
      });
      const existing = await diagnoseName(toExistingName(tld, sources[0]));
      const missing = await diagnoseName(`x${randomBytes(12).toString('hex')}.${tld}`);
      const source = sources.map((one) => Object.entries(one).flat().join(' ')).join(', else ') || 'none';
      return { source, existing, missing, ms: performance.now() - start };
    },
    async close() {
      isClosed = true;
      for (const controller of running) controller.abort();
      await Promise.all([bootstrap.close(), client.close()]);
    },
  };
}

function toBase(url: string): string {
  return URL.parse(url.endsWith('/') ? url : `${url}/`)?.href ?? url;
}
