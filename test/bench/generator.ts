import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toBefore, toName, toOurs } from './checkouts.ts';
import type { Checkout } from './checkouts.ts';
import { names } from './generator-rows.ts';
import type { Corpus } from './generator-rows.ts';
import { measure } from './measure.ts';
import { measureInTurn, noise } from './rows.ts';
import type { Choice, Figures, Row } from './rows.ts';
import type { Column, Section } from './section.ts';
import { createWays } from './ways.ts';

/** The options of this part of the benchmark. */
export interface GeneratorOptions extends Corpus {
  readonly checkouts: readonly Checkout[];
  readonly rounds: number;
  readonly chosen: Choice;
  readonly report: (line: string) => void;
}

const toPlain = (): string => names.plain;
const toOneThread = (name: string): string | undefined =>
  toOurs(name) === names.coldTwo ? name.replace(', two threads', '') : undefined;
const columns: readonly Column[] = [
  { head: 'CPU s', figure: 'cpuSeconds', digits: 2 },
  { head: '±', figure: 'cpuSeconds', digits: 0, isSpread: true },
  { head: 'wall s', figure: 'wallSeconds', digits: 2 },
  { head: 'peak MB', figure: 'peakMegabytes', digits: 0 },
  { head: 'CPU/plain', figure: 'cpuSeconds', digits: 3, base: toPlain },
  { head: 'wall/plain', figure: 'wallSeconds', digits: 3, base: toPlain },
  { head: 'peak/plain', figure: 'peakMegabytes', digits: 2, base: toPlain },
  { head: 'wall/one thread', figure: 'wallSeconds', digits: 2, base: toOneThread },
  { head: 'CPU/before', figure: 'cpuSeconds', digits: 2, base: toBefore },
  { head: 'wall/before', figure: 'wallSeconds', digits: 2, base: toBefore },
  { head: 'peak/before', figure: 'peakMegabytes', digits: 2, base: toBefore },
];

/**
 * Compiles the corpus in every way in turn. Throws if a way fails, or if a peer did not render every article: its time
 * would mean nothing.
 */
export async function runGenerator(options: GeneratorOptions): Promise<Section> {
  const { rounds, articles, checkouts, chosen, report } = options;
  const { ways, notes } = createWays(options, checkouts);
  const needed = new Set<string>([noise, names.plain]);
  if (chosen(names.coldTwo)) needed.add(names.cold);
  if (chosen(toLessCompression(names.cold))) needed.add(names.cold).add(names.compression);
  const selected = ways.filter(({ name }) => needed.has(toOurs(name)) || chosen(toOurs(name)) || chosen(name));
  const rows = await measureInTurn(selected, rounds, async ({ name, prepare, command, peerOutput, failure }, round) => {
    report(`generator, round ${round + 1} of ${rounds}: ${name}`);
    prepare?.(round);
    const cost = await measure(command, failure);
    if (peerOutput !== undefined) checkOutput(name, peerOutput, articles);
    return cost;
  });
  const computed = checkouts.flatMap((checkout) => lessCompression(checkout, rows));
  return { name: 'generator', columns, rows: [...rows, ...computed], notes };
}

/** The name of the row that {@link lessCompression} computes. */
export const toLessCompression = (name: string): string => `${name}, less compression (computed)`;

/** The cost of a cold build without compression, since no peer compresses. Computed in each round and marked so. */
function lessCompression(checkout: Checkout, rows: readonly Row[]): Row[] {
  const find = (name: string): Row | undefined => rows.find((row) => row.name === toName(checkout, name));
  const [cold, compression] = [find(names.cold), find(names.compression)];
  if (!cold || !compression) return [];
  const cost = (from: Row, round: number): number => from.rounds[round]!.cpuSeconds!;
  const toRound = (_: Figures, round: number): Figures => ({
    cpuSeconds: cost(cold, round) - cost(compression, round),
  });
  return [{ name: toLessCompression(cold.name), rounds: cold.rounds.map(toRound) }];
}

function checkOutput(name: string, output: string, articles: number): void {
  const made = globSync('**/*.json', { cwd: output })
    .map((file) => readFileSync(join(output, file), 'utf8').split(/"html":\s?"/).length - 1)
    .reduce((sum, count) => sum + count, 0);
  if (made < articles) throw new Error(`${name} made ${made} of ${articles} articles`);
}
