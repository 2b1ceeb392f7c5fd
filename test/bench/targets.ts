import { toBefore } from './bench.ts';
import { figures, formatTable, readFigure } from './table.ts';
import type { Figure, Section } from './table.ts';

/** Limit for a figure of a row, or for its ratio to another row. */
interface Target {
  readonly row: string;
  readonly figure: Figure;
  readonly of?: string;
  readonly atMost: number;
  /** Compares the least figures of all rounds instead of medians: noise only adds. */
  readonly byLeast?: true;
  /** Corpus size to which the limit applies. Default: any size. */
  readonly size?: 'thousand' | 'ten thousand';
}

const [small, large] = ['thousand', 'ten thousand'] as const;

/** No figure may grow by more than a twentieth over the checkout of `--before`. */
const toEarlier = (row: string, figure: Figure): Target => {
  return { row, figure, of: toBefore(row), atMost: 1.05, byLeast: true };
};

const requests = ['gzip', '304', '/v1/info', '404', '405', '429', '401'].map((name) => `${name}: ours`);
const builds = [
  'ours, cold',
  'ours, one article changed',
  'ours, nothing changed',
  'ours, check',
  'ours, fresh checkout with renders.sqlite',
];

/** This project's targets on any machine: ratios within a run, and absolute times where people wait. */
const targets: readonly Target[] = [
  ...requests.map((row) => toEarlier(row, 'cpuMicroseconds')),
  toEarlier('gzip, 1000 connections: ours', 'p99Milliseconds'),
  ...builds.map((row) => toEarlier(row, 'cpuSeconds')),
  toEarlier('dev: ours, article and lists', 'latencyMilliseconds'),
  { row: 'gzip: ours', figure: 'cpuMicroseconds', of: 'gzip: raw node:http', atMost: 1.15, byLeast: true },
  { row: '304: ours', figure: 'cpuMicroseconds', of: '304: raw node:http', atMost: 1.15, byLeast: true },
  { row: 'start: ours, small release', figure: 'latencyMilliseconds', of: 'start: raw node:http', atMost: 6 },
  { row: 'start: ours, corpus', figure: 'residentMegabytes', of: 'start: ours, small release', atMost: 1.4 },
  {
    row: 'every article read: ours, corpus',
    figure: 'residentMegabytes',
    of: 'start: ours, small release',
    atMost: 2.5,
  },
  { row: 'a new release is loaded: ours', figure: 'p99Milliseconds', atMost: 20 },
  { row: 'ours, check', figure: 'wallSeconds', atMost: 4, size: large },
  { row: 'dev: ours, article and lists', figure: 'latencyMilliseconds', atMost: 300, size: small },
];

/** Compares measurements with the targets for a corpus of this size, as a readable table. */
export function formatTargets(sections: readonly Section[], articles: number): string {
  const rows = sections.flatMap((section) => section.rows);
  const size = articles < 5000 ? small : large;
  const applying = targets.filter((target) => (target.size ?? size) === size);
  const lines = applying.flatMap(({ row, figure, of, atMost, byLeast }) => {
    const value = readFigure(rows, row, figure, of, byLeast);
    if (value === undefined) return [];
    return [
      [
        `${row}: ${figures[figure].words}${of === undefined ? '' : ` / ${of}`}${byLeast ? ', by the least' : ''}`,
        value.toPrecision(3),
        `<= ${atMost}`,
        value <= atMost ? 'reached' : 'missed',
      ],
    ];
  });
  const missing = applying.length - lines.length;
  return [
    formatTable(['targets', 'measured', 'wanted', ''], lines),
    ...(missing > 0 ? ['', `Not measured in this run: ${missing} of ${applying.length} targets.`] : []),
  ].join('\n');
}
