/** A name in both forms, lower case, or what is wrong with it. */
export type IdnaName =
  | {
      /** With A-labels, as in DNS. */
      readonly name: string;
      /** With U-labels, as people write it. */
      readonly unicode: string;
    }
  | { readonly fault: string };

const disallowed = 'The domain holds a character that no domain may hold';
const outOfContext = 'The domain holds a character that is not allowed beside its neighbours';
const tooLong = 'A part of the domain is longer than 63 characters, or the whole is longer than 253';
const malformed = 'A part of the domain is not a valid internationalised name';

/** What is wrong, by the name of the library's error. */
const faults = new Map([
  ['IdnaUnicodeError', disallowed],
  ['IdnaContextJError', outOfContext],
  ['IdnaContextOError', outOfContext],
  ['IdnaBidiError', 'A part of the domain mixes directions of writing'],
  ['IdnaLengthError', tooLong],
  ['IdnaSyntaxError', malformed],
  ['PunycodeError', malformed],
]);

/** Longer inputs cannot become a valid name. */
const maxInput = 1024;

/** The full stop, and those that IDNA maps to it. */
const dot = /[.\u3002\uFF0E\uFF61]/u;

/**
 * Maps a name by UTS #46 and checks it by IDNA2008 (RFC 5890 to 5893): letters, digits and hyphens of all scripts, no
 * symbols or emoji, and A-labels by the same rules. No label may mix scripts.
 */
export async function toIdnaName(text: string): Promise<IdnaName> {
  if (text.length > maxInput) return { fault: tooLong };
  const labels = text.split(dot);
  if (labels.includes('')) return { fault: 'The domain has an empty part' };
  if (labels.some((label) => /^-|-$/.test(label))) return { fault: 'A part of the domain has a hyphen at its end' };
  // Loaded at the first search, since their tables take 20 ms of the server's start.
  const [{ default: idna }, { mixesScripts }] = await Promise.all([import('idn-hostname'), import('./scripts.ts')]);
  try {
    const name = idna.idnHostname(text);
    const unicode = idna.punycode.toUnicode(name);
    if (!unicode.split('.').some(mixesScripts)) return { name, unicode };
    return { fault: 'A part of the domain mixes letters of different scripts, which may look alike' };
  } catch (error) {
    // It throws a RangeError for a part in which nothing is left, such as a soft hyphen alone.
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    const [character] = /U\+[0-9A-F]{4,6}/.exec(error.message) ?? [];
    const fault = faults.get(error.name) ?? malformed;
    return { fault: character === undefined ? fault : `${fault}: ${character}` };
  }
}
