import { toPrintable } from './text.ts';

/** Formats rows as columns under a heading. */
export function formatTable(heading: readonly string[], cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(toPrintable));
  const widths = heading.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const lines = [heading, ...rows].map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}
