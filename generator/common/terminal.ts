import { isatty } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';

/** Standard output (1) or error (2) if it is a terminal. Node.js would change a pipe that other processes share. */
const terminalOf = (standard: 1 | 2) =>
  isatty(standard) ? (standard === 1 ? process.stdout : process.stderr) : undefined;

/** Creates a function that colours text for standard output or error. It honours NO_COLOR, and colours no pipes. */
export function createPaint(standard: 1 | 2) {
  const stream = terminalOf(standard);
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

/** Breaks the lines of a text that are wider than the terminal on standard output or error, if it is one. */
export const wrapFor = (standard: 1 | 2, text: string): string => wrap(text, terminalOf(standard)?.columns);

/** Writes a line to standard error. */
export const printLine = (line: string): void => void process.stderr.write(`${wrapFor(2, line)}\n`);

/**
 * Breaks lines that are wider than `room`, if any, at spaces. The rest of a line goes below its last column. A command in
 * backticks stays whole, for copying.
 */
export const wrap = (text: string, room?: number): string =>
  room ? text.replaceAll(/.+/g, (line) => (widthOf(line) > room ? wrapLine(line, room) : line)) : text;

const widthOf = (text: string): number => stripVTControlCharacters(text).length;

function wrapLine(line: string, room: number): string {
  const plain = stripVTControlCharacters(line);
  const [columns] = /^.*\S {2,}(?=\S)/.exec(plain.slice(0, Math.max(0, room - 24))) ?? [];
  const indent = columns?.length ?? plain.search(/\S/) + 2;
  let width = 0;
  return line.replaceAll(/\s*(?:`[^`]*`|\S)+/g, (part) => {
    const before = width;
    width += widthOf(part);
    if (before === 0 || width <= room) return part;
    const rest = part.trimStart();
    const margin = Math.max(0, Math.min(indent, room - widthOf(rest)));
    width = margin + widthOf(rest);
    return `\n${' '.repeat(margin)}${rest}`;
  });
}
