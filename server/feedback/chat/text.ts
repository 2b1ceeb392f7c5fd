/** Characters that end or turn a line where text is shown: control characters, bidi overrides and isolates, BOM. */
const unseen = /[\p{Cc}\p{Cs}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]/gu;

/** A text that visitors wrote, in one line and without what is not seen. */
export function toPlainLine(text: string): string {
  return text.replace(/\s+/gu, ' ').replace(unseen, '').trim();
}

/**
 * A text whose special characters are escaped one by one, cut to a number of UTF-16 units: never within an escaped
 * character, nor within a surrogate pair.
 */
export function escapeCut(text: string, limit: number, escape: (character: string) => string): string {
  let escaped = '';
  for (const character of text) {
    const next = escape(character);
    if (escaped.length + next.length > limit - 1) return `${escaped}…`;
    escaped += next;
  }
  return escaped;
}
