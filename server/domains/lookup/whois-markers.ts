/**
 * What tells the answers of a WHOIS or DAS server apart: each line is matched on its own, with its blanks made single,
 * whatever the letters' case; `<name>` stands for the name that was asked for.
 */
export interface Markers {
  /** The server does not answer now. */
  readonly refused?: RegExp;
  readonly taken?: RegExp;
  /** Not registered, and not to be had either: reserved, blocked, in quarantine. */
  readonly barred?: RegExp;
  readonly free: RegExp;
}

/** How a TLD is asked: the line, in which `<label>` stands for the name without its TLD, and what the answers are. */
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

/** The object of the name itself, for TLDs without a proof of their own. */
const object = /^domain(?: ?name)?:\s(?:name: )?<name>$/;

/** As the registries of generic TLDs answer, and those who are not in the table below. */
const generic: Dialect = {
  refused: /limit exceeded/,
  taken: /^domain name: <name>$/,
  barred: /reserved by registry/,
  free: /^(?:domain )?not found\.?$|^(?:the queried )?object does not exist\b/,
};

/**
 * By TLD. From the fixtures of weppos/whois-parser (2009 to 2022) and code of 2026, as collected on 2026-11-20; none
 * was tried against its registry, so an operator's check is what shows that one is out of date.
 */
const whois: Readonly<Record<string, Dialect>> = {
  com: verisign,
  net: verisign,
  at: { refused: /quota exceeded/, taken: /^domain: <name>$/, free: /^% nothing found$/ },
  be: {
    refused: /^-[123]:/,
    taken: /^status: not available$/,
    barred: /^status: not allowed\b/,
    free: /^status: available$/,
  },
  ch: swiss,
  cz: { taken: object, free: /^(?:%error:101: )?no entries found\b/ },
  de: {
    // Without these, answers are in other words, and names as they are displayed.
    query: '-T dn,ace <name>',
    refused: /55000000002|access control limit/,
    taken: /^status: (?:connect|failed|redemptionperiod)$/,
    barred: /^status: invalid$/,
    free: /^status: free$/,
  },
  dk: { taken: object, barred: /^status: reserved$/, free: /^(?:# )?no entries found\b/ },
  ee: { taken: object, free: /^domain not found\.?$/ },
  eu: {
    refused: /^-\d+:/,
    taken: /^(?:name servers|registrar):/,
    barred: /^status: (?!available$)\S/,
    free: /^status: available$/,
  },
  fi: { taken: object, free: /^domain not found\.?$/ },
  fr: {
    // Its throttle says "No entries found" as well.
    refused: /too many requests/,
    taken: /^domain: <name>$/,
    barred: /^status: blocked$/,
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
    barred: /^(?:<name> is|status:) (?:in quarantine|excluded)\b/,
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
    barred: /cannot be registered/,
    free: /^this domain name has not been registered\b/,
  },
};

/** By TLD; .be by docs.dnsbelgium.be, .eu by EURid's archived page, both as of 2026-11-20. */
const das: Readonly<Record<string, Dialect>> = {
  be: {
    refused: /^rc: -/,
    taken: /^status: not available$/,
    barred: /^status: not allowed$/,
    free: /^rc: 0$[^]*^status: available$/,
  },
  eu: {
    query: 'get 1.0 <label>',
    refused: /^-\d+:/,
    taken: /^status: registered$/,
    barred: /^status: (?:reserved|blocked|not allowed|quarantined?|withdrawn|on[ _]hold)$/,
    free: /^status: free$/,
  },
};
const genericDas: Dialect = {
  refused: /^rc: -/,
  taken: /^status: (?:not available|registered)$/,
  barred: /^status: (?:not allowed|reserved|blocked)$/,
  free: /^status: (?:available|free)$/,
};

/** Answers how a TLD is asked; the end of one like co.uk counts where it is of a country, as its registry is asked. */
export function findDialect(kind: 'whois' | 'das', tld: string): Dialect {
  const end = tld.slice(tld.lastIndexOf('.') + 1);
  const key = end.length === 2 ? end : tld;
  const [table, otherwise] = kind === 'das' ? [das, genericDas] : [whois, generic];
  const dialect = Object.hasOwn(table, key) ? table[key] : undefined;
  // What asks for the label alone would be answered for the name right under the country.
  return dialect && (tld === key || !dialect.query?.includes('<label>')) ? dialect : otherwise;
}
