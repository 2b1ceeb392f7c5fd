import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  buildRelease,
  copyFolder,
  fixedLoop,
  isInstalled,
  node,
  toBefore,
  toEleventy,
  toName,
  toOurs,
  toSources,
} from './checkouts.ts';
import type { BenchOptions, Checkout, Corpus } from './checkouts.ts';
import { measure } from './processes.ts';
import type { Command } from './processes.ts';
import { measureInTurn, noiseName } from './table.ts';
import type { Column, Figures, Row, Section } from './table.ts';

/** The names of the rows that others are compared with or computed from, or that have a target. */
export const names = {
  plain: 'plain unified, one thread',
  compression: 'compression alone, of what ours writes',
  cold: 'ours, cold',
  coldTwo: 'ours, cold, two threads',
  fresh: 'ours, fresh checkout with renders.sqlite',
  check: 'ours, check',
  failing: 'ours, failing build, a release before',
  failingFirst: 'ours, failing build, no release before',
  same: 'ours, nothing changed',
  changed: 'ours, one article changed',
  eleventy: 'Eleventy',
  velite: 'Velite',
  hugo: 'Hugo',
} as const;

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
export async function runGenerator(options: BenchOptions): Promise<Section> {
  const { rounds, articles, checkouts, chosen, report } = options;
  const { ways, notes } = createWays(options, checkouts);
  const needed = new Set<string>([noiseName, names.plain]);
  if (chosen(names.coldTwo)) needed.add(names.cold);
  if (chosen(toLessCompression(names.cold))) needed.add(names.cold).add(names.compression);
  const selected = ways.filter(({ name }) => needed.has(toOurs(name)) || chosen(name));
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

/** One way to compile the corpus. */
export interface Way {
  readonly name: string;
  readonly command: Command;
  /** Runs before each measured run, unmeasured. */
  readonly prepare?: (round: number) => void;
  /** The output folder of a peer; its articles are counted. */
  readonly peerOutput?: string;
  /** The message that it must fail with, if it must fail. */
  readonly failure?: string;
}

const folder = import.meta.dirname;
const script = (file: string, ...args: string[]): Command => ({
  program: node,
  args: [join(folder, 'peers', file), ...args],
});

/** All ways that this machine can run, and notes on those left out. The rows of the checkouts are interleaved. */
export function createWays(corpus: Corpus, checkouts: readonly Checkout[]): { ways: Way[]; notes: string[] } {
  const at = (name: string): string => join(corpus.work, name);
  const edited = pickArticle(at('content'));
  for (const name of ['edited', 'broken']) copyFolder(at('content'), at(name));
  const broken = join(at('broken'), edited);
  writeFileSync(broken, readFileSync(broken, 'utf8').replace('---\n', `---\n${unknownField}: true\n`));

  const { ways, notes } = createPeerWays(corpus);
  const own = checkouts.map((checkout) => createOwnWays(corpus, checkout, join(at('edited'), edited)));
  // The same row of both checkouts runs one right after the other.
  return { ways: [...ways, ...own[0]!.flatMap((_, index) => own.map((list) => list[index]!))], notes };
}

const unknownField = 'nonsense';

/** The article that is changed in one copy of the content and broken in another; its path below the content folder. */
function pickArticle(content: string): string {
  return globSync('knowledgebase/*/*.md', { cwd: content }).toSorted()[0]!;
}

/** Moves a folder away instead of deleting it: for half a minute after a deletion, ext4 allocates new files slower. */
function setAside(work: string, name: string): void {
  const aside = join(work, 'aside');
  mkdirSync(aside, { recursive: true });
  if (existsSync(join(work, name))) renameSync(join(work, name), join(aside, String(readdirSync(aside).length)));
}

function createOwnWays(corpus: Corpus, checkout: Checkout, edited: string): Way[] {
  const { work } = corpus;
  const { generator } = checkout;
  const at = (name: string): string => join(work, `${name}-${checkout.name}`);
  const named = (name: string): string => toName(checkout, name);
  const aside = (name: string): void => setAside(work, `${name}-${checkout.name}`);
  const build = (out: string, content: string, ...options: string[]): Command => ({
    program: node,
    args: [generator, 'build', ...toSources(corpus, join(work, content)), '--out', at(out), ...options],
    cwd: work,
  });
  const cold = (name: string, threads: string): Way => ({
    name: named(name),
    command: build('cold', 'content', '--threads', threads),
    prepare: () => aside('cold'),
  });
  /** Leaves only the render cache in an output folder, as CI restores it. */
  const keepRenders = (out: string) => (): void => {
    aside(out);
    cpSync(join(at('same'), '.cache/renders.sqlite'), join(at(out), '.cache/renders.sqlite'));
  };

  buildRelease(checkout, corpus, at('same'));
  for (const name of ['changed', 'failing']) copyFolder(at('same'), at(name));
  return [
    cold(names.cold, '1'),
    cold(names.coldTwo, '2'),
    {
      name: named(names.compression),
      command: script('compress.ts', join(at('same'), 'current'), at('compressed')),
      prepare: () => aside('compressed'),
    },
    { name: named(names.fresh), command: build('fresh', 'content'), prepare: keepRenders('fresh') },
    {
      name: named(names.check),
      command: {
        program: node,
        args: [generator, 'check', ...toSources(corpus)],
        cwd: work,
        env: { DIST_DIR: at('same') },
      },
    },
    { name: named(names.failing), command: build('failing', 'broken'), failure: unknownField },
    {
      name: named(names.failingFirst),
      command: build('unreleased', 'broken'),
      prepare: keepRenders('unreleased'),
      failure: unknownField,
    },
    { name: named(names.same), command: build('same', 'content') },
    {
      name: named(names.changed),
      command: build('changed', 'edited'),
      prepare(round) {
        execFileSync(node, [generator, 'releases', 'prune', '--keep', '1', '--out', at('changed')]);
        appendFileSync(edited, `\nChanged in round ${round}, for ${checkout.name}.\n`);
      },
    },
  ];
}

function createPeerWays({ work }: Corpus): { ways: Way[]; notes: string[] } {
  const at = (name: string): string => join(work, name);
  const peer = (name: string, out: string, command: Command): Way => ({
    name,
    command: { cwd: work, ...command },
    prepare: () => setAside(work, out),
    peerOutput: at(out),
  });
  const eleventy = join(folder, 'node_modules/@11ty/eleventy/cmd.cjs');
  const ways: Way[] = [
    { name: noiseName, command: fixedLoop },
    peer(names.plain, 'plain', script('plain.ts', at('content'), at('plain'))),
    peer(names.eleventy, 'eleventy', { program: node, args: [eleventy, ...toEleventy('content', 'eleventy')] }),
  ];
  if (!isInstalled('hugo', 'version')) return { ways, notes: [`Left out: ${names.hugo}; it is not installed.`] };
  copyFolder(join(folder, 'peers/hugo'), at('hugo-site'));
  const folders = ['--source', at('hugo-site'), '--contentDir', at('content'), '--destination', at('hugo')];
  const args = ['--quiet', '--cacheDir', at('hugo-cache'), ...folders];
  return { ways: [...ways, peer(names.hugo, 'hugo', { program: 'hugo', args })], notes: [] };
}
