import { isUtf8 } from 'node:buffer';
import { connect } from 'node:net';
import { domainToASCII } from 'node:url';
import type { Availability, DomainName } from '../types.ts';
import type { Deadline } from './deadline.ts';
import { again } from './host-gate.ts';
import type { Asking } from './host-gate.ts';
import { isAllowedHost, lookupPublic } from '../../upstream/public-address.ts';
import type { RegistryLimits } from './limits.ts';
import { findDialect } from './whois-markers.ts';
import type { Dialect, Markers } from './whois-markers.ts';

/** Asks a server, as `host` or `host:port`, for a name. */
export type AskWhois = (
  kind: 'whois' | 'das',
  server: string,
  domain: DomainName,
  deadline: Deadline,
) => Promise<Availability>;

const ports = { whois: 43, das: 4343 };

/**
 * Creates the question for a domain in WHOIS (RFC 3912) and in DAS, which looks the same. There is no status: what the
 * text proves by the markers of the TLD is the answer, and all else is `unknown`. Never rejects.
 */
export function createWhois({ gate, limits, noticed }: Asking): AskWhois {
  return async (kind, server, { name, tld }, deadline) => {
    const [hostname = '', port = String(ports[kind])] = server.split(':');
    if (!isAllowedHost(hostname)) return 'unknown';
    const host = `${hostname}:${port}`;
    const dialect = findDialect(kind, tld);
    const label = name.slice(0, -tld.length - 1);
    const line = (dialect.query ?? '<name>').replace('<name>', name).replace('<label>', label);

    const exchange = async (): Promise<Availability | typeof again> => {
      const text = await ask({ host: hostname, port: Number(port) }, line, limits, deadline.signal);
      if (text === 'unreachable' || text === 'cut') {
        noticed(host, text === 'cut' ? 'did not answer to the end' : 'could not be reached');
        return text === 'cut' ? 'unknown' : again;
      }
      const answer = judge(text.received, dialect, name, label);
      if (answer === 'refused') gate.cool(host, limits.coolDownMs);
      if (answer === 'refused' || answer === 'unknown') noticed(host, `answered what is ${answer}`);
      return answer === 'refused' ? 'unknown' : answer;
    };
    return (await gate.run(host, deadline, exchange)) ?? 'unknown';
  };
}

/** Sends a line and reads what comes, which counts only if the server ended it in order and it is not too long. */
async function ask(
  address: { readonly host: string; readonly port: number },
  line: string,
  limits: RegistryLimits,
  signal: AbortSignal,
): Promise<{ readonly received: string } | 'unreachable' | 'cut'> {
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
      if (length > limits.maxBytes) return 'cut';
      chunks.push(chunk as Buffer);
    }
    const bytes = Buffer.concat(chunks);
    // There is no charset in the protocol; all that is looked for is ASCII, but for names as they are displayed.
    return { received: bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1') };
  } catch {
    return connected ? 'cut' : 'unreachable';
  } finally {
    socket.destroy();
  }
}

/** Refusals of servers that have none of their own in the table, or changed it. */
const refusal = /too many (?:requests|queries)|(?:limit|quota) (?:has been )?exceeded|temporarily unavailable/i;

/** Lines that say which name an answer is about. */
const subjects = /^domain(?: ?name|-ace)?:\s*(\S+)$|^no match for (?:domain )?"([^"\s]+)"/gim;

/** Refusals first, as they may look like any answer; then the proofs that it cannot be had; then that it can. */
function judge(received: string, markers: Dialect, name: string, label: string): Availability | 'refused' {
  const lines = received.split(/\r?\n/).map((line) => line.replaceAll(/\s+/g, ' ').trim());
  const text = lines.join('\n');
  const find = (marker: keyof Markers): RegExpExecArray | null | undefined => {
    const pattern = markers[marker]?.source.replaceAll('<name>', name.replaceAll('.', String.raw`\.`));
    return pattern === undefined ? undefined : new RegExp(pattern, 'im').exec(text);
  };
  if (refusal.test(text) || find('refused')) return 'refused';
  const about = [...text.matchAll(subjects)].map(([, domain, missed]) => toName(domain ?? missed ?? ''));
  if (about.length > 0 && !about.some((subject) => subject === name || subject === label)) return 'unknown';
  if (find('taken') ?? find('barred')) return 'taken';
  const free = find('free');
  if (!free) return 'unknown';
  // The last line may have been cut: it counts where the marker is all of it.
  const rest = text.slice(free.index + free[0].length);
  return rest === '' || rest.includes('\n') ? 'free' : 'unknown';
}

function toName(text: string): string {
  return domainToASCII(text).replace(/\.$/, '') || text.toLowerCase();
}
