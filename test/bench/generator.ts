import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWays, names } from './generator-rows.ts';
import type { Corpus } from './generator-rows.ts';
import { measure } from './measure.ts';
import { measureInTurn, noise } from './rows.ts';
import type { Choice, Figures, Row } from './rows.ts';
import type { Column, Section } from './section.ts';

/** What is measured, and how often. */
export interface GeneratorOptions extends Corpus {
  readonly rounds: number;
  readonly chosen: Choice;
  readonly say: (line: string) => void;
}

const toPlain = (): string => names.plain;
const columns: readonly Column[] = [
  { head: 'CPU s', figure: 'cpuSeconds', digits: 2 },
  { head: '±', figure: 'cpuSeconds', digits: 0, isSpread: true },
  { head: 'wall s', figure: 'wallSeconds', digits: 2 },
  { head: 'peak MB', figure: 'peakMegabytes', digits: 0 },
  { head: 'CPU/plain', figure: 'cpuSeconds', digits: 3, base: toPlain },
  { head: 'wall/plain', figure: 'wallSeconds', digits: 3, base: toPlain },
  { head: 'peak/plain', figure: 'peakMegabytes', digits: 2, base: toPlain },
  { head: 'CPU/floor', figure: 'cpuSeconds', digits: 1, base: () => names.floor },
];

/**
 * Compiles the corpus in every way in turn. Throws where a way fails, or where a peer did not make every article: its
 * time would say nothing.
 */
export async function runGenerator(options: GeneratorOptions): Promise<Section> {
  const { rounds, articles, chosen, say } = options;
  const { ways, notes } = createWays(options);
  const computed = [names.cold].filter((name) => chosen(toLessCompression(name)));
  const needed = [noise, names.floor, names.plain, ...computed, ...(computed.length > 0 ? [names.compression] : [])];
  const taken = ways.filter(({ name }) => needed.some((other) => other === name) || chosen(name));
  const rows = await measureInTurn(taken, rounds, async ({ name, prepare, command, peerOutput }, round) => {
    say(`generator, round ${round + 1} of ${rounds}: ${name}`);
    prepare?.(round);
    const cost = await measure(command);
    if (peerOutput !== undefined) checkOutput(name, peerOutput, articles);
    return cost;
  });
  return { name: 'generator', columns, rows: rows.flatMap((row) => [row, ...lessCompression(row, rows)]), notes };
}

/** How the row is called that {@link lessCompression} computes. */
export const toLessCompression = (name: string): string => `${name}, less compression (computed)`;

/** What a cold build costs without compressing, which no peer does: computed in each round, and marked so. */
function lessCompression(row: Row, rows: readonly Row[]): Row[] {
  const compression = rows.find(({ name }) => name === names.compression);
  if (!compression || row.name !== names.cold) return [];
  const cost = (from: Row, round: number): number => from.rounds[round]!.cpuSeconds!;
  const toRound = (_: Figures, round: number): Figures => ({ cpuSeconds: cost(row, round) - cost(compression, round) });
  return [{ name: toLessCompression(row.name), rounds: row.rounds.map(toRound) }];
}

function checkOutput(name: string, output: string, articles: number): void {
  const made = globSync('**/*.json', { cwd: output })
    .map((file) => readFileSync(join(output, file), 'utf8').split(/"html":\s?"/).length - 1)
    .reduce((sum, count) => sum + count, 0);
  if (made < articles) throw new Error(`${name} made ${made} of ${articles} articles`);
}
