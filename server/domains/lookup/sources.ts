import { LRUCache } from 'lru-cache';
import type { DomainLookup } from '#contract/domains.ts';
import type { Logger } from '../../log.ts';
import type { CreateBucket } from '../../token-bucket.ts';
import type { WatchCalls } from '../../upstream/calls.ts';
import type { Client } from '../../upstream/client.ts';
import type { Availability, DomainName } from '../types.ts';
import type { Deadline } from './deadline.ts';
import { createHostLimiter } from './host-limiter.ts';
import type { QueryContext } from './host-limiter.ts';
import type { Rate, RegistryLimits } from './limits.ts';
import type { Bootstrap } from './rdap-bootstrap.ts';
import { createRdap } from './rdap.ts';
import type { AskRdap } from './rdap.ts';
import { hostRates, isListedHost, toExistingName, toRegistryTld, unlisted } from './registry-table.ts';
import type { Source } from './registry-table.ts';
import { createWhois } from './whois.ts';

/** Runs some work with a deadline, and resolves to `unknown` if it fails or is too slow. */
export type Within = <Answer>(ms: number, work: (deadline: Deadline) => Promise<Answer>) => Promise<Answer | 'unknown'>;

/** Dependencies of the sources. */
export interface SourcesOptions {
  readonly client: Client;
  readonly bootstrap: Bootstrap;
  readonly within: Within;
  readonly limits: RegistryLimits;
  readonly now: () => number;
  readonly log: Logger;
  readonly createBucket?: CreateBucket | undefined;
  readonly watchCalls?: WatchCalls | undefined;
}

/** The sources of availability: servers of RDAP, WHOIS and DAS. */
export interface Sources {
  /** The sources of a TLD, the better one first. */
  find(tld: string, lookup: DomainLookup | undefined): readonly Source[];
  /** Queries the sources in turn, until one knows the availability. */
  ask(domain: DomainName, lookup: DomainLookup | undefined, deadline: Deadline): Promise<Availability>;
}

/** The maximum number of cached canaries. */
const maxCanaries = 5000;

/** Creates the sources. No request is sent before the first query. */
export function createSources(options: SourcesOptions): Sources {
  const { client, bootstrap, within, limits, now, log, createBucket } = options;
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
  const askWhois = createWhois(context, options.watchCalls);
  const canaries = createCanaries(askRdap, { within, limits, now, log });

  /** Whether the current IANA list names a server for a TLD. */
  const isListedByIana = (base: string, tld: string): boolean => {
    const listed = bootstrap.find(tld);
    return bootstrap.isCurrent() && listed?.base === base && listed.entry === toRegistryTld(tld);
  };

  const askServer = async (base: string, { name, tld }: DomainName, deadline: Deadline): Promise<Availability> => {
    const server = `${base} for .${tld}`;
    const isListed = isListedByIana(base, tld);
    if (!isListed && canaries.get(server) === false) return 'unknown';
    const answer = await askRdap(base, name, deadline);
    // Any name confirms the server of the registry. Another, such as a registrar's, may have this name and no others.
    if (answer === 'taken' && isListed) canaries.set(server, true);
    if (answer === 'taken' || answer === 'unknown' || (answer === 'free' && isListed)) return answer;
    // Another search may confirm the server meanwhile: then the fetch rejects, or its result is outdated.
    await canaries.fetch(server, { context: { base, tld } }).catch(() => undefined);
    return canaries.get(server) ? 'free' : 'unknown';
  };

  const ask = (source: Source, domain: DomainName, deadline: Deadline): Promise<Availability> => {
    if ('rdap' in source) return askServer(toBase(source.rdap), domain, deadline);
    if ('das' in source) return askWhois('das', source.das, domain, deadline);
    return askWhois('whois', source.whois, domain, deadline);
  };

  const find = (tld: string, lookup: DomainLookup | undefined): readonly Source[] => {
    if (lookup !== undefined) return lookup === 'none' ? [] : [lookup];
    const listed = bootstrap.find(tld);
    return listed ? [{ rdap: listed.base }] : (unlisted.get(toRegistryTld(tld)) ?? []);
  };
  return {
    find,
    async ask(domain, lookup, deadline) {
      if (lookup === undefined) await bootstrap.start();
      for (const source of find(domain.tld, lookup)) {
        const answer = await ask(source, domain, deadline);
        if (answer !== 'unknown') return answer;
      }
      return 'unknown';
    },
  };
}

/**
 * Creates a cache of canaries: whether a server knows a name that must exist. A server of another TLD denies it, and so does
 * one that moved.
 */
function createCanaries(
  askRdap: AskRdap,
  { within, limits, now, log }: Pick<SourcesOptions, 'within' | 'limits' | 'now' | 'log'>,
) {
  return new LRUCache<string, boolean, { readonly base: string; readonly tld: string }>({
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
}

function toBase(url: string): string {
  return URL.parse(url.endsWith('/') ? url : `${url}/`)?.href ?? url;
}
