import { toOurs } from './checkouts.ts';

/** The figures that are measured for a row: their names, which contain the units, and the words for them. */
export const figureWords = {
  cpuSeconds: 'CPU',
  wallSeconds: 'wall, s',
  peakMegabytes: 'peak memory',
  cpuMicroseconds: 'CPU',
  requestsPerSecond: 'requests/s',
  p99Milliseconds: 'p99, ms',
  residentMegabytes: 'resident memory',
  latencyMilliseconds: 'ms',
  cpuMilliseconds: 'CPU',
} as const;

/** A figure that is measured for a row. */
export type Figure = keyof typeof figureWords;

/** The figures of one row in one round. */
export type Figures = Readonly<Partial<Record<Figure, number>>>;

/** One thing that is measured, with its figures for each round. */
export interface Row {
  readonly name: string;
  readonly rounds: readonly Figures[];
}

/** The row of a fixed workload: its variation between rounds is the noise of the machine. */
export const noiseName = 'fixed loop (noise)';

/** One figure of a row in all rounds; undefined if it was not measured. */
export function figuresOf(row: Row | undefined, figure: Figure): number[] | undefined {
  const figures = row?.rounds.map((round) => round[figure]);
  return figures?.every((value) => value !== undefined) ? figures : undefined;
}

/** Whether the row of a name is measured. */
export type Choice = (name: string) => boolean;

/** Parses a comma-separated list of texts: rows whose name contains one of them are chosen, ignoring case. */
export function parseChoice(text: string | undefined): Choice {
  const parts = (text ?? '').split(',').map((part) => part.trim().toLowerCase());
  return (name) => parts.some((part) => [name, toOurs(name)].some((one) => one.toLowerCase().includes(part)));
}

/** Measures every item once in each round, one after the other; every second round is in reverse order. */
export async function measureInTurn<Item extends { readonly name: string }>(
  items: readonly Item[],
  rounds: number,
  measureOne: (item: Item, round: number) => Promise<Figures>,
): Promise<Row[]> {
  const measured = new Map(items.map((item) => [item, [] as Figures[]]));
  for (let round = 0; round < rounds; round += 1) {
    for (const item of round % 2 === 0 ? items : items.toReversed()) {
      // One at a time, so that measurements do not affect each other.
      measured.get(item)!.push(await measureOne(item, round));
    }
  }
  return items.map((item) => ({ name: item.name, rounds: measured.get(item)! }));
}

/** The median. */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Half of the range from minimum to maximum, as a fraction of the median. */
export function spread(figures: readonly number[]): number {
  return (Math.max(...figures) - Math.min(...figures)) / 2 / median(figures);
}

/** The median of the ratios of each round, so that a slow round does not count. */
export function medianRatio(figures: readonly number[], base: readonly number[]): number {
  return median(figures.map((figure, round) => figure / base[round]!));
}

/** A column of a table: a figure, or its ratio to that of another row. */
export interface Column {
  readonly head: string;
  readonly figure: Figure;
  readonly digits: number;
  /** Returns the name of the row that a row is compared with; undefined if there is none. */
  readonly base?: (name: string) => string | undefined;
  /** Whether the column shows the spread over the rounds instead of the figure. */
  readonly isSpread?: boolean;
}

/** A table of rows that were measured together. */
export interface Section {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** The row of the fixed workload, if it is not in the table. */
  readonly noise?: Row;
  /** Explanations, one a line; also what was left out, and why. */
  readonly notes: readonly string[];
}

function toValue(section: Section, row: Row, { figure, base, isSpread }: Column): number | undefined {
  const own = figuresOf(row, figure);
  if (own === undefined) return undefined;
  if (isSpread) return spread(own);
  if (base === undefined) return median(own);
  const name = base(row.name);
  const other = figuresOf(
    section.rows.find((candidate) => candidate.name === name),
    figure,
  );
  return other && medianRatio(own, other);
}

/** Formats a section as text for people. */
export function formatSection(section: Section): string {
  const { name, rows, noise } = section;
  // Columns without a value are dropped, such as `before` without --before.
  const columns = section.columns.filter((column) => rows.some((row) => toValue(section, row, column) !== undefined));
  const cell = (row: Row, column: Column): string => {
    const value = toValue(section, row, column);
    if (value === undefined) return '';
    return column.isSpread ? `${(value * 100).toFixed(0)} %` : value.toFixed(column.digits);
  };
  const table = formatTable(
    [name, ...columns.map(({ head }) => head)],
    rows.map((row) => [row.name, ...columns.map((column) => cell(row, column))]),
  );
  const notes = [...(noise ? [formatNoise(noise)] : []), ...section.notes];
  return [table, ...(notes.length > 0 ? ['', ...notes] : [])].join('\n');
}

function formatNoise(row: Row): string {
  const [cpu, wall] = [figuresOf(row, 'cpuSeconds')!, figuresOf(row, 'wallSeconds')!];
  return `${row.name}: ${median(cpu).toFixed(2)} s CPU ± ${(spread(cpu) * 100).toFixed(0)} %, ${median(wall).toFixed(2)} s wall`;
}

/** Formats a text table, with the first column aligned left and the others right. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
