/** Matches characters that control a terminal, or hide or reorder text, except line breaks and the given characters. */
export function findActing(text: string, allowed = ''): string[] {
  return Array.from(text).filter(
    (character) => !`\n${allowed}`.includes(character) && /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\uFEFF]/u.test(character),
  );
}

/** Removes the colours of the pretty log. Node's own function would also hide the 8-bit CSI. */
export function withoutColours(text: string): string {
  return text.replaceAll(new RegExp(String.raw`\u001B\[\d{1,2}m`, 'g'), '');
}
