import { isUtf8 } from 'node:buffer';
import { connect } from 'node:net';
import { domainToASCII } from 'node:url';
import { announceUpstream } from '../../upstream/client.ts';
import { collect } from '../../upstream/exchange.ts';
import { isAllowedHost, lookupPublic } from '../../upstream/address.ts';
import { judgeDenial, retry } from './query.ts';
import type { Availability, Deadline, DomainName, QueryContext, RegistryLimits } from './query.ts';

const ports = { whois: 43, das: 4343 };

/** Maps each answer to its metrics outcome and, if abnormal, a log message. */
const meanings = {
  taken: { outcome: 'ok', anomaly: undefined },
  free: { outcome: 'not_found', anomaly: undefined },
  refused: { outcome: 'rate_limited', anomaly: 'refused the query' },
  unknown: { outcome: 'invalid', anomaly: 'sent an unknown response' },
  incomplete: { outcome: 'broken', anomaly: 'sent an incomplete response' },
  unreachable: { outcome: 'unreachable', anomaly: 'could not be reached' },
} as const;

/**
 * Creates WHOIS (RFC 3912) and DAS queries to `host` or `host:port`. Without a status code in these protocols, the
 * markers of the TLD in the text determine the result. Never rejects.
 */
export function createWhois({ limiter, limits, onAnomaly }: QueryContext) {
  const publish = { whois: announceUpstream('whois'), das: announceUpstream('das') };
  return async (
    kind: 'whois' | 'das',
    server: string,
    domain: DomainName,
    deadline: Deadline,
  ): Promise<Availability> => {
    const [hostname = '', port = String(ports[kind])] = server.split(':');
    if (!isAllowedHost(hostname)) return 'unknown';
    const host = `${hostname}:${port}`;
    const exchange = async (): Promise<Availability | typeof retry> => {
      const startedAt = performance.now();
      const answer = await ask({ host: hostname, port: Number(port) }, kind, domain, limits, deadline.signal);
      const { outcome, anomaly } = meanings[answer];
      publish[kind](outcome, performance.now() - startedAt);
      if (anomaly !== undefined) onAnomaly(host, anomaly);
      if (answer === 'refused') limiter.backOff(host, limits.backOffMs);
      if (answer === 'unreachable') return retry;
      return answer === 'taken' || answer === 'free' ? answer : 'unknown';
    };
    return (await limiter.run(host, deadline, exchange)) ?? 'unknown';
  };
}

/** Sends a line and reads the response, which ends with the connection. */
async function ask(
  address: { readonly host: string; readonly port: number },
  kind: 'whois' | 'das',
  { name, tld }: DomainName,
  { answerMs, maxBytes }: RegistryLimits,
  signal: AbortSignal,
): Promise<keyof typeof meanings> {
  const dialect = findDialect(kind, tld);
  const label = name.slice(0, -tld.length - 1);
  const line = (dialect.query ?? '<name>').replace('<name>', name).replace('<label>', label);
  const ends = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
  const socket = connect({ ...address, lookup: lookupPublic, signal: ends });
  let failure: 'unreachable' | 'incomplete' = 'unreachable';
  socket.once('connect', () => (failure = 'incomplete'));
  try {
    socket.write(`${line}\r\n`);
    const bytes = await collect(socket, maxBytes);
    // The protocol has no charset, but the markers are ASCII.
    return bytes ? parseWhoisReply(bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1'), dialect, name, label) : failure;
  } catch {
    return failure;
  } finally {
    socket.destroy();
  }
}

/** Refusals common to several servers. The refusal of .fr also contains "No entries found". */
const refusal = /too many (?:requests|queries)|(?:limit|quota) (?:has been )?exceeded|temporarily unavailable/i;

/** The first words of terms of use. */
const terms = /^(?:terms|notice|disclaimer|please note|access to|by submitting|copyright)\b/im;

/** Tests whether a paragraph is terms of use, by its first words or because it is running text. */
function isTerms(paragraph: string): boolean {
  const lines = paragraph.split('\n');
  return terms.test(paragraph) || (lines.length > 2 && lines.some((line) => line.length >= 60));
}

/** Lines that name the subject of a response. */
const subjects = /^domain(?: ?name|-ace)?:\s*(\S+)$|^no match for (?:domain )?"([^"\s]+)"/gim;

