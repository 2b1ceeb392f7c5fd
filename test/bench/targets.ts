import { toName, toOurs } from './checkouts.ts';
import { devNames } from './dev.ts';
import { names, toLessCompression } from './generator.ts';
import { crowdedCase } from './server.ts';
import { serverNames } from './servers.ts';
import { startNames } from './start.ts';
import { figuresOf, figureWords, formatTable, median, medianRatio } from './table.ts';
import type { Figure, Section } from './table.ts';

/** The limit for a figure of a row, or for its ratio to another row. */
interface Target {
  readonly row: string;
  readonly figure: Figure;
  readonly of?: string;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** The size of corpus that it applies to; all if left out. */
  readonly size?: 'thousand' | 'ten thousand';
}

/** A target, the measured value, and whether it is reached; both are left out if it was not measured. */
export interface Judgement extends Target {
  readonly value?: number;
  readonly reached?: boolean;
  /** The value of the `before` checkout, if it was measured. */
  readonly before?: number;
}

const of = (one: string, server = serverNames.ours): string => `${one}: ${server}`;
const toPeer = (one: string, peer: string, figure: Figure, atMost: number): Target => ({
  row: of(one),
  figure,
  atMost,
  of: of(one, peer),
});
const toPlain = (row: string, figure: Figure, atMost: number): Target => ({ row, figure, of: names.plain, atMost });
const inSeconds = (row: string, atMost: number): Target => ({
  row,
  figure: 'wallSeconds',
  atMost,
  size: 'ten thousand',
});

/** The targets of this project on any machine: ratios within a run, except for times that people wait. */
const targets: readonly Target[] = [
  toPeer('gzip', serverNames.raw, 'cpuMicroseconds', 1.12),
  { row: of('gzip'), figure: 'requestsPerSecond', of: of('gzip', serverNames.fastify), atLeast: 1 },
  toPeer('304', serverNames.raw, 'cpuMicroseconds', 1.15),
  toPeer(crowdedCase, serverNames.raw, 'p99Milliseconds', 1.05),
  ...['/v1/info', '404', '405', '429', '401'].map((one) => toPeer(one, serverNames.h3, 'cpuMicroseconds', 1.1)),
  { row: startNames.corpus, figure: 'residentMegabytes', of: startNames.small, atMost: 1.4 },
  { row: startNames.read, figure: 'residentMegabytes', of: startNames.small, atMost: 2.5 },
  { row: startNames.changed, figure: 'p99Milliseconds', atMost: 20 },
  { row: startNames.small, figure: 'latencyMilliseconds', of: startNames.raw, atMost: 4 },
  toPlain(toLessCompression(names.cold), 'cpuSeconds', 1.15),
  { row: names.coldTwo, figure: 'wallSeconds', of: names.cold, atMost: 0.65, size: 'ten thousand' },
  inSeconds(names.fresh, 7),
  inSeconds(names.check, 4),
  inSeconds(names.failing, 4),
  inSeconds(names.failingFirst, 4),
  toPlain(names.changed, 'cpuSeconds', 0.05),
  toPlain(names.same, 'cpuSeconds', 0.016),
  { row: devNames.ours, figure: 'latencyMilliseconds', atMost: 150, size: 'thousand' },
  { row: devNames.ours, figure: 'latencyMilliseconds', atMost: 800, size: 'ten thousand' },
  toPlain(names.cold, 'peakMegabytes', 1.2),
];

/** Compares the sections with every target that applies to a corpus of this many articles. */
export function judge(sections: readonly Section[], articles: number): Judgement[] {
  const rows = sections.flatMap((section) => section.rows);
  const find = (name: string, figure: Figure): number[] | undefined =>
    figuresOf(
      rows.find((row) => row.name === name),
      figure,
    );
  const read = ({ figure, of: base }: Target, row: string, toBase: (name: string) => string): number | undefined => {
    const own = find(row, figure);
    if (own === undefined || base === undefined) return own && median(own);
    const other = find(toBase(base), figure);
    return other && medianRatio(own, other);
  };
  const size = articles < 5000 ? 'thousand' : 'ten thousand';
  return targets
    .filter((target) => target.size === undefined || target.size === size)
    .map((target) => {
      const toBefore = (name: string): string => toName({ name: 'before' }, name);
      const value = read(target, target.row, toOurs);
      const before = read(target, toBefore(target.row), toBefore);
      if (value === undefined) return target;
      const reached = value <= (target.atMost ?? Infinity) && value >= (target.atLeast ?? -Infinity);
      return { ...target, value, reached, ...(before === undefined ? {} : { before }) };
    });
}

/** Formats the judgements as a table; rows that were not measured are left out. */
export function formatJudgements(judgements: readonly Judgement[]): string {
  const measured = judgements.filter(({ value }) => value !== undefined);
  const hasBefore = measured.some(({ before }) => before !== undefined);
  const table = formatTable(
    ['targets', 'measured', ...(hasBefore ? ['before'] : []), 'wanted', ''],
    measured.map(({ row, figure, of: base, value, before, atMost, atLeast, reached }) => [
      `${row}: ${figureWords[figure]}${base === undefined ? '' : ` / ${base}`}`,
      value!.toPrecision(3),
      ...(hasBefore ? [before?.toPrecision(3) ?? ''] : []),
      atMost === undefined ? `>= ${atLeast}` : `<= ${atMost}`,
      reached ? 'reached' : 'missed',
    ]),
  );
  const missing = judgements.length - measured.length;
  const notes = ['The targets of the generator are for 10,000 articles: with few articles, the start weighs more.'];
  if (missing > 0) notes.push(`Not measured in this run: ${missing} of ${judgements.length} targets.`);
  return [...(measured.length > 0 ? [table, ''] : []), ...notes].join('\n');
}
