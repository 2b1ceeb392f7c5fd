import { isUtf8 } from 'node:buffer';
import { connect } from 'node:net';
import { domainToASCII } from 'node:url';
import type { Availability, DomainName } from '../types.ts';
import type { Deadline } from './deadline.ts';
import type { CallOutcome, WatchCalls } from '../../upstream/calls.ts';
import { retry } from './host-limiter.ts';
import type { QueryContext } from './host-limiter.ts';
import { isAllowedHost, lookupPublic } from '../../upstream/public-address.ts';
import type { RegistryLimits } from './limits.ts';
import { findDialect } from './whois-markers.ts';
import type { Dialect, Markers } from './whois-markers.ts';

/** Queries a server, given as `host` or `host:port`, for a name. */
export type AskWhois = (
  kind: 'whois' | 'das',
  server: string,
  domain: DomainName,
  deadline: Deadline,
) => Promise<Availability>;

const ports = { whois: 43, das: 4343 };

/** What each answer means for those who count; a free name is one that is not found. */
const outcomes = { taken: 'ok', free: 'not_found', refused: 'rate_limited', unknown: 'invalid' } as const;

/**
 * Creates the WHOIS (RFC 3912) and DAS query of a domain; both use the same protocol. There is no status code: the
 * markers of the TLD in the text determine the result, which is else `unknown`. Never rejects.
 */
export function createWhois({ limiter, limits, onAnomaly }: QueryContext, watchCalls?: WatchCalls): AskWhois {
  const watched = { whois: watchCalls?.('whois'), das: watchCalls?.('das') };
  return async (kind, server, { name, tld }, deadline) => {
    const [hostname = '', port = String(ports[kind])] = server.split(':');
    if (!isAllowedHost(hostname)) return 'unknown';
    const host = `${hostname}:${port}`;
    const dialect = findDialect(kind, tld);
    const label = name.slice(0, -tld.length - 1);
    const line = (dialect.query ?? '<name>').replace('<name>', name).replace('<label>', label);

    const exchange = async (): Promise<Availability | typeof retry> => {
      const startedAt = performance.now();
      const report = (outcome: CallOutcome): void => watched[kind]?.(outcome, performance.now() - startedAt);
      const text = await ask({ host: hostname, port: Number(port) }, line, limits, deadline.signal);
      if (text === 'unreachable' || text === 'incomplete') {
        report(text === 'incomplete' ? 'broken' : 'unreachable');
        onAnomaly(host, text === 'incomplete' ? 'sent an incomplete response' : 'could not be reached');
        return text === 'incomplete' ? 'unknown' : retry;
      }
      const answer = toAvailability(text.received, dialect, name, label);
      report(outcomes[answer]);
      if (answer === 'refused') limiter.backOff(host, limits.backOffMs);
      if (answer === 'refused') onAnomaly(host, 'refused the query');
      if (answer === 'unknown') onAnomaly(host, 'sent an unknown response');
      return answer === 'refused' ? 'unknown' : answer;
    };
    return (await limiter.run(host, deadline, exchange)) ?? 'unknown';
  };
}

/** Sends a line and reads the response, which is complete if the server closes the connection within the limits. */
async function ask(
  address: { readonly host: string; readonly port: number },
  line: string,
  limits: RegistryLimits,
  signal: AbortSignal,
): Promise<{ readonly received: string } | 'unreachable' | 'incomplete'> {
  const ends = AbortSignal.any([signal, AbortSignal.timeout(limits.answerMs)]);
  const socket = connect({ ...address, lookup: lookupPublic, signal: ends });
  let connected = false;
  socket.once('connect', () => (connected = true));
  try {
    socket.write(`${line}\r\n`);
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of socket) {
      length += (chunk as Buffer).length;
      if (length > limits.maxBytes) return 'incomplete';
      chunks.push(chunk as Buffer);
    }
    const bytes = Buffer.concat(chunks);
    // The protocol has no charset. The markers are ASCII; only displayed names are not.
    return { received: bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1') };
  } catch {
    return connected ? 'incomplete' : 'unreachable';
  } finally {
    socket.destroy();
  }
}

/** Common refusals, for servers without a refusal marker or with a changed one. */
const refusal = /too many (?:requests|queries)|(?:limit|quota) (?:has been )?exceeded|temporarily unavailable/i;

/** Lines that name the subject of a response. */
const subjects = /^domain(?: ?name|-ace)?:\s*(\S+)$|^no match for (?:domain )?"([^"\s]+)"/gim;

/** Checks for refusals first, which may look like any response, then for `taken`, then for `free`. */
function toAvailability(received: string, markers: Dialect, name: string, label: string): Availability | 'refused' {
  const lines = received.split(/\r?\n/).map((line) => line.replaceAll(/\s+/g, ' ').trim());
  const text = lines.join('\n');
  const find = (marker: keyof Markers): RegExpExecArray | null | undefined => {
    const pattern = markers[marker]?.source.replaceAll('<name>', name.replaceAll('.', String.raw`\.`));
    return pattern === undefined ? undefined : new RegExp(pattern, 'im').exec(text);
  };
  if (refusal.test(text) || find('refused')) return 'refused';
  const about = [...text.matchAll(subjects)].map(([, domain, missed]) => toName(domain ?? missed ?? ''));
  if (about.length > 0 && !about.some((subject) => subject === name || subject === label)) return 'unknown';
  if (find('taken') ?? find('reserved')) return 'taken';
  const free = find('free');
  if (!free) return 'unknown';
  // The last line may be truncated, so it counts only if the marker covers it.
  const rest = text.slice(free.index + free[0].length);
  return rest === '' || rest.includes('\n') ? 'free' : 'unknown';
}

function toName(text: string): string {
  return domainToASCII(text).replace(/\.$/, '') || text.toLowerCase();
}
