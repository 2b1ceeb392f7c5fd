import { stripVTControlCharacters } from 'node:util';

/** Writes a line of the result. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a line for the reader, which is not part of the result. */
export function explain(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Writes rows in columns under a heading. */
export function printTable(heading: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = heading.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  for (const row of [heading, ...rows]) {
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    );
  }
}

/** Text without colours where it goes to a file or a pipe. */
export function forOutput(text: string): string {
  return process.stdout.isTTY ? text : stripVTControlCharacters(text);
}
