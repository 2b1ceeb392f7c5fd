import idna from 'idn-hostname';
import { getPublicSuffix } from 'tldts-icann';
import { Problem } from '../problem.ts';
import type { DomainName } from './lookup/query.ts';
import table from './scripts.json' with { type: 'json' };

/** A domain, with its name in Unicode (U-labels) for display. */
interface ParsedDomain extends DomainName {
  readonly unicode: string;
}

/** Longer inputs cannot become a valid name; no intended domain is suggested for them. */
const maxInput = 1024;

/** The full stop, and the characters that IDNA maps to a full stop. */
const dot = /[.\u3002\uFF0E\uFF61]/u;

/** ASCII except letters, digits, hyphens and dots; spaces and control characters beyond ASCII. */
// oxlint-disable-next-line no-control-regex
const foreign = /[\s\u0000-,/:-@[-`{-\u009F]/u;

/**
 * Parses a visitor's input to a domain. Throws `invalid_domain`, which names the fault and suggests the intended domain;
 * throws `tld_not_found` for an unknown TLD.
 */
export function parseDomainName(text: string, tlds: () => ReadonlySet<string>): ParsedDomain {
  const { fault, domain } = findDomain(text, tlds);
  if (fault === undefined) return domain;
  const meant = domain ?? findMeant(text, tlds);
  throw new Problem('invalid_domain', meant ? `${fault}; search for ${meant.unicode}` : fault);
}

/** Parses a name into a registrable domain, or explains why it is not one. */
function findDomain(text: string, tlds: () => ReadonlySet<string>) {
  const fault = findForeign(text);
  if (fault !== undefined) return { fault };
  const parsed = toIdnaName(dot.test(text.at(-1) ?? '') ? text.slice(0, -1) : text);
  if ('fault' in parsed) return { fault: parsed.fault };
  const labels = parsed.name.split('.');
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1)!)) return { fault: 'The domain must not be an IP address' };
  if (labels.length < 2) return { fault: 'The domain must have a name and a TLD' };
  const known = tlds();
  const at = labels.findIndex((_, index) => known.has(labels.slice(index).join('.')));
  if (at === -1) throw new Problem('tld_not_found');
  if (at === 0) return { fault: 'A name is missing in front of the TLD' };
  // If only .uk is on sale, co.uk cannot be registered, and example.co.uk belongs to another TLD.
  const start = at - 1;
  const name = labels.slice(start).join('.');
  if (getPublicSuffix(name) === name) throw new Problem('tld_not_found');
  const unicode = parsed.unicode.split('.').slice(start).join('.');
  const domain = { name, unicode, tld: labels.slice(at).join('.') };
  return at === 1 ? { domain } : { domain, fault: 'Only a whole domain can be searched for, without a subdomain' };
}

/** Finds the intended domain in a URL, an e-mail address or a name with extra characters around or between its parts. */
function findMeant(text: string, tlds: () => ReadonlySet<string>): ParsedDomain | undefined {
  if (text.length > maxInput) return undefined;
  const host = text
    .replace(/^[^\p{L}\p{N}/]+/u, '')
    .replace(/^(?:[a-z][a-z0-9+.-]*:)?\/\/|^mailto:/i, '')
    .replace(/[/?#\\].*$/s, '')
    .replace(/^.*@/s, '')
    .replace(/[^\p{L}\p{M}\p{N}:]+$/u, '')
    .replace(/:\d*$/, '')
    .replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{M}\p{N}]+$/gu, '')
    .replaceAll(/ *\. *|,(?=\S)/g, '.');
  if (host === text) return undefined;
  try {
    return findDomain(host, tlds).domain;
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** Describes the first forbidden character, before IDNA maps characters. */
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

const outOfContext = 'The domain holds a character that is not allowed beside its neighbours';
const tooLong = 'A part of the domain is longer than 63 characters, or the whole is longer than 253';
const malformed = 'A part of the domain is not a valid internationalised name';

/** Messages by idn-hostname error name. */
const faults: Readonly<Record<string, string>> = {
  IdnaUnicodeError: 'The domain holds a character that no domain may hold',
  IdnaContextJError: outOfContext,
  IdnaContextOError: outOfContext,
  IdnaBidiError: 'A part of the domain mixes directions of writing',
  IdnaLengthError: tooLong,
};

/** Converts a name to A-labels and U-labels (UTS #46, IDNA2008); rejects labels with mixed scripts. */
export function toIdnaName(text: string): { readonly fault: string } | Omit<ParsedDomain, 'tld'> {
  if (text.length > maxInput) return { fault: tooLong };
  const labels = text.split(dot);
  if (labels.includes('')) return { fault: 'The domain has an empty part' };
  if (labels.some((label) => /^(?!xn).{2}--/i.test(label)))
    return { fault: 'The third and fourth characters of a part must not both be hyphens' };
  if (labels.some((label) => /^-|-$/.test(label))) return { fault: 'A part of the domain has a hyphen at its end' };
  try {
    const name = idna.idnHostname(text);
    const unicode = idna.punycode.toUnicode(name);
    if (!unicode.split('.').some((label: string) => mixesScripts(label))) return { name, unicode };
    return { fault: 'A part of the domain mixes letters of different scripts, which may look alike' };
  } catch (error) {
    // A RangeError means that mapping leaves an empty part, such as for a single soft hyphen.
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    const [character] = /U\+[0-9A-F]{4,6}/.exec(error.message) ?? [];
    const fault = faults[error.name] ?? malformed;
    return { fault: character === undefined ? fault : `${fault}: ${character}` };
  }
}

/**
 * The scripts of letters, marks and digits by range of code points (Script_Extensions of Unicode 17), without common
 * characters. The equivalent 170 regular expressions take 0.2 s; test/slow/domains/ compares both.
 */
const scripts = Object.entries(table)
  .flatMap(([codes, text]) => {
    const of: ReadonlySet<string> = new Set(codes.split(' '));
    return text.split(' ').map((range) => {
      const [from = 0, to = from] = range.split('-').map((code) => Number.parseInt(code, 16));
      return { from, to, of };
    });
  })
  .toSorted((a, b) => a.from - b.from);

/** Japanese, Chinese and Korean use several scripts, and Latin letters beside them. */
const together = ['Latn Hani Hira Kana', 'Latn Hani Bopo', 'Latn Hani Hang'].map((codes) => new Set(codes.split(' ')));

/** Finds mixed scripts beyond "highly restrictive" (UTS #39, 5.2): the label may look like another. */
function mixesScripts(label: string): boolean {
  const written = Array.from(label).flatMap((character) => {
    const code = character.codePointAt(0)!;
    const range = scripts.findLast(({ from }) => from <= code);
    return range && code <= range.to ? [range.of] : [];
  });
  const [first] = written;
  if (!first || written.reduce((common, of) => common.intersection(of), first).size > 0) return false;
  return !together.some((allowed) => written.every((of) => !of.isDisjointFrom(allowed)));
}