/** Parses a reply: refusals first, which may look like any reply, then `taken`, then `free`. */
function parseWhoisReply(
  received: string,
  markers: WhoisDialect,
  name: string,
  label: string,
): Availability | 'refused' {
  const lines = received.split(/\r?\n/).map((line) => line.replaceAll(/\s+/g, ' ').trim());
  const text = lines.join('\n');
  const find = ({ source }: RegExp): RegExpExecArray | null =>
    new RegExp(source.replaceAll('<name>', name.replaceAll('.', String.raw`\.`)), 'im').exec(text);
  if (refusal.test(text) || (markers.refused && find(markers.refused))) return 'refused';
  const about = Array.from(text.matchAll(subjects), ([, domain, missed = '']) => toAsciiName(domain ?? missed));
  if (about.length > 0 && !about.includes(name) && !about.includes(label)) return 'unknown';
  if (find(markers.taken)) return 'taken';
  const free = find(markers.free);
  if (!free) return 'unknown';
  // The last line may be truncated: the marker must cover all of it.
  const rest = text.slice(free.index + free[0].length);
  if (rest !== '' && !rest.includes('\n')) return 'unknown';
  const paragraphs = text
    .replaceAll(/^[%#>].*/gm, '')
    .replaceAll(subjects, '')
    .split(/\n{2,}/);
  const words = paragraphs.filter((paragraph) => paragraph.includes(free[0]) || !isTerms(paragraph));
  return judgeDenial(words, name);
}

function toAsciiName(text: string): string {
  return domainToASCII(text).replace(/\.$/, '') || text.toLowerCase();
}

/** The query and the case-insensitive markers of a server; `<name>` stands for the queried name. */
interface WhoisDialect {
  /** The query line, by default the name; `<label>` stands for the name without its TLD. */
  readonly query?: string;
  readonly refused?: RegExp;
  /** Registered or otherwise not available: reserved, blocked, in quarantine. */
  readonly taken: RegExp;
  readonly free: RegExp;
}

const verisign: WhoisDialect = {
  query: 'domain <name>',
  refused: /database is currently down/,
  taken: /^domain name: <name>$/,
  free: /^no match for (?:domain )?"<name>"\./,
};
const swiss: WhoisDialect = {
  refused: /not permitted/,
  taken: /^domain name:/,
  free: /^(?:we )?do not have an entry in our database\b/,
};
const swedish: WhoisDialect = { taken: /^state:/, free: /^(?:domain )?"<name>" not found\.$/ };

/** The line of the domain object, for TLDs without a specific marker. */
const domainObject = /^domain(?: ?name)?:\s(?:name: )?<name>$/;

/** The dialect of generic TLDs, and the default. */
const generic: WhoisDialect = {
  taken: /^domain name: <name>$|reserved by registry/,
  free: /^(?:domain )?not found\.?$|^(?:the queried )?object does not exist\b/,
};

/**
 * The WHOIS dialects by TLD, collected on 2026-11-20 from the fixtures of weppos/whois-parser (2009 to 2022) and code of
 * 2026, not tested with the registries: `domains doctor` shows outdated dialects.
 */
const whois: Readonly<Record<string, WhoisDialect>> = {
  com: verisign,
  net: verisign,
  at: { taken: /^domain: <name>$/, free: /^% nothing found$/ },
  be: { refused: /^-[123]:/, taken: /^status: not (?:available$|allowed\b)/, free: /^status: available$/ },
  ch: swiss,
  cz: { taken: domainObject, free: /^(?:%error:101: )?no entries found\b/ },
  de: {
    // Without these flags the format differs, and names are not ASCII.
    query: '-T dn,ace <name>',
    refused: /55000000002|access control limit/,
    taken: /^status: (?:connect|failed|redemptionperiod|invalid)$/,
    free: /^status: free$/,
  },
  dk: {
    taken: /^domain(?: ?name)?:\s(?:name: )?<name>$|^status: reserved$/,
    free: /^(?:# )?no entries found\b/,
  },
  ee: { taken: domainObject, free: /^domain not found\.?$/ },
  eu: {
    refused: /^-\d+:/,
    taken: /^(?:name servers|registrar):|^status: (?!available$)\S/,
    free: /^status: available$/,
  },
  fi: { taken: domainObject, free: /^domain not found\.?$/ },
  fr: { taken: /^domain: <name>$|^status: blocked$/, free: /^(?:%% ?)?(?:not found|no entries found)\b/ },
  hu: { taken: domainObject, free: /^(?:% ?)?no match\b/ },
  it: { taken: /^status: (?!available$)\S/, free: /^status: available$/ },
  li: swiss,
  lt: { taken: /^status: registered$/, free: /^status: available$/ },
  lu: { taken: domainObject, free: /^(?:% ?)?no such domain\b/ },
  nl: {
    query: 'is <name>',
    refused: /only 1 request per second|daily whois-limit|too busy/,
    taken: /^status: active\b|^<name> is active$|^(?:<name> is|status:) (?:in quarantine|excluded)\b/,
    free: /^<name> is free$/,
  },
  no: { taken: domainObject, free: /^(?:% ?)?no match\b/ },
  nu: swedish,
  pl: { taken: /^domain name: <name>$/, free: /^no information available about domain name <name>(?: |\.?$)/ },
  pt: { taken: domainObject, free: /^(?:<name> - )?no match\b/ },
  ro: { taken: domainObject, free: /^(?:% ?)?no entries found\b/ },
  se: swedish,
  si: { taken: domainObject, free: /^(?:% ?)?no entries found\b/ },
  sk: { taken: domainObject, free: /^(?:domain )?not found\.?$/ },
  uk: {
    refused: /query quota.*exceeded/,
    taken: /^registration status:|cannot be registered/,
    free: /^this domain name has not been registered\b/,
  },
};

/** The DAS dialects by TLD, as of 2026-11-20: .be from docs.dnsbelgium.be, .eu from EURid's archived page. */
const das: Readonly<Record<string, WhoisDialect>> = {
  be: {
    refused: /^rc: -/,
    taken: /^status: not (?:available|allowed)$/,
    free: /^rc: 0$[^]*^status: available$/,
  },
  eu: {
    query: 'get 1.0 <label>',
    refused: /^-\d+:/,
    taken: /^status: (?:registered|reserved|blocked|not allowed|quarantined?|withdrawn|on[ _]hold)$/,
    free: /^status: free$/,
  },
};
const genericDas: WhoisDialect = {
  refused: /^rc: -/,
  taken: /^status: (?:not available|registered|not allowed|reserved|blocked)$/,
  free: /^status: (?:available|free)$/,
};

/** Finds the dialect of a TLD; a suffix such as co.uk uses the dialect of its country. */
function findDialect(kind: 'whois' | 'das', tld: string): WhoisDialect {
  const end = tld.slice(tld.lastIndexOf('.') + 1);
  const key = end.length === 2 ? end : tld;
  const [table, otherwise] = kind === 'das' ? [das, genericDas] : [whois, generic];
  const dialect = Object.hasOwn(table, key) ? table[key] : undefined;
  // A query for the label alone would return the name directly under the country.
  return dialect && (tld === key || !dialect.query?.includes('<label>')) ? dialect : otherwise;
}
