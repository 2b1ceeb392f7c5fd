/**
 * The markers of a WHOIS or DAS server's responses. They match single lines, ignoring case, after runs of white space
 * were collapsed; `<name>` stands for the queried name.
 */
export interface Markers {
  /** The server refuses the query. */
  readonly refused?: RegExp;
  readonly taken?: RegExp;
  /** Not registered, but not available either: reserved, blocked, in quarantine. */
  readonly reserved?: RegExp;
  readonly free: RegExp;
}

/** The query line of a TLD, in which `<label>` stands for the name without its TLD, and the markers of its responses. */
export interface Dialect extends Markers {
  readonly query?: string;
}

const verisign: Dialect = {
  query: 'domain <name>',
  refused: /quota exceeded|database is currently down/,
  taken: /^domain name: <name>$/,
  free: /^no match for (?:domain )?"<name>"\./,
};
const swiss: Dialect = {
  refused: /not permitted/,
  taken: /^domain name:/,
  free: /^(?:we )?do not have an entry in our database\b/,
};
const swedish: Dialect = { taken: /^state:/, free: /^(?:domain )?"<name>" not found\.$/ };

/** The line of the domain object, for TLDs without a specific marker. */
const object = /^domain(?: ?name)?:\s(?:name: )?<name>$/;

/** The dialect of generic TLDs, and of those that are not in the table below. */
const generic: Dialect = {
  refused: /limit exceeded/,
  taken: /^domain name: <name>$/,
  reserved: /reserved by registry/,
  free: /^(?:domain )?not found\.?$|^(?:the queried )?object does not exist\b/,
};

/**
 * The WHOIS dialects by TLD, collected on 2026-11-20 from the fixtures of weppos/whois-parser (2009 to 2022) and code of
 * 2026. None was tested with its registry: `domains doctor` shows which are outdated.
 */
const whois: Readonly<Record<string, Dialect>> = {
  com: verisign,
  net: verisign,
  at: { refused: /quota exceeded/, taken: /^domain: <name>$/, free: /^% nothing found$/ },
  be: {
    refused: /^-[123]:/,
    taken: /^status: not available$/,
    reserved: /^status: not allowed\b/,
    free: /^status: available$/,
  },
  ch: swiss,
  cz: { taken: object, free: /^(?:%error:101: )?no entries found\b/ },
  de: {
    // Without these flags the response format differs, and names are not ASCII.
    query: '-T dn,ace <name>',
    refused: /55000000002|access control limit/,
    taken: /^status: (?:connect|failed|redemptionperiod)$/,
    reserved: /^status: invalid$/,
    free: /^status: free$/,
  },
  dk: { taken: object, reserved: /^status: reserved$/, free: /^(?:# )?no entries found\b/ },
  ee: { taken: object, free: /^domain not found\.?$/ },
  eu: {
    refused: /^-\d+:/,
    taken: /^(?:name servers|registrar):/,
    reserved: /^status: (?!available$)\S/,
    free: /^status: available$/,
  },
  fi: { taken: object, free: /^domain not found\.?$/ },
  fr: {
    // Its throttle message contains "No entries found" too.
    refused: /too many requests/,
    taken: /^domain: <name>$/,
    reserved: /^status: blocked$/,
    free: /^(?:%% ?)?(?:not found|no entries found)\b/,
  },
  hu: { taken: object, free: /^(?:% ?)?no match\b/ },
  it: {
    refused: /temporarily unavailable/,
    taken: /^status: (?!available$)\S/,
    free: /^status: available$/,
  },
  li: swiss,
  lt: { taken: /^status: registered$/, free: /^status: available$/ },
  lu: { taken: object, free: /^(?:% ?)?no such domain\b/ },
  nl: {
    query: 'is <name>',
    refused: /only 1 request per second|daily whois-limit|too busy/,
    taken: /^status: active\b|^<name> is active$/,
    reserved: /^(?:<name> is|status:) (?:in quarantine|excluded)\b/,
    free: /^<name> is free$/,
  },
  no: { taken: object, free: /^(?:% ?)?no match\b/ },
  nu: swedish,
  pl: {
    refused: /request limit exceeded/,
    taken: /^domain name: <name>$/,
    free: /^no information available about domain name <name>(?: |\.?$)/,
  },
  pt: { taken: object, free: /^(?:<name> - )?no match\b/ },
  ro: { taken: object, free: /^(?:% ?)?no entries found\b/ },
  se: swedish,
  si: { taken: object, free: /^(?:% ?)?no entries found\b/ },
  sk: { taken: object, free: /^(?:domain )?not found\.?$/ },
  uk: {
    refused: /query quota.*exceeded/,
    taken: /^registration status:/,
    reserved: /cannot be registered/,
    free: /^this domain name has not been registered\b/,
  },
};

/** The DAS dialects by TLD, as of 2026-11-20: .be from docs.dnsbelgium.be, .eu from EURid's archived page. */
const das: Readonly<Record<string, Dialect>> = {
  be: {
    refused: /^rc: -/,
    taken: /^status: not available$/,
    reserved: /^status: not allowed$/,
    free: /^rc: 0$[^]*^status: available$/,
  },
  eu: {
    query: 'get 1.0 <label>',
    refused: /^-\d+:/,
    taken: /^status: registered$/,
    reserved: /^status: (?:reserved|blocked|not allowed|quarantined?|withdrawn|on[ _]hold)$/,
    free: /^status: free$/,
  },
};
const genericDas: Dialect = {
  refused: /^rc: -/,
  taken: /^status: (?:not available|registered)$/,
  reserved: /^status: (?:not allowed|reserved|blocked)$/,
  free: /^status: (?:available|free)$/,
};

/** Finds the dialect of a TLD. A suffix such as co.uk uses that of its country. */
export function findDialect(kind: 'whois' | 'das', tld: string): Dialect {
  const end = tld.slice(tld.lastIndexOf('.') + 1);
  const key = end.length === 2 ? end : tld;
  const [table, otherwise] = kind === 'das' ? [das, genericDas] : [whois, generic];
  const dialect = Object.hasOwn(table, key) ? table[key] : undefined;
  // A query for the label alone would return the name directly under the country.
  return dialect && (tld === key || !dialect.query?.includes('<label>')) ? dialect : otherwise;
}
