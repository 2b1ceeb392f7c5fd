import { domainToASCII } from 'node:url';
import { isLdhLabel, isWellFormedLabel } from './label.ts';
import type { DomainName } from './types.ts';
import { Problem } from '../problem.ts';

/** Longer inputs cannot become a valid name. */
const maxInput = 1024;

/** Characters that a host parser would interpret as parts of a URL, or drop. */
// oxlint-disable-next-line no-control-regex
const foreign = /[\s\u0000-\u001F\u007F-\u009F/?#\\@:%[\]<>^|"'`{}()*,;=!$&+~]/u;

/**
 * Parses a visitor's input to a DNS name: lower case, IDN labels as A-labels (UTS #46, RFC 5891). Throws an
 * `invalid_domain` that says what is wrong.
 */
export function parseDomainName(text: string): string {
  if (text.trim() !== text) throw invalid('The domain must not begin or end with a space');
  if (foreign.test(text)) throw invalid('The domain must be a plain name, without a protocol, port, path or query');
  if (text.length > maxInput) throw invalid('The domain is too long');
  // domainToASCII is a host parser, which reads 127.1 as an address and accepts invalid names. So its result is checked.
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
 * Splits a name into label and TLD. Throws a `tld_not_found` if it is under none of the TLDs, and an
 * `invalid_domain` for a bare TLD and a subdomain.
 */
export async function toDomainName(name: string, tlds: ReadonlySet<string>): Promise<DomainName> {
  const labels = name.split('.');
  const at = labels.findIndex((_, index) => tlds.has(labels.slice(index).join('.')));
  if (at === -1) throw new Problem('tld_not_found');
  if (at === 0) throw invalid('A name is missing in front of the TLD');
  // If only .uk is on sale, co.uk cannot be registered, and example.co.uk is under another TLD.
  const rest = labels.slice(at - 1).join('.');
  // Loaded at the first search: the list of suffixes takes a tenth of the server's start time.
  const { getPublicSuffix } = await import('tldts-icann');
  if (getPublicSuffix(rest) === rest) throw new Problem('tld_not_found');
  if (at === 1) return { name, tld: labels.slice(1).join('.') };
  throw invalid('Only a whole domain can be searched for, without a subdomain such as www');
}

function invalid(message: string): Problem {
  return new Problem('invalid_domain', message);
}
