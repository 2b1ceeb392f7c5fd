import { randomBytes } from 'node:crypto';
import type { DomainLookup } from '#contract/domains.ts';
import { createClient } from '../../upstream/client.ts';
import type { Logger } from '../../log.ts';
import { createCanaries } from './canary.ts';
import { createDelegations } from './dns.ts';
import type { Availability, DomainName, Registries } from '../types.ts';
import { createHostGate } from './host-gate.ts';
import type { Deadline, Rate } from './host-gate.ts';
import { createBootstrap } from './rdap-bootstrap.ts';
import { createRdap } from './rdap.ts';
import { lookupPublic } from '../../upstream/public-address.ts';
import { findPace, findUnlisted, listedBases, toExistingName, toHostname, toRegistryTld } from './registry-table.ts';
import type { Source } from './registry-table.ts';
import { createWhois } from './whois.ts';

/** What registries are asked with. */
export interface RegistriesOptions {
  /** Resolvers as `ip:port`, for what DNS proves; `off` does without. The system's if left out. */
  readonly dnsServers?: readonly string[] | 'off' | undefined;
  /** Where IANA's list of RDAP servers is read; left out, the built-in one stays. */
  readonly bootstrapUrl?: string | undefined;
  /** Who asks: a product, its version, and a URL to turn to. */
  readonly userAgent: string;
  readonly log: Logger;
  /** In milliseconds, from any start. */
  readonly now?: () => number;
  readonly limits?: Partial<RegistryLimits>;
}

/** How much registries are asked, and for how long. */
export interface RegistryLimits {
  /** For one answer, from the connection to its last byte. */
  readonly answerMs: number;
  /** For all that one name needs. */
  readonly lookupMs: number;
  /** For one answer of DNS, and how many questions there are at once. */
  readonly dnsMs: number;
  readonly dnsConcurrency: number;
  /** How many questions one host has at once. */
  readonly concurrency: number;
  readonly rate: Rate;
  /** For servers that IANA does not list. */
  readonly unlistedRate: Rate;
  /** How long a host is left alone that asks for it without saying how long. */
  readonly coolDownMs: number;
  /** How long the proof holds that a server runs a TLD. */
  readonly canaryMs: number;
  readonly refreshMs: number;
  readonly maxBytes: number;
}

const defaults: RegistryLimits = {
  answerMs: 3000,
  lookupMs: 6000,
  dnsMs: 800,
  dnsConcurrency: 64,
  concurrency: 4,
  rate: { perSecond: 5, burst: 5 },
  unlistedRate: { perSecond: 1, burst: 5 },
  coolDownMs: 10_000,
  canaryMs: 6 * 60 * 60 * 1000,
  refreshMs: 24 * 60 * 60 * 1000,
  maxBytes: 256 * 1024,
};

