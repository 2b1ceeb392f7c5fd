import { domainToASCII } from 'node:url';
import { isLdhLabel, isWellFormedLabel } from './label.ts';
import type { DomainName } from './types.ts';
import { Problem } from '../problem.ts';

/** Longer than any name that could become a valid one: IDN labels shrink by far less. */
const maxInput = 1024;

/** What a host parser would take for a part of a URL, or pass over: only a name may come in. */
// oxlint-disable-next-line no-control-regex
const foreign = /[\s\u0000-\u001F\u007F-\u009F/?#\\@:%[\]<>^|"'`{}()*,;=!$&+~]/u;

/**
 * Parses what a visitor typed into a name as it stands in DNS: lower case, IDN labels as A-labels (UTS #46, RFC 5891).
 * Throws an `invalid_domain` that says what is wrong with it.
 */
export function parseDomainName(text: string): string {
  if (text.trim() !== text) throw invalid('The domain must not begin or end with a space');
  if (foreign.test(text)) throw invalid('The domain must be a plain name, without a protocol, port, path or query');
  if (text.length > maxInput) throw invalid('The domain is too long');
  // It is a host parser: it reads 127.1 as an address, and lets through much that is no name. What it answers is checked.
  const bare = text.replace(/[.\u3002\uFF0E\uFF61]$/u, '');
  const name = domainToASCII(bare).toLowerCase();
  if (bare === '') throw invalid('The domain has an empty part');
  if (name === '') throw invalid('The domain holds characters that no domain may hold');
  if (name.length > 253) throw invalid('The domain is too long');
  const labels = name.split('.');
  if (labels.length < 2) throw invalid('The domain must have a name and a TLD');
  if (labels.some((part) => part === '')) throw invalid('The domain has an empty part');
  if (labels.some((part) => part.length > 63)) throw invalid('A part of the domain is longer than 63 characters');
  if (!labels.every(isLdhLabel)) {
    throw invalid('The parts of a domain are letters, digits and hyphens, with no hyphen at either end');
  }
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1)!)) throw invalid('The domain must not be an IP address');
  if (!labels.every(isWellFormedLabel)) throw invalid('A part of the domain is not a valid internationalised name');
  return name;
}

/**
 * The name that can be registered under one of the TLDs. Throws a `tld_not_found` where it is of none of them, and an
 * `invalid_domain` for a bare TLD and a subdomain.
 */
export async function toDomainName(name: string, tlds: ReadonlySet<string>): Promise<DomainName> {
  const labels = name.split('.');
  const at = labels.findIndex((_, index) => tlds.has(labels.slice(index).join('.')));
  if (at === -1) throw new Problem('tld_not_found');
  if (at === 0) throw invalid('A name is missing in front of the TLD');
  // With .uk alone on sale, co.uk is no name to be had, and example.co.uk one of another TLD.
  const rest = labels.slice(at - 1).join('.');
  // Loaded for the first search: the list of suffixes takes as long as a tenth of the server's start.
  const { getPublicSuffix } = await import('tldts-icann');
  if (getPublicSuffix(rest) === rest) throw new Problem('tld_not_found');
  if (at === 1) return { name, tld: labels.slice(1).join('.') };
  throw invalid('Only a whole domain can be searched for, without a subdomain such as www');
}

function invalid(message: string): Problem {
  return new Problem('invalid_domain', message);
}
