import { LRUCache } from 'lru-cache';
import type { DomainLookup } from '#contract/domains.ts';
import type { Logger } from '../../log.ts';
import type { Client } from '../../upstream/client.ts';
import type { Availability, DomainName } from '../types.ts';
import type { Deadline } from './deadline.ts';
import { createHostGate } from './host-gate.ts';
import type { Rate, RegistryLimits } from './limits.ts';
import type { Bootstrap } from './rdap-bootstrap.ts';
import { createRdap } from './rdap.ts';
import type { AskRdap } from './rdap.ts';
import { isKnownHost, paces, toExistingName, toRegistryTld, unlisted } from './registry-table.ts';
import type { Source } from './registry-table.ts';
import { createWhois } from './whois.ts';

/** Does a piece of work in so long, and answers `unknown` where it cannot. */
export type Within = (ms: number, work: (deadline: Deadline) => Promise<Availability>) => Promise<Availability>;

/** What the sources are asked with. */
export interface SourcesOptions {
  readonly client: Client;
  readonly bootstrap: Bootstrap;
  readonly within: Within;
  readonly limits: RegistryLimits;
  readonly now: () => number;
  readonly log: Logger;
}

/** The places where names are asked for: servers of RDAP, WHOIS and DAS. */
export interface Sources {
  /** Where a TLD is asked, the better source first. */
  find(tld: string, lookup: DomainLookup | undefined): readonly Source[];
  /** Asks one source after the other, until one has an answer. */
  ask(domain: DomainName, lookup: DomainLookup | undefined, deadline: Deadline): Promise<Availability>;
}

/** Servers whose proofs are remembered. */
const maxCanaries = 5000;

/** Creates the sources. Nothing is asked before the first question. */
export function createSources({ client, bootstrap, within, limits, now, log }: SourcesOptions): Sources {
  const rateOf = (host: string): Rate => {
    const [hostname = ''] = host.split(':', 1);
    const isListed = bootstrap.hasHost(host) || isKnownHost(hostname);
    return paces.get(hostname) ?? (isListed ? limits.rate : limits.unlistedRate);
  };
  const asking = {
    gate: createHostGate({ concurrency: limits.concurrency, rateOf, now }),
    limits,
    noticed: (host: string, what: string): void => log.warn({ host }, `a registry ${what}`),
  };
  const askRdap = createRdap(client, asking);
  const askWhois = createWhois(asking);
  const canaries = createCanaries(askRdap, { within, limits, now, log });

  /** Whether IANA says, and said so lately, that a server runs a TLD. */
  const isVouchedFor = (base: string, tld: string): boolean => {
    const listed = bootstrap.find(tld);
    return bootstrap.isCurrent() && listed?.base === base && listed.entry === toRegistryTld(tld);
  };

  const askServer = async (base: string, { name, tld }: DomainName, deadline: Deadline): Promise<Availability> => {
    if (isVouchedFor(base, tld)) return await askRdap(base, name, deadline);
    const server = `${base} for .${tld}`;
    if (canaries.get(server) === false) return 'unknown';
    const answer = await askRdap(base, name, deadline);
    if (answer !== 'free') return answer;
    return (await canaries.fetch(server, { context: { base, tld } })) ? 'free' : 'unknown';
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

/** Whether a server has a name that must exist in a TLD: one that does not run the TLD denies it, like any other. */
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
      if (answer === 'free') {
        log.error({ server }, 'an RDAP server denies a name that exists, and is not believed any more');
      }
      // What could not be found out is asked again.
      return answer === 'unknown' ? undefined : answer === 'taken';
    },
  });
}

function toBase(url: string): string {
  return URL.parse(url.endsWith('/') ? url : `${url}/`)?.href ?? url;
}
