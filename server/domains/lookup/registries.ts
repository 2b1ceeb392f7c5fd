import { randomBytes } from 'node:crypto';
import pLimit from 'p-limit';
import { createClient } from '../../upstream/client.ts';
import type { Logger } from '../../log.ts';
import type { CreateBucket } from '../../token-bucket.ts';
import type { OnCall, WatchCalls } from '../../upstream/calls.ts';
import { lookupPublic } from '../../upstream/public-address.ts';
import type { Registries } from '../types.ts';
import { createDeadlines } from './deadline.ts';
import type { Deadline, Deadlines } from './deadline.ts';
import { defaultLimits } from './limits.ts';
import type { RegistryLimits } from './limits.ts';
import { createBootstrap } from './rdap-bootstrap.ts';
import { listedBases, toExistingName } from './registry-table.ts';
import { createSources } from './sources.ts';
import type { Within } from './sources.ts';

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
  readonly watchCalls?: WatchCalls | undefined;
}

/** Creates the registries. No request is sent before the first check or start. */
export function createRegistries(options: RegistriesOptions): Registries {
  const { dnsServers, bootstrapUrl, userAgent, log, watchCalls, now = () => performance.now() } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const client = createClient({
    baseUrl: '',
    headers: { accept: 'application/rdap+json, application/json;q=0.5', 'user-agent': userAgent },
    timeoutMs: limits.answerMs,
    maxBytes: limits.maxBytes,
    redirects: 'reply',
    lookup: lookupPublic,
    onCall: watchCalls?.('rdap'),
  });
  const { refreshMs } = limits;
  const onCall = watchCalls?.('rdap-bootstrap');
  const bootstrap = createBootstrap({
    url: bootstrapUrl,
    builtIn: listedBases,
    userAgent,
    refreshMs,
    now,
    log,
    onCall,
  });
  const deadlines = createDeadlines();
  const within: Within = async <Answer>(ms: number, work: (deadline: Deadline) => Promise<Answer>) => {
    try {
      return await deadlines.within<Answer | 'unknown'>(ms, 'unknown', work);
    } catch (error) {
      log.error({ err: error }, 'a registry lookup failed');
      return 'unknown';
    }
  };
  const { createBucket } = options;
  const sources = createSources({ client, bootstrap, within, limits, now, log, createBucket, watchCalls });

  const isSeenInDns = createDnsProof(dnsServers, { deadlines, limits, onCall: watchCalls?.('dns') });

  return {
    start: () => void bootstrap.start(),
    async check(domain, lookup) {
      // The name becomes a part of lines and paths, so it is checked again.
      if (!/^[a-z0-9-]{1,63}$/.test(domain.name.slice(0, -domain.tld.length - 1))) return 'unknown';
      if (!domain.name.endsWith(`.${domain.tld}`)) return 'unknown';
      return await within(limits.lookupMs, async (deadline) => {
        if (await isSeenInDns(domain.name)) return 'taken';
        return await sources.ask(domain, lookup, deadline);
      });
    },
    async diagnose(tld, lookup) {
      const start = performance.now();
      if (lookup === undefined) await bootstrap.start();
      const found = sources.find(tld, lookup);
      const ask = async (name: string) => ({
        name,
        availability: await within(limits.lookupMs, (deadline) => sources.ask({ name, tld }, lookup, deadline)),
      });
      const existing = await ask(toExistingName(tld, found[0]));
      const missing = await ask(`x${randomBytes(12).toString('hex')}.${tld}`);
      const source = found.map((one) => Object.entries(one).flat().join(' ')).join(', else ') || 'none';
      return { source, existing, missing, ms: performance.now() - start };
    },
    async close() {
      deadlines.close();
      await Promise.all([bootstrap.close(), client.close()]);
    },
  };
}

/** Checks by DNS whether a name is taken. It has the time of two queries, which leaves time for the registry. */
function createDnsProof(
  servers: RegistriesOptions['dnsServers'],
  { deadlines, limits, onCall }: { deadlines: Deadlines; limits: RegistryLimits; onCall: OnCall | undefined },
) {
  const slots = pLimit(limits.dnsConcurrency);
  return async (name: string): Promise<boolean> => {
    if (servers === 'off') return false;
    // Loaded at the first search, since it takes 10 ms of the server's start.
    const { isDelegated } = await import('./dns.ts');
    return await deadlines.within(2 * limits.dnsMs, false, ({ signal }) =>
      slots(
        async () => !signal.aborted && (await isDelegated(name, { servers, timeoutMs: limits.dnsMs, signal, onCall })),
      ),
    );
  };
}
