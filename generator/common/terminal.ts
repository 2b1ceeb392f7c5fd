/**
 * Text from outside, safe to print: control characters, which could rewrite what a terminal or a CI log shows, and
 * characters that turn the reading direction are escaped.
 */
export function escapeControls(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
