import { setTimeout as sleep } from 'node:timers/promises';
import { domainToUnicode } from 'node:url';
import pLimit from 'p-limit';
import { createLru } from '../../lru.ts';
import { createTokenBucket } from '../../token-bucket.ts';
import type { CreateBucket, TokenBucket, TokenBucketOptions } from '../../token-bucket.ts';

/** A name with one label before its TLD, as A-labels in lower case, without a dot at either end. */
export interface DomainName {
  readonly name: string;
  /** The TLD of the catalog, for instance `co.uk`. */
  readonly tld: string;
}

/** The availability of a domain. `free` and `taken` are proven; everything else is `unknown`. */
export type Availability = 'taken' | 'free' | 'unknown';

/** Words for a name that is not on sale. */
const withheld =
  /\b(?:blocked|(?<!rights?\s)reserved|restricted|prohibited|unavailable|not\s+(?:\w+\s+)?(?:available|allowed)|can\s?not\s+be\s+registered)\b/;
/** Words for a name that has another price, now or always. */
const otherOffer =
  /\b(?:access\s+period|sunrise|landrush|early\s+access|premium|platinum|auction|available\s+for\s+purchase|for\s+sale)\b/;

/** Judges a denial by its texts: only the words of a name that anyone can register at the list price mean `free`. */
export function judgeDenial(texts: readonly string[], name: string): Availability {
  // The name may contain such a word.
  const words = texts.join('\n').toLowerCase().replaceAll(name, '').replaceAll(domainToUnicode(name), '');
  if (withheld.test(words)) return 'taken';
  return otherOffer.test(words) ? 'unknown' : 'free';
}

export type Deadline = ReturnType<typeof createDeadline>;

/** Creates the deadline of queries. Its owner aborts it at the end. */
export function createDeadline(ms: number) {
  const controller = new AbortController();
  const end = performance.now() + ms;
  return {
    ms,
    signal: controller.signal,
    abort: () => controller.abort(),
    remainingMs: () => end - performance.now(),
    /** The time after which a host that could not be queried takes queries again; Infinity if unknown. */
    retryMs: Infinity,
  };
}

/** The query rate of a host. */
export type Rate = Pick<TokenBucketOptions, 'rps' | 'burst'>;

/** The default limits and timeouts of queries. */
export const defaultLimits = {
  /** For a query, from the connection to the last byte. */
  answerMs: 3000,
  lookupMs: 6000,
  /** For a DNS query. */
  dnsMs: 800,
  dnsConcurrency: 64,
  concurrency: 4,
  rate: { rps: 5, burst: 5 } as Rate,
  /** For servers that neither IANA's list nor our table contains. */
  unlistedRate: { rps: 1, burst: 5 } as Rate,
  /** The pause after a refusal without Retry-After. */
  backOffMs: 10_000,
  /** The result of a canary check counts this long. */
  canaryMs: 60 * 60 * 1000,
  refreshMs: 24 * 60 * 60 * 1000,
  maxBytes: 256 * 1024,
};

export type RegistryLimits = Readonly<typeof defaultLimits>;

export interface QueryContext {
  readonly limiter: ReturnType<typeof createHostLimiter>;
  readonly limits: RegistryLimits;
  /** Reports an abnormal host to the operator, never with the queried domain. */
  readonly onAnomaly: (host: string, description: string) => void;
}

/** Returned by work that should be retried once, because the host was unavailable. */
export const retry = Symbol('retry');

/** Do not start a query with less time left, which would time out. */
const minRemainingMs = 50;
/** Beyond this many hosts, forget the host that is unused for the longest time. */
const maxHosts = 5000;

/**
 * Limits the queries to each host by concurrency slots and then by a token bucket. Hosts with the same rate must get the
 * same object from `rateOf`.
 */
export function createHostLimiter(
  concurrency: number,
  rateOf: (host: string) => Rate,
  createBucket: CreateBucket = createTokenBucket,
) {
  const createState = () => {
    // `waiting` aborts the waits for a token when the host is backed off.
    return { slots: pLimit(concurrency), backOffUntil: -Infinity, waiting: new AbortController() };
  };
  type HostState = ReturnType<typeof createState>;
  const hosts = createLru<string, HostState>(maxHosts, { memoMethod: createState });
  const buckets = new Map<Rate, TokenBucket>();

  const bucketOf = (rate: Rate): TokenBucket => {
    const bucket = buckets.get(rate) ?? createBucket({ name: 'registry', ...rate });
    buckets.set(rate, bucket);
    return bucket;
  };
  const consumeToken = async (host: string, state: HostState, deadline: Deadline): Promise<boolean> => {
    const { signal } = state.waiting;
    while (!deadline.signal.aborted && deadline.remainingMs() >= minRemainingMs) {
      if (performance.now() < state.backOffUntil) return false;
      const { allowed, waitMs } = await bucketOf(rateOf(host)).consume(host);
      if (allowed || waitMs >= deadline.remainingMs()) return allowed;
      await sleep(waitMs, undefined, { signal: AbortSignal.any([deadline.signal, signal]) }).catch(() => undefined);
    }
    return false;
  };
  return {
    /**
     * Runs work within the limits of a host, and again if the work returns {@link retry}. Resolves to undefined if both
     * attempts fail, the host is backed off, or the work cannot start before the deadline.
     */
    async run<Result>(host: string, deadline: Deadline, work: () => Promise<Result | typeof retry>) {
      const state = hosts.memo(host);
      const { retryMs: earlier } = deadline;
      const defer = (ms: number): void => void (deadline.retryMs = Math.min(earlier, ms));
      const attempt = async () => {
        const { rps } = rateOf(host);
        const { activeCount, pendingCount } = state.slots;
        defer(((activeCount + pendingCount + 1) / rps) * 1000);
        // More waiting queries could not start before the deadline.
        if (pendingCount >= (rps * deadline.remainingMs()) / 1000) return undefined;
        return await state.slots(async () => {
          if (!(await consumeToken(host, state, deadline))) return undefined;
          defer(Infinity);
          return await work();
        });
      };
      const first = await attempt();
      const result = first === retry ? await attempt() : first;
      if (state.backOffUntil > performance.now()) defer(state.backOffUntil - performance.now());
      return result === retry ? undefined : result;
    },
    /** Pauses queries to a host; waiting and new queries resolve to undefined. */
    backOff(host: string, ms: number): void {
      const state = hosts.memo(host);
      state.backOffUntil = Math.max(state.backOffUntil, performance.now() + ms);
      state.waiting.abort();
      state.waiting = new AbortController();
    },
  };
}
