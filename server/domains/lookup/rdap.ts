import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { findBase, listedBases } from '#common/domain-sources.ts';
import type { Logger } from '../../log.ts';
import { ProviderError, createListReader, openUpstream, parseJson } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';
import { createPoller } from '../../upstream/poller.ts';
import { createReadClient } from '../../upstream/reads.ts';
import type { ReadClient } from '../../upstream/reads.ts';
import { isAllowedUrl } from '../../upstream/address.ts';
import { judgeDenial, retry } from './query.ts';
import type { Availability, Deadline, QueryContext } from './query.ts';

/** A result and its proof: the domain, or a 404; one without an RDAP body (`page`) may also mean a moved base URL. */
interface RdapAnswer {
  readonly availability: Availability;
  readonly proof?: 'domain' | 'error' | 'page';
}

const unknown: RdapAnswer = { availability: 'unknown' };

const maxRedirects = 3;
const redirects = [301, 302, 303, 307, 308];
const transient = [502, 503, 504];

const Name = z.string().optional().catch(undefined);
const Answer = z.object({
  objectClassName: z.unknown().optional(),
  ldhName: Name,
  unicodeName: Name,
  errorCode: z.unknown().optional(),
  rdapConformance: z.unknown().optional(),
});

/** Members without words about the name. */
const wordless = new Set(['links', 'rdapConformance', 'lang']);

/** The texts of a 404 under any key. The descriptions of notices are left out: they are terms of use. */
const Words = z.unknown().transform((answer) => {
  const texts: string[] = [];
  JSON.stringify(answer, (key, value: unknown) => {
    if (wordless.has(key)) return undefined;
    if (typeof value === 'string') texts.push(value);
    if (key !== 'notices') return value;
    return [value].flat().map((notice) => (typeof notice === 'object' ? { ...notice, description: '' } : notice));
  });
  return texts;
});

/**
 * Creates RDAP queries (RFC 9082 §3.1.3) to a base URL with a slash at the end. The proof `domain` is an object of exactly
 * the domain, the others a 404 of the queried host. The client must return redirects. Never rejects.
 */
export function createRdap(client: ReadClient, { limiter, limits, onAnomaly }: QueryContext) {
  /** Sends a request; a retry is allowed if nothing was sent or the server is unavailable, never after a 429. */
  const exchange = async (url: URL, signal: AbortSignal): Promise<Reply | typeof retry | undefined> => {
    try {
      const reply = await client.request('GET', url.href, { signal, retry: false });
      const retryAfter = reply.headers.get('retry-after');
      if (reply.status === 429 || (reply.status === 503 && retryAfter !== null)) {
        limiter.backOff(url.host, toBackOffMs(retryAfter, limits.backOffMs));
      }
      if (![200, 404, ...redirects].includes(reply.status)) onAnomaly(url.host, `answered ${reply.status}`);
      return transient.includes(reply.status) ? retry : reply;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const isRefused = error.outcome === 'refused';
      onAnomaly(url.host, isRefused ? 'could not be reached' : 'did not answer');
      return isRefused ? retry : undefined;
    }
  };

  return async (base: string, name: string, deadline: Deadline): Promise<RdapAnswer> => {
    let url = URL.parse(`domain/${name}`, base);
    if (!url || !isAllowedUrl(url)) return unknown;
    const { host } = url;
    let isRedirected = false;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      const at: URL = url;
      const reply = await limiter.run(at.host, deadline, () => exchange(at, deadline.signal));
      if (!reply) return unknown;
      if (!redirects.includes(reply.status)) {
        const answer = parseRdapReply(reply, name);
        if (!answer) onAnomaly(at.host, 'answered 404 with a body that contradicts it');
        return !answer || (isRedirected && answer.proof !== 'domain') ? unknown : answer;
      }
      const next = URL.parse(reply.headers.get('location') ?? '', at);
      if (!next || !isAllowedUrl(next, at)) {
        onAnomaly(at.host, 'redirects to a forbidden address');
        return unknown;
      }
      isRedirected ||= next.host !== host;
      url = next;
    }
    onAnomaly(host, 'redirects too often');
    return unknown;
  };
}

