import { domainToASCII } from 'node:url';
import { z } from 'zod';
import type { Client, Reply } from '../../upstream/client.ts';
import type { Availability } from '../types.ts';
import type { Deadline } from './deadline.ts';
import { again } from './host-gate.ts';
import type { Asking } from './host-gate.ts';
import { isAllowedUrl } from '../../upstream/public-address.ts';
import { parseJson } from '../../upstream/reply.ts';
import { ProviderError } from '../../upstream/error.ts';

/** Asks an RDAP server for a name of its TLD; `base` ends with a slash. */
export type AskRdap = (base: string, name: string, deadline: Deadline) => Promise<Availability>;

const maxRedirects = 3;
const redirects = [301, 302, 303, 307, 308];
const transient = [502, 503, 504];

const Name = z.string().optional().catch('');
const Answer = z.object({
  objectClassName: z.unknown().optional(),
  ldhName: Name,
  unicodeName: Name,
  errorCode: z.unknown().optional(),
});

/**
 * Creates the question for a domain in RDAP (RFC 9082 §3.1.3). The answer is `taken` only for the very domain that was
 * asked for, `free` only for a 404 of the server that was asked, and `unknown` for all else. The client hands redirects
 * over, as replies. Never rejects.
 */
export function createRdap(client: Client, { gate, limits, noticed }: Asking): AskRdap {
  /** One exchange: another one is worth it where nothing was sent, or the server was away (never after a 429). */
  const exchange = async (url: URL, signal: AbortSignal): Promise<Reply | typeof again | undefined> => {
    try {
      const reply = await client.request('GET', url.href, { signal });
      const retryAfter = reply.headers.get('retry-after');
      if (reply.status === 429 || (reply.status === 503 && retryAfter !== null)) {
        gate.cool(url.host, toCoolDownMs(retryAfter, limits.coolDownMs));
      }
      if (![200, 404, ...redirects].includes(reply.status)) noticed(url.host, `answered ${reply.status}`);
      return transient.includes(reply.status) ? again : reply;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const isRefused = error.outcome === 'refused';
      noticed(url.host, isRefused ? 'could not be reached' : 'did not answer');
      return isRefused ? again : undefined;
    }
  };

  return async (base, name, deadline) => {
    let url = URL.parse(`domain/${name}`, base);
    if (!url || !isAllowedUrl(url)) return 'unknown';
    const { host } = url;
    let strayed = false;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      const at: URL = url;
      const reply = await gate.run(at.host, deadline, () => exchange(at, deadline.signal));
      if (!reply) return 'unknown';
      if (!redirects.includes(reply.status)) return judge(reply, name, strayed);
      const next = URL.parse(reply.headers.get('location') ?? '', at);
      if (!next || !isAllowedUrl(next, at)) {
        noticed(at.host, 'redirects to where no registry is');
        return 'unknown';
      }
      strayed ||= next.host !== host;
      url = next;
    }
    noticed(host, 'redirects without end');
    return 'unknown';
  };
}

function judge({ status, text }: Reply, name: string, strayed: boolean): Availability {
  const answer = parseJson(text, Answer);
  const isDomain = answer?.objectClassName === 'domain';
  if (status === 200) return isDomain && answer.errorCode === undefined && isNamed(answer, name) ? 'taken' : 'unknown';
  // The body of a 404 may be missing, or a page for people (RFC 7480 §5.3); what it says must not be something else.
  const contradicts = isDomain || (answer?.errorCode ?? 404) !== 404;
  return status === 404 && !strayed && !contradicts ? 'free' : 'unknown';
}

/** Whether an object is that of a name. Verisign answers in upper case; some have a dot at the end. */
function isNamed({ ldhName, unicodeName }: z.infer<typeof Answer>, name: string): boolean {
  const found = ldhName ?? domainToASCII(unicodeName ?? '');
  return found.toLowerCase().replace(/\.$/, '') === name;
}

/** How long a host is left alone: 1 to 300 s, by its Retry-After (seconds or a date, RFC 9110 §10.2.3). */
function toCoolDownMs(retryAfter: string | null, otherwiseMs: number): number {
  const text = retryAfter?.trim() ?? '';
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? otherwiseMs : Math.min(Math.max(ms, 1000), 300_000);
}
