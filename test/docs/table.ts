/** A table with columns of equal width, as the formatter writes it. */
export function toTable(...rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const toLine = (row: readonly string[], fill = ' '): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!, fill)).join(' | ')} |\n`;
  const [head = [], ...body] = rows;
  return [
    toLine(head),
    toLine(
      widths.map(() => ''),
      '-',
    ),
    ...body.map((row) => toLine(row)),
  ].join('');
}
