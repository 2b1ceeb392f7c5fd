import { report } from './bench.ts';
import type { Bench } from './bench.ts';
import { measure } from './processes.ts';

/** Measured quantities: their names in the table of targets, and the digits to show. */
export const figures = {
  cpuSeconds: { words: 'CPU', digits: 2 },
  wallSeconds: { words: 'wall, s', digits: 2 },
  peakMegabytes: { words: 'peak memory', digits: 0 },
  cpuMicroseconds: { words: 'CPU', digits: 1 },
  requestsPerSecond: { words: 'requests/s', digits: 0 },
  p99Milliseconds: { words: 'p99, ms', digits: 1 },
  residentMegabytes: { words: 'resident memory', digits: 0 },
  latencyMilliseconds: { words: 'ms', digits: 0 },
  cpuMilliseconds: { words: 'CPU', digits: 0 },
} as const;

/** Name of a figure, including the unit. */
export type Figure = keyof typeof figures;

/** Figures of one row in one round. */
export type Figures = Readonly<Partial<Record<Figure, number>>>;

/** A measured row with its figures for each round. */
export interface Row {
  readonly name: string;
  readonly rounds: readonly Figures[];
}

/**
 * A column with a figure, or with the ratio to the figure of a reference row, chosen by row name. A row has no ratio to
 * itself.
 */
export type Column = readonly [head: string, figure: Figure, toBase?: (row: string) => string];

/** A table of rows measured together. */
export interface Section {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** Notes, one per line, including omitted rows with the reason. */
  readonly notes: readonly string[];
}

/** A source of a row: `run` measures once. */
export interface Item {
  readonly name: string;
  readonly run: (round: number) => Promise<Figures>;
}

/** A fixed workload, whose variation between rounds is the noise of the machine. */
export const noise: Item = {
  name: 'fixed loop (noise)',
  run: () => measure({ args: ['-e', "crypto.pbkdf2Sync('noise', 'salt', 4_000_000, 32, 'sha256')"] }),
};

/** Selects the items of `--rows`, their reference rows, and the noise. */
export function choose<One extends { readonly name: string }>(
  items: readonly One[],
  columns: readonly Column[],
  isChosen: Bench['isChosen'],
): One[] {
  const chosen = items.map(({ name }) => name).filter(isChosen);
  const bases = chosen.flatMap((name) => columns.map(([, , toBase]) => toBase?.(name)));
  return items.filter(({ name }) => [noise.name, ...chosen, ...bases].includes(name));
}

/** Measures every item once per round, sequentially; every second round runs in reverse order. */
export async function measureInTurn(section: string, count: number, items: readonly Item[]): Promise<Row[]> {
  const rows = items.map((item) => ({ ...item, rounds: [] as Figures[] }));
  for (let round = 0; round < count; round += 1) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      report(`${section}, round ${round + 1} of ${count}: ${row.name}`);
      // Sequential, so measurements do not affect each other.
      row.rounds.push(await row.run(round));
    }
  }
  return rows;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Returns a figure of a row in all rounds; undefined if not measured. */
function valuesOf(rows: readonly Row[], name: string, figure: Figure): number[] | undefined {
  const values = rows.find((row) => row.name === name)?.rounds.map((round) => round[figure]);
  return values?.every((value) => value !== undefined) ? values : undefined;
}

/**
 * Returns the median of a figure, or of its ratios to another row per round, so a slow round does not matter; with
 * `byLeast` the ratio of the least figures. Undefined if not measured.
 */
export function readFigure(
  rows: readonly Row[],
  name: string,
  figure: Figure,
  base?: string,
  byLeast = false,
): number | undefined {
  const own = valuesOf(rows, name, figure);
  if (own === undefined || base === undefined) return own && median(own);
  const other = valuesOf(rows, base, figure);
  if (other && byLeast) return Math.min(...own) / Math.min(...other);
  return other && median(own.map((value, round) => value / other[round]!));
}

/** Half the range of a figure, in percent of the median; empty if not measured. */
export function formatSpread(rows: readonly Row[], name: string, figure: Figure): string {
  const values = valuesOf(rows, name, figure);
  if (values === undefined) return '';
  const half = (Math.max(...values) - Math.min(...values)) / 2;
  return `${((half / median(values)) * 100).toFixed(0)} %`;
}

/** Formats a section as text; the first figure has its spread next to it. */
export function formatSection({ name: title, columns, rows, notes }: Section): string {
  const format = (name: string, [, figure, toBase]: Column): string => {
    const base = toBase?.(name);
    const value = base === name ? undefined : readFigure(rows, name, figure, base);
    if (value === undefined) return '';
    return base === undefined ? value.toFixed(figures[figure].digits) : value.toPrecision(3);
  };
  const [first, ...others] = columns.map(([head]) => head);
  const lines = rows.map(({ name }) => {
    const [value, ...more] = columns.map((column) => format(name, column));
    return [name, value!, formatSpread(rows, name, columns[0]![1]), ...more];
  });
  return [formatTable([title, first!, '±', ...others], lines), '', ...notes].join('\n');
}

/** Formats a text table without its empty columns; the first column is aligned left, the others right. */
export function formatTable(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const columns = head
    .map((title, index) => ({ title, cells: lines.map((line) => line[index]!) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''))
    .map(({ title, cells }, index) => {
      const width = Math.max(...[title, ...cells].map(({ length }) => length));
      const rule = index === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`;
      return [title, rule, ...cells].map((cell) => (index === 0 ? cell.padEnd(width) : cell.padStart(width)));
    });
  const rows = columns[0]?.map((_, line) => `| ${columns.map((cells) => cells[line]).join(' | ')} |`) ?? [];
  return rows.join('\n');
}
