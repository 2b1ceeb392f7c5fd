import { isatty } from 'node:tty';
import { styleText } from 'node:util';

/** Creates a function that colours text for standard output (1) or error (2). It honours NO_COLOR, and colours no pipes. */
export function createPaint(standard: 1 | 2) {
  // Node.js would change a pipe that other processes share (openOutput in server/log.ts).
  const stream = isatty(standard) ? (standard === 1 ? process.stdout : process.stderr) : undefined;
  return (format: Parameters<typeof styleText>[0], text: string): string =>
    stream ? styleText(format, text, { stream }) : text;
}

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
