import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Parses a scrape into values by series. */
export function parseSeries(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

/** Returns the series that changed between two scrapes, with the differences. */
export function changesOf(before: string, after: string): Record<string, number> {
  const old = parseSeries(before);
  const changes = [...parseSeries(after)].map(([series, value]) => [series, value - (old.get(series) ?? 0)] as const);
  return Object.fromEntries(changes.filter(([series, change]) => change !== 0 && series.startsWith('hosting_api_')));
}

/** Lists the metric names of a scrape. */
export function metricNames(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!);
}

/** Debian's package of Prometheus and promtool. */
export const prometheusProgram = { name: 'Prometheus', package: 'prometheus', commands: ['prometheus', 'promtool'] };

/** Runs promtool; throws its output if it reports a fault. */
export function promtool(folder: string, args: readonly string[], input = ''): string {
  return execFileSync(join(folder, 'promtool'), args, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });
}
