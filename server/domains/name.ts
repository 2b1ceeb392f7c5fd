import { toIdnaName } from './idna.ts';
import type { DomainName } from './types.ts';
import { Problem } from '../problem.ts';

/** A domain, and its name with U-labels, as people write it. */
interface ParsedDomain extends DomainName {
  readonly unicode: string;
}

/** Longer inputs are not searched for the domain that was meant. */
const maxInput = 1024;

/** A dot at the end of a whole name; IDNA maps the others to the first. */
const finalDot = /[.\u3002\uFF0E\uFF61]$/u;

/** All ASCII characters but letters, digits, hyphens and dots; spaces and control characters beyond ASCII. */
// oxlint-disable-next-line no-control-regex
const foreign = /[\s\u0000-,/:-@[-`{-\u009F]/u;

/**
 * Parses a visitor's input to a domain: lower case, IDN labels as A-labels, with one label before its TLD. Throws an
 * `invalid_domain` that says what is wrong and, where it can be seen, which domain was meant; a `tld_not_found` if it is
 * under none of the TLDs.
 */
export async function parseDomainName(text: string, tlds: () => ReadonlySet<string>): Promise<ParsedDomain> {
  const found = await findDomain(text, tlds);
  if (!('fault' in found) && !found.isBelow) return found.domain;
  const meant = 'fault' in found ? await findMeant(text, tlds) : found.domain;
  const fault = 'fault' in found ? found.fault : 'Only a whole domain can be searched for, without a subdomain';
  throw new Problem('invalid_domain', meant ? `${fault}; search for ${meant.unicode}` : fault);
}

/** The domain that a name is, or is below; or what is wrong with the name. */
type Found = { readonly domain: ParsedDomain; readonly isBelow: boolean } | { readonly fault: string };

async function findDomain(text: string, tlds: () => ReadonlySet<string>): Promise<Found> {
  const fault = findForeign(text);
  if (fault !== undefined) return { fault };
  const parsed = await toIdnaName(text.replace(finalDot, ''));
  if ('fault' in parsed) return parsed;
  const labels = parsed.name.split('.');
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1)!)) return { fault: 'The domain must not be an IP address' };
  if (labels.length < 2) return { fault: 'The domain must have a name and a TLD' };
  const known = tlds();
  const at = labels.findIndex((_, index) => known.has(labels.slice(index).join('.')));
  if (at === -1) throw new Problem('tld_not_found');
  if (at === 0) return { fault: 'A name is missing in front of the TLD' };
  // If only .uk is on sale, co.uk cannot be registered, and example.co.uk is under another TLD.
  const name = labels.slice(at - 1).join('.');
  // Loaded at the first search: the list of suffixes takes a tenth of the server's start time.
  const { getPublicSuffix } = await import('tldts-icann');
  if (getPublicSuffix(name) === name) throw new Problem('tld_not_found');
  const unicode = parsed.unicode
    .split('.')
    .slice(at - 1)
    .join('.');
  return { domain: { name, unicode, tld: labels.slice(at).join('.') }, isBelow: at > 1 };
}

/** The domain in a URL, an e-mail address or a name with too many dots or spaces, if it is one under a TLD on sale. */
async function findMeant(text: string, tlds: () => ReadonlySet<string>): Promise<ParsedDomain | undefined> {
  if (text.length > maxInput) return undefined;
  const host = text
    .trim()
    .replace(/^(?:[a-z][a-z0-9+.-]*:)?\/\/|^mailto:/i, '')
    .replace(/[/?#\\].*$/s, '')
    .replace(/^.*@/s, '')
    .replace(/:\d*$/, '')
    .replace(/^\.+|\.+$/g, '');
  if (host === text) return undefined;
  try {
    const found = await findDomain(host, tlds);
    return 'fault' in found ? undefined : found.domain;
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** Names the first character that no name may hold, before IDNA maps any of them. */
function findForeign(text: string): string | undefined {
  if (text.trim() !== text) return 'The domain must not begin or end with a space';
  const [character] = foreign.exec(text) ?? [];
  if (character === undefined) return undefined;
  if (/[:/?#\\]/.test(character)) return 'The domain must be without a protocol, port, path or query';
  if (character === ' ') return 'The domain must not contain a space';
  const isVisible = /[!-~]/.test(character);
  const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
  return `The domain must not contain ${isVisible ? character : `U+${code}`}`;
}
