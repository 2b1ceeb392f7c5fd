import { isUtf8 } from 'node:buffer';
import { connect } from 'node:net';
import { domainToUnicode } from 'node:url';
import { collect } from '#common/streams.ts';
import { announceUpstream } from '../../upstream/client.ts';
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
 * Creates WHOIS (RFC 3912) and DAS queries to `host` or `host:port`. These protocols have no status code: the words of
 * the response determine the result. Never rejects.
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

/** Query lines other than the name alone; `<label>` stands for the name without its TLD. */
const queries: Readonly<Record<string, string>> = {
  // Without the flags the format differs, and names are not ASCII.
  'whois de': '-T dn,ace <name>',
  // Verisign also searches name servers and parts of names.
  'whois com': 'domain <name>',
  'whois net': 'domain <name>',
  'whois nl': 'is <name>',
  'das eu': 'get 1.0 <label>',
};

/** Sends a line and reads the response, which ends with the connection. */
async function ask(
  address: { readonly host: string; readonly port: number },
  kind: 'whois' | 'das',
  { name, tld }: DomainName,
  { answerMs, maxBytes }: RegistryLimits,
  signal: AbortSignal,
): Promise<keyof typeof meanings> {
  const label = name.slice(0, -tld.length - 1);
  const line = (queries[`${kind} ${tld}`] ?? '<name>').replace('<name>', name).replace('<label>', label);
  const ends = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
  const socket = connect({ ...address, lookup: lookupPublic, signal: ends });
  let failure: 'unreachable' | 'incomplete' = 'unreachable';
  socket.once('connect', () => (failure = 'incomplete'));
  try {
    socket.write(`${line}\r\n`);
    const bytes = await collect(socket, maxBytes);
    // The protocol has no charset.
    return bytes ? parseWhoisReply(bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1'), name, label) : failure;
  } catch {
    return failure;
  } finally {
    socket.destroy();
  }
}

/** A line of a response in lower case, with `<name>` for the queried name. */
type Line = ReturnType<typeof toLine>;

/** Longer lines are terms of use, whose end does not matter; responses with more lines are unknown. */
const [maxLine, maxLines] = [400, 500];
const header = /^(?:domain name|registrar|name ?servers|holder)$/;

/** Parses a line; the keys of registries stand in brackets (JPRS), before dots, a tab or several spaces. */
function toLine(raw: string, name: string, label: string) {
  const text = raw
    .slice(0, maxLine)
    .toLowerCase()
    .replaceAll(/["'<>]/g, '')
    .replace(/^[^\p{L}\p{N}]+$|^[\s%#;*]+/u, '')
    .replace(/^(?:[a-z]\. ?)?\[(\S[^\]]*)\]/, '$1: ')
    .replace(/^(\p{L}[^:\t]{0,40}?)(?:\t| {3})\s*(?=[^:\s])/u, '$1: ')
    .replaceAll(/\s+|\.{3,}/g, ' ')
    .trim()
    .replaceAll(name, '<name>')
    .replaceAll(domainToUnicode(name), '<name>')
    .replace(new RegExp(String.raw`^(domain: |no match for )${label}$`), '$1<name>');
  const [, key = '', value = ''] = /^(\p{L}[^:\d]{0,60}?\d{0,2}) ?:(?!\/\/) *(.*)$/u.exec(text) ?? [];
  const isTerms = raw.length > maxLine;
  const isComment = /^\s*(?:[%#;>]|\[ )/.test(raw);
  return { text, key: key || (header.test(text) ? text : ''), value, isComment, isTerms };
}

/** Matches one of several patterns. */
const anyOf = (...patterns: readonly string[]): RegExp => new RegExp(patterns.join('|'), 'u');

/** The first words of terms of use, or of a footer (.jp, .lv). */
const terms = anyOf(
  '^(?:terms|notice|disclaimer|please note|access (?:to|may)|by submitting|copyright|use of|you (?:may|must|agree))',
  String.raw`^(?:the compilation|(?:the|this) (?:whois )?(?:data|information|service)\b|for more information|whois:|参考)`,
);

/** Marks terms of use in a paragraph: after their first words, or the whole paragraph if it is running text. */
function markTerms(paragraph: readonly Line[]): void {
  const start = paragraph.findIndex(({ text }) => terms.test(text));
  for (const line of start === -1 ? [] : paragraph.slice(start)) line.isTerms = true;
  const prose = paragraph.filter(({ key }) => key === '');
  const wrapped = prose.filter(({ text }) => text.length >= 30 && !/[.!?:]$/.test(text));
  const isRunning = prose.length > 2 && prose.length * 2 > paragraph.length && wrapped.length * 2 >= prose.length - 1;
  if (isRunning && !paragraph.some(({ text }) => isDenial(text))) for (const line of paragraph) line.isTerms = true;
}

/** Splits a response into lines, and adds to a key its value on the next line. */
function toLines(received: string, name: string, label: string): Line[] {
  const lines = received.split(/\r?\n/).map((raw) => toLine(raw, name, label));
  let paragraph: Line[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.text !== '') paragraph.push(line);
    if (line.text === '' || index === lines.length - 1) {
      markTerms(paragraph);
      paragraph = [];
    }
    const next = lines[index + 1];
    const isHeading = line.key !== '' && line.key.length < 30 && line.value === '';
    // The last line may be cut off.
    if (isHeading && index < lines.length - 2 && next?.key === '') line.value = next.text;
  }
  return lines;
}

/** Refusals of all registries, as a sentence of their own. */
const refusal = anyOf(
  String.raw`too (?:many|busy|fast|short|frequent)|(?:limit|quota|rate|queries)\b.*\b(?:exceeded|reached)`,
  String.raw`(?:exceeded|reached)\b.*\b(?:limit|quota|rate|number)|(?:temporarily|currently) (?:unavailable|down)|service unavailable`,
  'try again (?:later|in)|slow down|grace period|go away|blacklisted|banned|queries are throttled:',
  String.raw`(?:request|access|permission|connection|address|ip)s?\b.*\b(?:denied|refused|not permitted|blocked|restricted)`,
  String.raw`\d+-second|only \d+ request|^-[1-9]\d*:|^rc: -|5500000000[24]`,
);
/** A condition, as in terms of use. */
const condition = /\b(?:if|when|may|might|excessive use)\b/;

/** The keys that name the subject of a response. */
const subject = /(?:^|[ _-])(?:domain(?:[ _-]?name|-ace)?|domaine|dominio|dom[ií]nio)$|^(?:object|query)$/;
const status = /(?:^|[ _/-])(?:status|state|estado)$|^estatus\b|^available$|^状態$/;
const freeStatus =
  /^(?:\d{3} )?(?:free|yes|(?:available|not registered|not found|no match|no objects? found)(?: for registration)?)[.!]?$/;
/** A status that says nothing about the name. */
const noStatus = /^(?:\d{3} )?(?:error|unknown|invalid (?:query|request|input))\b/;
/** The keys of a record, besides its subject and status. */
const record = anyOf(
  'regist(?:ra|ered|ry domain id)|holder|owner|titular|contact|cr[eé]at|expir|renew|paid|fecha|changed|modified|updated|domain id',
  String.raw`n(?:ame)?[ -]?servers?\b|^ns ?\d*$|^dns\b|hostname|ネームサーバ|登録年月日`,
);
/** The keys of a denial, besides its subject and status. */
const harmless = /^(?:version|script|query_?\w*|type|rc|url of .*|status codes|whois.*|note|.*more information.*)$/;

/** The words for a name, and for what it is missing from. */
const thing =
  '(?:(?:the|this|above) )?(?:(?:requested|queried) )?(?:domain name|domain|object|key|data|<name>)(?: <name>)?';
const about = [
  '(?:(?: for| about| matching| to| that)?(?: (?:the|this|that|your|match|domain|name|query|selected))*',
  '(?: (?:<name>|query|request criteria|sources?(?: s)?)))?',
].join('');
const within = String.raw`(?: in (?:the |our )?(?:\w+ ){0,5}(?:database|registry|register|server))?`;
const nouns = String.raw`data|match|matching \w+|objects?|entries|(?:domain )?records?|results|information|domain`;
/** Sentences for a name that nobody has. */
const denials = [
  `(?:${thing} )?(?:is |was |has |does )?not (?:been )?(?:found|registered|exist)${about}${within}`,
  'the queried object does not exist (?:<name>|no object found|domain not found|no matching objects found|.*no match)',
  `(?:<name> )?no (?:such )?(?:${nouns})(?: (?:was|were|is))?(?: found| available)?${about}(?: found)?${within}`,
  `(?:${thing} )?(?:is )?available(?: for registration)?(?: please visit)?|${thing} is free|nothing found${about}`,
  '(?:we )?do not have an entry in our database matching your query|no found|(?:<name> )?no existe',
  'el dominio no se encuentra registrado.*',
].map((source) =>
  anyOf(
    String.raw`^(?:error )?(?:\d+ )?(?:nincs tal[aá]lat |no se encontro el objeto |unfortunately |sorry but )?(?:${source})$`,
  ),
);

/** Tests whether a line says that nobody has the name. */
function isDenial(text: string): boolean {
  return text.split(/[.!] (?=.)/).every((sentence) => {
    const words = sentence.replaceAll(/[^\p{L}\p{N}<>.]+|\.(?!\w)/gu, ' ').trim();
    return denials.some((denial) => denial.test(words));
  });
}

/** A sentence for a name that cannot be registered, without a record. */
const kept = /^<name> is (?:active|in quarantine|excluded|registered|not available)/;

const isName = (value: string): boolean => /^<name>\.?(?: \(<name>\))?$/.test(value);
const isFreeStatus = ({ value }: Line): boolean => freeStatus.test(value);
/** Tests for the status of a registered or withheld name. */
const isTakenStatus = ({ value }: Line): boolean => ![freeStatus, noStatus, refusal].some((words) => words.test(value));
const isRecord = ({ key, value, text }: Line): boolean =>
  (value !== '' && record.test(key) && !status.test(key)) || /^record (?:created|expires) on \S/.test(text);
const isRefusal = ({ text, key, isTerms }: Line): boolean =>
  !isTerms && !record.test(key) && refusal.test(text) && !condition.test(text);
/** Tests whether a line may speak of the name: a comment or terms of use only if they say so. */
const isAboutName = ({ text, isComment, isTerms }: Line): boolean =>
  !isDenial(text) && ((!isComment && !isTerms) || /<name>|this (?:domain|name)\b/.test(text));
/** Tests for a line that a denial does not have. */
function isOdd({ key, value, text, isComment, isTerms }: Line): boolean {
  if (isComment || isTerms) return false;
  if (key === '') return text.includes('<name>') && !/^(?:searching for|whois|<name>)/.test(text);
  return value !== '' && ![subject, status, harmless].some((keys) => keys.test(key));
}

/** Parses a response: a record of the name, then a refusal, then a denial. */
function parseWhoisReply(received: string, name: string, label: string): Availability | 'refused' {
  if (received.split('\n', maxLines + 1).length > maxLines) return 'unknown';
  const all = toLines(received, name, label);
  // The last line may be cut off.
  const lines = all.slice(0, -1);
  const own = lines.filter((line) => isAboutName(line));
  const fields = own.filter(({ key, value, isComment, isTerms }) => key && value && !isComment && !isTerms);
  const states = fields.filter(({ key }) => status.test(key));
  const isFree = states.length > 0 && states.every((line) => isFreeStatus(line));
  const hasRecord = own.some((line) => isRecord(line));
  const isNamed = fields.some(({ value }) => isName(value));
  if (isNamed && (states.some((line) => isTakenStatus(line)) || (hasRecord && !isFree))) return 'taken';
  if (all.some((line) => isRefusal(line))) return 'refused';
  const subjects = fields.filter(({ key, value }) => subject.test(key) && !status.test(key) && /^\S+$/.test(value));
  if (subjects.some(({ value }) => !isName(value))) return 'unknown';
  if (own.some(({ text }) => kept.test(text))) return 'taken';
  const isDenied = isFree || (states.length === 0 && lines.some(({ text }) => isDenial(text)));
  const words = own.filter(({ text }) => isDenied || /<name>|this (?:domain|name)\b|^(?:reserved|status)\b/.test(text));
  const judged = judgeDenial(
    words.map(({ text }) => text),
    name,
  );
  return judged !== 'free' || (isDenied && !hasRecord && !own.some((line) => isOdd(line))) ? judged : 'unknown';
}
