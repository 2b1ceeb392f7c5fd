import { devNames } from './dev.ts';
import { names } from './generator-rows.ts';
import { toLessCompression } from './generator.ts';
import { figuresOf } from './rows.ts';
import type { Figure } from './rows.ts';
import { formatTable } from './section.ts';
import type { Section } from './section.ts';
import { crowdedCase } from './server.ts';
import { serverNames } from './servers.ts';
import { startNames } from './start.ts';
import { median, medianRatio } from './statistics.ts';

/** What a figure of a row, or its ratio to that of another row, has to be. */
interface Target {
  readonly row: string;
  readonly figure: Figure;
  readonly of?: string;
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** A target, what was measured, and whether that is enough; both are left out where it was not measured. */
export interface Judgement extends Target {
  readonly value?: number;
  readonly reached?: boolean;
}

const of = (one: string, server = serverNames.ours): string => `${one}: ${server}`;
const toRaw = (one: string, figure: Figure, atMost: number): Target => ({
  row: of(one),
  figure,
  of: of(one, serverNames.raw),
  atMost,
});
const toPlain = (row: string, figure: Figure, atMost: number): Target => ({ row, figure, of: names.plain, atMost });
const toFastify = (one: string): Target => ({
  row: of(one),
  figure: 'requestsPerSecond',
  of: of(one, serverNames.fastify),
  atLeast: 1.05,
});

/** What this project wants to be on any machine: ratios within a run, but for the time an editor waits. */
const targets: readonly Target[] = [
  toPlain(names.same, 'cpuSeconds', 0.01),
  toPlain(names.changed, 'cpuSeconds', 0.01),
  { row: devNames.ours, figure: 'latencyMilliseconds', atMost: 60 },
  { row: devNames.ours, figure: 'latencyMilliseconds', of: devNames.velite, atMost: 0.35 },
  { row: devNames.ours, figure: 'latencyMilliseconds', of: devNames.eleventy, atMost: 0.2 },
  toPlain(toLessCompression(names.cold), 'cpuSeconds', 1),
  toPlain(names.coldTwo, 'wallSeconds', 0.7),
  toPlain(names.cold, 'peakMegabytes', 1.15),
  toPlain(names.coldTwo, 'peakMegabytes', 1.7),
  toRaw('article', 'cpuMicroseconds', 1.08),
  toRaw('gzip', 'cpuMicroseconds', 1.08),
  toFastify('article'),
  toFastify('gzip'),
  toRaw('304', 'cpuMicroseconds', 1.1),
  toRaw('/v1/info', 'cpuMicroseconds', 1.35),
  ...['404', '405', '429', '401'].map((one) => toRaw(one, 'cpuMicroseconds', 1.5)),
  toRaw(crowdedCase, 'p99Milliseconds', 1),
  { row: startNames.corpus, figure: 'residentMegabytes', of: startNames.small, atMost: 1.1 },
  { row: startNames.read, figure: 'residentMegabytes', of: startNames.small, atMost: 2 },
  { row: startNames.small, figure: 'latencyMilliseconds', of: startNames.raw, atMost: 2 },
];

const words: Readonly<Record<Figure, string>> = {
  cpuSeconds: 'CPU',
  wallSeconds: 'wall',
  peakMegabytes: 'peak memory',
  cpuMicroseconds: 'CPU',
  requestsPerSecond: 'requests/s',
  p99Milliseconds: 'p99',
  residentMegabytes: 'resident memory',
  latencyMilliseconds: 'ms',
  cpuMilliseconds: 'CPU',
};

/** Holds what was measured against every target. */
export function judge(sections: readonly Section[]): Judgement[] {
  const rows = sections.flatMap((section) => section.rows);
  const find = (name: string, figure: Figure): number[] | undefined =>
    figuresOf(
      rows.find((row) => row.name === name),
      figure,
    );
  return targets.map((target) => {
    const own = find(target.row, target.figure);
    const base = target.of === undefined ? undefined : find(target.of, target.figure);
    if (own === undefined || (target.of !== undefined && base === undefined)) return target;
    const value = base ? medianRatio(own, base) : median(own);
    const reached = value <= (target.atMost ?? Infinity) && value >= (target.atLeast ?? -Infinity);
    return { ...target, value, reached };
  });
}

/** The judgements as people read them; those on rows that were not measured are left out. */
export function formatJudgements(judgements: readonly Judgement[]): string {
  const measured = judgements.filter(({ value }) => value !== undefined);
  const table = formatTable(
    ['targets', 'measured', 'wanted', ''],
    measured.map(({ row, figure, of: base, value, atMost, atLeast, reached }) => [
      `${row}: ${words[figure]}${base === undefined ? '' : ` / ${base}`}`,
      value!.toPrecision(3),
      atMost === undefined ? `>= ${atLeast}` : `<= ${atMost}`,
      reached ? 'reached' : 'missed',
    ]),
  );
  const missing = judgements.length - measured.length;
  const notes = ["The generator's are meant for 10,000 articles: with few, what it takes to start weighs more."];
  if (missing > 0) notes.push(`Not measured in this run: ${missing} of ${judgements.length} targets.`);
  return [...(measured.length > 0 ? [table, ''] : []), ...notes].join('\n');
}
