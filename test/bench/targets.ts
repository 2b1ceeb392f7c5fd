import { toBefore } from './bench.ts';
import { plain } from './generator.ts';
import { figures, formatTable, readFigure } from './table.ts';
import type { Figure, Section } from './table.ts';

/** Limit for a figure of a row, or for its ratio to another row. */
interface Target {
  readonly row: string;
  readonly figure: Figure;
  readonly of?: string;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** Corpus size to which the limit applies. Default: any size. */
  readonly size?: 'thousand' | 'ten thousand';
}

const toH3 = (name: string): Target => ({
  row: `${name}: ours`,
  figure: 'cpuMicroseconds',
  of: `${name}: h3`,
  atMost: 1.1,
});
const [small, large] = ['thousand', 'ten thousand'] as const;

/** This project's targets on any machine: ratios within a run, and absolute times where people wait. */
const targets: readonly Target[] = [
  { row: 'gzip: ours', figure: 'cpuMicroseconds', of: 'gzip: raw node:http', atMost: 1.12 },
  { row: 'gzip: ours', figure: 'requestsPerSecond', of: 'gzip: fastify', atLeast: 1 },
  { row: '304: ours', figure: 'cpuMicroseconds', of: '304: raw node:http', atMost: 1.15 },
  {
    row: 'gzip, 1000 connections: ours',
    figure: 'p99Milliseconds',
    of: 'gzip, 1000 connections: raw node:http',
    atMost: 1.05,
  },
  ...['/v1/info', '404', '405', '429', '401'].map(toH3),
  { row: 'start: ours, corpus', figure: 'residentMegabytes', of: 'start: ours, small release', atMost: 1.4 },
  {
    row: 'every article read: ours, corpus',
    figure: 'residentMegabytes',
    of: 'start: ours, small release',
    atMost: 2.5,
  },
  { row: 'a new release is loaded: ours', figure: 'p99Milliseconds', atMost: 20 },
  { row: 'start: ours, small release', figure: 'latencyMilliseconds', of: 'start: raw node:http', atMost: 4 },
  { row: 'ours, cold, less compression (computed)', figure: 'cpuSeconds', of: plain, atMost: 1.15 },
  { row: 'ours, cold, two threads', figure: 'wallSeconds', of: 'ours, cold', atMost: 0.65, size: large },
  { row: 'ours, fresh checkout with renders.sqlite', figure: 'wallSeconds', atMost: 7, size: large },
  { row: 'ours, check', figure: 'wallSeconds', atMost: 4, size: large },
  { row: 'ours, failing build, a release before', figure: 'wallSeconds', atMost: 4, size: large },
  { row: 'ours, failing build, no release before', figure: 'wallSeconds', atMost: 4, size: large },
  { row: 'ours, one article changed', figure: 'cpuSeconds', of: plain, atMost: 0.05 },
  { row: 'ours, nothing changed', figure: 'cpuSeconds', of: plain, atMost: 0.016 },
  { row: 'dev: ours, article and lists', figure: 'latencyMilliseconds', atMost: 150, size: small },
  { row: 'dev: ours, article and lists', figure: 'latencyMilliseconds', atMost: 800, size: large },
  { row: 'ours, cold', figure: 'peakMegabytes', of: plain, atMost: 1.2 },
];

/** Compares measurements with the targets for a corpus of this size, as a readable table. */
export function formatTargets(sections: readonly Section[], articles: number): string {
  const rows = sections.flatMap((section) => section.rows);
  const size = articles < 5000 ? small : large;
  const applying = targets.filter((target) => (target.size ?? size) === size);
  const lines = applying.flatMap(({ row, figure, of, atMost = Infinity, atLeast }) => {
    const value = readFigure(rows, row, figure, of);
    if (value === undefined) return [];
    const before = readFigure(rows, toBefore(row), figure, of && toBefore(of));
    const isReached = atLeast === undefined ? value <= atMost : value >= atLeast;
    return [
      [
        `${row}: ${figures[figure].words}${of === undefined ? '' : ` / ${of}`}`,
        value.toPrecision(3),
        before?.toPrecision(3) ?? '',
        atLeast === undefined ? `<= ${atMost}` : `>= ${atLeast}`,
        isReached ? 'reached' : 'missed',
      ],
    ];
  });
  const missing = applying.length - lines.length;
  return [
    formatTable(['targets', 'measured', 'before', 'wanted', ''], lines),
    '',
    'The targets of the generator are for 10,000 articles: with few articles, the start weighs more.',
    ...(missing > 0 ? [`Not measured in this run: ${missing} of ${applying.length} targets.`] : []),
  ].join('\n');
}
