import { toIdnaName } from './idna.ts';
import type { DomainName } from './types.ts';
import { Problem } from '../problem.ts';

/** A dot at the end of a whole name; IDNA maps the others to the first. */
const finalDot = /[.\u3002\uFF0E\uFF61]$/u;

/** Characters that a URL may hold, or that make it unsafe, but no name. */
// oxlint-disable-next-line no-control-regex
const foreign = /[\s\u0000-\u001F\u007F-\u009F/?#\\@:%[\]<>^|"'`{}()*,;=!$&+~_]/u;

/**
 * Parses a visitor's input to a domain: lower case, IDN labels as A-labels, with one label before its TLD. Throws an
 * `invalid_domain` that says what is wrong, and a `tld_not_found` if it is under none of the TLDs.
 */
export async function parseDomainName(text: string, tlds: () => ReadonlySet<string>): Promise<DomainName> {
  const fault = findForeign(text);
  if (fault !== undefined) throw invalid(fault);
  const parsed = await toIdnaName(text.replace(finalDot, ''));
  if ('fault' in parsed) throw invalid(parsed.fault);
  const labels = parsed.name.split('.');
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1)!)) throw invalid('The domain must not be an IP address');
  if (labels.length < 2) throw invalid('The domain must have a name and a TLD');
  const known = tlds();
  const at = labels.findIndex((_, index) => known.has(labels.slice(index).join('.')));
  if (at === -1) throw new Problem('tld_not_found');
  if (at === 0) throw invalid('A name is missing in front of the TLD');
  // If only .uk is on sale, co.uk cannot be registered, and example.co.uk is under another TLD.
  const name = labels.slice(at - 1).join('.');
  // Loaded at the first search: the list of suffixes takes a tenth of the server's start time.
  const { getPublicSuffix } = await import('tldts-icann');
  if (getPublicSuffix(name) === name) throw new Problem('tld_not_found');
  if (at > 1) throw invalid('Only a whole domain can be searched for, without a subdomain such as www');
  return { name, tld: labels.slice(1).join('.') };
}

/** What is wrong with the characters of an input, before IDNA maps any of them. */
function findForeign(text: string): string | undefined {
  if (text.trim() !== text) return 'The domain must not begin or end with a space';
  if (foreign.test(text)) return 'The domain must be a plain name, without a protocol, port, path or query';
  return undefined;
}

function invalid(message: string): Problem {
  return new Problem('invalid_domain', message);
}
