import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { measure } from './measure.ts';
import type { Command, Cost } from './measure.ts';
import { formatTable, median, medianRatio, spread } from './statistics.ts';

/** One way to compile the corpus. */
interface Row {
  readonly name: string;
  readonly command: Command;
  /** What is done before each run, and not measured. */
  readonly prepare?: (round: number) => void;
  /** Where a peer writes: what it made is counted. */
  readonly peerOutput?: string;
}

/** What a row cost, in every round. */
export interface Result {
  readonly name: string;
  readonly costs: readonly Cost[];
}

const folder = import.meta.dirname;
const node = process.execPath;
const main = resolve(folder, '../../generator/main.ts');
/** Work of always the same size: what it costs more in one round than in another is the noise of the machine. */
export const fixedLoop: Command = {
  program: node,
  args: ['-e', "crypto.pbkdf2Sync('noise', 'salt', 4_000_000, 32, 'sha256')"],
};
const names = { plain: 'plain unified, one thread', floor: 'floor: read, JSON, write', noise: 'fixed loop (noise)' };

/** Where the corpus is, and how it is built. */
export interface GeneratorOptions {
  /** A folder for everything, with `content` and `catalog`. */
  readonly work: string;
  readonly articles: number;
  readonly rounds: number;
  readonly lenient: boolean;
  readonly say: (line: string) => void;
}

/** Measures every row once in each round, in turn; the direction changes from round to round. */
export async function runGenerator(options: GeneratorOptions): Promise<Result[]> {
  const { work, rounds, say } = options;
  const rows = createRows(options);
  const costs = new Map(rows.map((row) => [row, [] as Cost[]]));
  for (let round = 0; round < rounds; round += 1) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      say(`generator, round ${round + 1} of ${rounds}: ${row.name}`);
      row.prepare?.(round);
      // One at a time: that is what is measured.
      // oxlint-disable-next-line no-await-in-loop
      costs.get(row)!.push(await measure({ cwd: work, ...row.command }));
      if (row.peerOutput !== undefined) checkOutput(row.name, row.peerOutput, options.articles);
    }
  }
  return rows.map((row) => ({ name: row.name, costs: costs.get(row)! }));
}

function createRows({ work, lenient }: GeneratorOptions): Row[] {
  const at = (name: string): string => join(work, name);
  const content = at('content');
  const ours = (from: string, out: string): Command => {
    const sources = ['--content', from, '--catalog', at('catalog'), '--out', out];
    return { program: node, args: [main, 'build', ...sources, ...(lenient ? ['--lenient'] : [])] };
  };
  const peer = (name: string, out: string, command: Command): Row => {
    const prepare = (): void => rmSync(out, { recursive: true, force: true });
    return { name, command, prepare, peerOutput: out };
  };
  const script = (file: string, ...args: string[]): Command => ({
    program: node,
    args: [join(folder, 'peers', file), ...args],
  });

  const first = ours(content, at('same'));
  execFileSync(first.program, first.args, { cwd: work, stdio: ['ignore', 'ignore', 'pipe'] });
  for (const name of ['warm', 'changed']) cpSync(at('same'), at(name), { recursive: true, verbatimSymlinks: true });
  cpSync(content, at('edited'), { recursive: true });
  const [edited] = globSync('knowledgebase/*/*.md', { cwd: at('edited') }).toSorted();

  const rows: Row[] = [
    { name: names.noise, command: fixedLoop },
    peer(names.floor, at('floor'), script('floor.ts', content, at('floor'))),
    peer(names.plain, at('plain'), script('plain.ts', content, at('plain'))),
    {
      name: 'ours, cold',
      command: ours(content, at('cold')),
      prepare: () => rmSync(at('cold'), { recursive: true, force: true }),
    },
    {
      name: 'compression alone, of what ours writes',
      command: script('compress.ts', at('same/current'), at('compressed')),
    },
    {
      name: 'ours, everything in the render cache',
      command: ours(content, at('warm')),
      prepare: () => ['releases', 'current'].forEach((name) => rmSync(at(`warm/${name}`), { recursive: true })),
    },
    { name: 'ours, nothing changed', command: ours(content, at('same')) },
    {
      name: 'ours, one article changed',
      command: ours(at('edited'), at('changed')),
      prepare(round) {
        execFileSync(node, [main, 'releases', 'prune', '--keep', '1', '--out', at('changed')]);
        appendFileSync(join(at('edited'), edited!), `\nChanged in round ${round}.\n`);
      },
    },
    peer('Eleventy', at('eleventy'), {
      program: node,
      args: [
        join(folder, 'node_modules/@11ty/eleventy/cmd.cjs'),
        '--input=content',
        '--output=eleventy',
        `--config=${join(folder, 'peers/eleventy.config.js')}`,
      ],
    }),
    peer('Velite', at('velite'), {
      program: node,
      args: [
        join(folder, 'node_modules/velite/bin/velite.js'),
        'build',
        '--config',
        join(folder, 'peers/velite.config.ts'),
      ],
      env: { BENCH_CONTENT: content, BENCH_OUT: at('velite') },
    }),
  ];
  if (hasHugo()) {
    cpSync(join(folder, 'peers/hugo'), at('hugo-site'), { recursive: true });
    const args = ['--quiet', '--source', at('hugo-site'), '--contentDir', content, '--destination', at('hugo')];
    rows.push(peer('Hugo', at('hugo'), { program: 'hugo', args }));
  }
  return rows;
}

function hasHugo(): boolean {
  try {
    execFileSync('hugo', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Throws where a peer did not make the HTML of every article: its time would say nothing. */
function checkOutput(name: string, output: string, articles: number): void {
  const made = globSync('**/*.json', { cwd: output })
    .map((file) => readFileSync(join(output, file), 'utf8').split(/"html":\s?"/).length - 1)
    .reduce((sum, count) => sum + count, 0);
  if (made < articles) throw new Error(`${name} made ${made} of ${articles} articles`);
}

/** The figures of all rows, as medians and ratios. */
export function summarizeGenerator(results: readonly Result[]) {
  const figures = (name: string, figure: keyof Cost): number[] =>
    results.find((result) => result.name === name)!.costs.map((cost) => cost[figure]);
  return results.map(({ name }) => ({
    name,
    cpuSeconds: median(figures(name, 'cpu')),
    cpuSpread: spread(figures(name, 'cpu')),
    wallSeconds: median(figures(name, 'wall')),
    peakMegabytes: median(figures(name, 'peak')),
    cpuToPlain: medianRatio(figures(name, 'cpu'), figures(names.plain, 'cpu')),
    wallToPlain: medianRatio(figures(name, 'wall'), figures(names.plain, 'wall')),
    peakToPlain: medianRatio(figures(name, 'peak'), figures(names.plain, 'peak')),
    cpuToFloor: medianRatio(figures(name, 'cpu'), figures(names.floor, 'cpu')),
  }));
}

/** The summary as people read it. */
export function printGenerator(rows: ReturnType<typeof summarizeGenerator>): string {
  const head = ['generator', 'CPU s', '±', 'wall s', 'peak MB', 'CPU/plain', 'wall/plain', 'peak/plain', 'CPU/floor'];
  return formatTable(
    head,
    rows.map((row) => [
      row.name,
      row.cpuSeconds.toFixed(2),
      `${(row.cpuSpread * 100).toFixed(0)} %`,
      row.wallSeconds.toFixed(2),
      row.peakMegabytes.toFixed(0),
      row.cpuToPlain.toFixed(3),
      row.wallToPlain.toFixed(3),
      row.peakToPlain.toFixed(2),
      row.cpuToFloor.toFixed(1),
    ]),
  );
}
