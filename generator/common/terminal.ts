/** Escapes control and bidirectional characters, which could rewrite a terminal or CI log. */
export function escapeControls(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Escapes text like {@link escapeControls}, but keeps line breaks. The escapes are valid in JSON. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}