/** Parses a 200 or 404; undefined if the body of a 404, which may be missing or HTML (RFC 7480 §5.3), contradicts it. */
function parseRdapReply({ status, text }: Reply, name: string): RdapAnswer | undefined {
  const answer = parseJson(text, Answer);
  const isDomain = answer?.objectClassName === 'domain';
  // Verisign uses upper case; some servers add a trailing dot.
  const found = domainToASCII(answer?.ldhName ?? answer?.unicodeName ?? '').replace(/\.$/, '');
  // Some servers send a text, or their own numbers.
  const code = Number(answer?.errorCode ?? 0);
  if (status === 200)
    return isDomain && code === 0 && found === name ? { availability: 'taken', proof: 'domain' } : unknown;
  if (status !== 404) return unknown;
  if (isDomain || (code >= 100 && code < 600 && code !== 404)) return undefined;
  const isRdap = code === 404 || Array.isArray(answer?.rdapConformance);
  const availability = judgeDenial(parseJson(text, Words) ?? [text], name);
  return { availability, proof: isRdap ? 'error' : 'page' };
}

/** Reads the back-off from Retry-After (seconds or a date, RFC 9110 §10.2.3), from 1 to 300 s. */
function toBackOffMs(retryAfter: string | null, otherwiseMs: number): number {
  const text = retryAfter?.trim() ?? '';
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? otherwiseMs : Math.min(Math.max(ms, 1000), 300_000);
}

/** For a read of the list, for which the first searches wait. */
const timeoutMs = 3000;
/** The pause after a failed read. */
const retryMs = 10 * 60 * 1000;
/** A list counts this long: base URLs move, and old servers deny existing names. */
const currentMs = 7 * 24 * 60 * 60 * 1000;
/** A list with fewer services is truncated or wrong; observed were 591 to 607. */
const minServices = 500;

const List = z.object({ services: z.array(z.unknown()).min(minServices) });
/** The texts of a list; other entries are left out. */
const Texts = z.array(z.unknown()).transform((list) => list.filter((entry) => typeof entry === 'string'));
const Service = z.tuple([Texts, Texts]).rest(z.unknown());

/** Reads IANA's list of RDAP servers (RFC 9224) regularly; before the first read, the built-in list counts. */
export function createBootstrap(url: string | undefined, userAgent: string, refreshMs: number, log: Logger) {
  const upstream = openUpstream({
    name: 'rdap-bootstrap',
    baseUrl: '',
    headers: { 'user-agent': userAgent },
    timeoutMs,
    maxBytes: 2 * 1024 * 1024,
  });
  const client = createReadClient(upstream);
  const readServices = createListReader(Service, (message) => log.warn({ url }, message));
  let bases = listedBases;
  let readAt = -Infinity;

  const poller = createPoller({
    async read() {
      if (url === undefined) return;
      const reply = await client.request('GET', url);
      const list = reply.status === 200 ? parseJson(reply.text, List) : undefined;
      if (!list) throw new Error(`status ${reply.status}, and not a list of at least ${minServices} services`);
      const found = toBases(readServices(list.services), new URL(url));
      if (found.size < minServices) throw new Error(`only ${found.size} of its servers are allowed`);
      bases = found;
      readAt = performance.now();
    },
    onFailure(error) {
      // Without a stack: on an offline machine this failure is regular, not a bug.
      const reason = String((error as Error).cause ?? error);
      log.warn({ reason }, 'the list of RDAP servers cannot be read; the previous list stays in use');
    },
    everyMs: () => refreshMs,
    retryMs,
  });
  return {
    /** Finds the server of a TLD by the longest entry that is a suffix of the TLD. */
    find: (tld: string) => findBase(tld, bases),
    hasHost: (host: string): boolean => bases.values().some((base) => base.includes(`//${host}/`)),
    isCurrent: (): boolean => performance.now() - readAt < currentMs,
    start: () => poller.start(),
    refresh: () => poller.poll(),
    async close(): Promise<void> {
      const stopped = poller.stop();
      await client.close();
      await stopped;
    },
  };
}

/** The first allowed base URL of each entry, by A-label. */
function toBases(services: readonly z.infer<typeof Service>[], from: URL): Map<string, string> {
  return new Map(
    services.flatMap(([entries, urls]) => {
      const bases = urls.map((text) => URL.parse(text.endsWith('/') ? text : `${text}/`));
      // Only a list on loopback, for tests, may refer to loopback.
      const base = bases.find((found) => found && isAllowedUrl(found, from));
      return base ? entries.map((entry) => [entry.toLowerCase(), base.href] as const) : [];
    }),
  );
}
