import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { ProviderError, parseJson } from '../../upstream/client.ts';
import type { Client, Reply } from '../../upstream/client.ts';
import { isAllowedUrl } from '../../upstream/public-address.ts';
import { retry } from './query.ts';
import type { Availability, Deadline, QueryContext } from './query.ts';

/** An availability; `denied` if the server answers 404 without an RDAP body, as it also does for a base that moved. */
type RdapAnswer = Availability | 'denied';

const maxRedirects = 3;
const redirects = [301, 302, 303, 307, 308];
const transient = [502, 503, 504];

const Name = z.string().optional().catch('');
const Answer = z.object({
  objectClassName: z.unknown().optional(),
  ldhName: Name,
  unicodeName: Name,
  errorCode: z.unknown().optional(),
  rdapConformance: z.unknown().optional(),
});

/**
 * Creates the RDAP query of a domain (RFC 9082 §3.1.3). The result is `taken` only for an object of exactly that domain,
 * `free` or `denied` only for a 404 of the queried host, and else `unknown`. The base ends with a slash, and the client must
 * return redirects as replies. Never rejects.
 */
export function createRdap(client: Client, { limiter, limits, onAnomaly }: QueryContext) {
  /** Sends one request. It may be retried if nothing was sent or the server is unavailable, but never after a 429. */
  const exchange = async (url: URL, signal: AbortSignal): Promise<Reply | typeof retry | undefined> => {
    try {
      const reply = await client.request('GET', url.href, { signal });
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
    if (!url || !isAllowedUrl(url)) return 'unknown';
    const { host } = url;
    let isRedirected = false;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      const at: URL = url;
      const reply = await limiter.run(at.host, deadline, () => exchange(at, deadline.signal));
      if (!reply) return 'unknown';
      if (!redirects.includes(reply.status)) return toAvailability(reply, name, isRedirected);
      const next = URL.parse(reply.headers.get('location') ?? '', at);
      if (!next || !isAllowedUrl(next, at)) {
        onAnomaly(at.host, 'redirects to a forbidden address');
        return 'unknown';
      }
      isRedirected ||= next.host !== host;
      url = next;
    }
    onAnomaly(host, 'redirects too often');
    return 'unknown';
  };
}

function toAvailability({ status, text }: Reply, name: string, isRedirected: boolean): RdapAnswer {
  const answer = parseJson(text, Answer);
  const isDomain = answer?.objectClassName === 'domain';
  if (status === 200) return isDomain && answer.errorCode === undefined && isNamed(answer, name) ? 'taken' : 'unknown';
  // The body of a 404 may be missing or HTML (RFC 7480 §5.3), but it must not contradict the status.
  const contradicts = isDomain || (answer?.errorCode ?? 404) !== 404;
  if (status !== 404 || isRedirected || contradicts) return 'unknown';
  return answer?.errorCode === 404 || Array.isArray(answer?.rdapConformance) ? 'free' : 'denied';
}

/** Whether an object has this name. Verisign uses upper case; some servers add a trailing dot. */
function isNamed({ ldhName, unicodeName }: z.infer<typeof Answer>, name: string): boolean {
  const found = ldhName ?? domainToASCII(unicodeName ?? '');
  return found.toLowerCase().replace(/\.$/, '') === name;
}

/** The back-off from Retry-After (seconds or a date, RFC 9110 §10.2.3), from 1 to 300 s. */
function toBackOffMs(retryAfter: string | null, otherwiseMs: number): number {
  const text = retryAfter?.trim() ?? '';
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? otherwiseMs : Math.min(Math.max(ms, 1000), 300_000);
}