/** Creates the way to the registries of the world. Nothing is asked before the first check or start. */
export function createRegistries(options: RegistriesOptions): Registries {
  const { dnsServers, bootstrapUrl, userAgent, log, now = () => performance.now() } = options;
  const limits = { ...defaults, ...options.limits };
  const noticed = (host: string, what: string): void => log.warn({ host }, `a registry ${what}`);
  const client = createClient({
    baseUrl: '',
    headers: { accept: 'application/rdap+json, application/json;q=0.5', 'user-agent': userAgent },
    timeoutMs: limits.answerMs,
    maxBytes: limits.maxBytes,
    redirects: 'reply',
    lookup: lookupPublic,
  });
  const bootstrap = createBootstrap({
    url: bootstrapUrl,
    builtIn: listedBases,
    userAgent,
    refreshMs: limits.refreshMs,
    now,
    log,
  });
  const gate = createHostGate(limits.concurrency, now);
  const askRdap = createRdap({ ...limits, client, gate, elsewhereRate: limits.unlistedRate, noticed });
  const askWhois = createWhois({ ...limits, gate, noticed });
  const canaries = createCanaries(limits.canaryMs, now, {
    refuted: (server) =>
      log.error({ server }, 'an RDAP server denies a name that exists, and is not believed any more'),
  });
  const isDelegated = createDelegations(dnsServers === 'off' ? [] : dnsServers, limits.dnsMs);
  const dnsGate = createHostGate(limits.dnsConcurrency, now);
  const running = new Set<AbortController>();
  let closed: Promise<void> | undefined;

  /** Does a piece of work that has so long, and answers `unknown` where that is not enough, or it fails. */
  const within = async (ms: number, work: (deadline: Deadline) => Promise<Availability>): Promise<Availability> => {
    if (closed) return 'unknown';
    const controller = new AbortController();
    const end = performance.now() + ms;
    const timer = setTimeout(() => controller.abort(), ms);
    running.add(controller);
    try {
      const aborted = new Promise<Availability>((resolve) => {
        controller.signal.addEventListener('abort', () => resolve('unknown'));
      });
      const deadline = { signal: controller.signal, remainingMs: () => end - performance.now() };
      return await Promise.race([work(deadline), aborted]);
    } catch (error) {
      log.error({ err: error }, 'a registry could not be asked');
      return 'unknown';
    } finally {
      clearTimeout(timer);
      running.delete(controller);
      // Whatever is still under way for it is of no use any more.
      controller.abort();
    }
  };

  /** Whether DNS proves a name taken; it has the time of two answers, so that a slow one leaves some for the registry. */
  const isSeenInDns = async (name: string, deadline: Deadline): Promise<boolean> => {
    const restMs = deadline.remainingMs() - 2 * limits.dnsMs;
    const signal = AbortSignal.any([deadline.signal, AbortSignal.timeout(2 * limits.dnsMs)]);
    const stage = { signal, remainingMs: () => deadline.remainingMs() - restMs };
    return (await dnsGate.run('dns', unpaced, stage, () => isDelegated(name, signal))) ?? false;
  };

  /** Whether IANA says, and said so lately, that a server runs a TLD. */
  const isVouchedFor = (base: string, tld: string): boolean => {
    const listed = bootstrap.find(tld);
    return bootstrap.isCurrent() && listed?.base === toBase(base) && listed.entry === toRegistryTld(tld);
  };

  const askServer = async (base: string, { name, tld }: DomainName, rate: Rate, deadline: Deadline) => {
    const server = `${base} for .${tld}`;
    const vouched = isVouchedFor(base, tld);
    if (!vouched && canaries.isRefuted(server)) return 'unknown';
    const answer = await askRdap(base, name, rate, deadline);
    if (answer !== 'free' || vouched) return answer;
    // A server that does not run the TLD answers 404 as well: nobody's word for it is taken but its own.
    const existing = toExistingName(tld, { rdap: base });
    const probe = () => within(limits.lookupMs, (own) => askRdap(base, existing, rate, own));
    return (await canaries.isProved(server, probe)) ? 'free' : 'unknown';
  };

  const ask = async (source: Source, domain: DomainName, deadline: Deadline): Promise<Availability> => {
    const pace = findPace(toHostname(source));
    if ('rdap' in source) {
      const base = toBase(source.rdap);
      const listed = bootstrap.find(domain.tld)?.base === base;
      return await askServer(base, domain, pace ?? (listed ? limits.rate : limits.unlistedRate), deadline);
    }
    const known = findUnlisted(toRegistryTld(domain.tld)).some((one) => toHostname(one) === toHostname(source));
    const rate = pace ?? (known ? limits.rate : limits.unlistedRate);
    if ('das' in source) return await askWhois('das', source.das, domain, rate, deadline);
    return await askWhois('whois', source.whois, domain, rate, deadline);
  };

  /** Where a TLD is asked, the better source first. */
  const findSources = (tld: string, lookup: DomainLookup | undefined): readonly Source[] => {
    if (lookup !== undefined) return lookup === 'none' ? [] : [lookup];
    const listed = bootstrap.find(tld);
    return listed ? [{ rdap: listed.base }] : findUnlisted(toRegistryTld(tld));
  };

  const askSources = async (domain: DomainName, lookup: DomainLookup | undefined, deadline: Deadline) => {
    if (lookup === undefined) await bootstrap.start();
    for (const source of findSources(domain.tld, lookup)) {
      const answer = await ask(source, domain, deadline);
      if (answer !== 'unknown') return answer;
    }
    return 'unknown';
  };

  return {
    start: () => void bootstrap.start(),
    async check(domain, lookup) {
      // The name becomes a part of lines and paths: whatever is not one of a domain ends here.
      if (!/^[a-z0-9-]{1,63}$/.test(domain.name.slice(0, -domain.tld.length - 1))) return 'unknown';
      if (!domain.name.endsWith(`.${domain.tld}`)) return 'unknown';
      return await within(limits.lookupMs, async (deadline) => {
        if (dnsServers !== 'off' && (await isSeenInDns(domain.name, deadline))) return 'taken';
        return await askSources(domain, lookup, deadline);
      });
    },
    async diagnose(tld, lookup) {
      const start = performance.now();
      if (lookup === undefined) await bootstrap.start();
      const sources = findSources(tld, lookup);
      const find = async (name: string) => ({
        name,
        availability: await within(limits.lookupMs, (deadline) => askSources({ name, tld }, lookup, deadline)),
      });
      const existing = await find(toExistingName(tld, sources[0]));
      const missing = await find(`x${randomBytes(12).toString('hex')}.${tld}`);
      return {
        source: sources.map(describe).join(', else ') || 'none',
        existing,
        missing,
        ms: performance.now() - start,
      };
    },
    close: () =>
      (closed ??= (async () => {
        for (const controller of running) controller.abort();
        await Promise.all([bootstrap.close(), client.close()]);
      })()),
  };
}

/** For DNS, which only its concurrency limits. */
const unpaced: Rate = { perSecond: 1e6, burst: 1e6 };

function toBase(url: string): string {
  return URL.parse(url.endsWith('/') ? url : `${url}/`)?.href ?? url;
}

function describe(source: Source): string {
  return Object.entries(source).flat().join(' ');
}
