/** Characters that break or reorder displayed text: control characters, bidi overrides and isolates, BOM. */
const invisible = /[\p{Cc}\p{Cs}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]/gu;

/** A visitor's text as one line without invisible characters. */
export function toPlainLine(text: string): string {
  return text.replace(/\s+/gu, ' ').replace(invisible, '').trim();
}

/**
 * Escapes a text and truncates it to a number of UTF-16 units, but never inside an escape sequence or a surrogate pair.
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
