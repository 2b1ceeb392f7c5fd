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
import { join, resolve } from 'node:path';
import { buildRelease, copyFolder, generate, isInstalled, toBefore, toEleventy } from './bench.ts';
import type { Bench, Checkout } from './bench.ts';
import { measure } from './processes.ts';
import type { Command } from './processes.ts';
import { choose, measureInTurn, noise } from './table.ts';
import type { Column, Item, Row, Section } from './table.ts';

/** The reference row. */
export const plain = 'plain unified, one thread';
const cold = 'ours, cold';
const compression = 'compression alone, of what ours writes';
const lessCompression = 'ours, cold, less compression (computed)';

const toPlain = (): string => plain;
const toOneThread = (row: string): string => row.replace(', two threads', '');
const columns: readonly Column[] = [
  ['CPU s', 'cpuSeconds'],
  ['wall s', 'wallSeconds'],
  ['peak MB', 'peakMegabytes'],
  ['CPU/plain', 'cpuSeconds', toPlain],
  ['wall/plain', 'wallSeconds', toPlain],
  ['peak/plain', 'peakMegabytes', toPlain],
  ['wall/one thread', 'wallSeconds', toOneThread],
  ['CPU/before', 'cpuSeconds', toBefore],
  ['wall/before', 'wallSeconds', toBefore],
  ['peak/before', 'peakMegabytes', toBefore],
];

/**
 * Compiles the corpus in every way in turn. Throws if a way fails, or if a peer did not render every article, which
 * would make its time meaningless.
 */
export async function runGenerator(bench: Bench): Promise<Section> {
  const { checkouts, isChosen, rounds } = bench;
  const hasHugo = isInstalled('hugo', 'version');
  const edited = prepareContent();
  const own = checkouts.map((checkout) => createOwnWays(bench, checkout, edited));
  // Run the same row of both checkouts back to back.
  const interleaved = own[0]!.flatMap((_, index) => own.map((list) => list[index]!));
  const isComputed = (name: string): boolean =>
    isChosen(lessCompression) && [cold, compression].some((part) => [part, toBefore(part)].includes(name));
  const ways = choose(
    [noise, ...createPeerWays(bench, hasHugo), ...interleaved],
    columns,
    (name) => isChosen(name) || isComputed(name),
  );
  const rows = await measureInTurn('generator', rounds, ways);
  const computed = checkouts.flatMap(({ name }) => computeLessCompression(rows, name));
  const notes = hasHugo ? [] : ['Left out: Hugo; it is not installed.'];
  return { name: 'generator', columns, rows: [...rows, ...computed], notes };
}

/** The cost of a cold build in each round, without compression because no peer compresses. */
function computeLessCompression(rows: readonly Row[], checkout: Checkout['name']): Row[] {
  const [all, part] = [cold, compression].map((name) =>
    rows.find((row) => row.name === name.replace('ours', checkout)),
  );
  if (!all || !part) return [];
  const rounds = all.rounds.map(({ cpuSeconds }, round) => ({
    cpuSeconds: cpuSeconds! - part.rounds[round]!.cpuSeconds!,
  }));
  return [{ name: lessCompression.replace('ours', checkout), rounds }];
}

const unknownField = 'nonsense';

/** Copies the content into `edited` and, with an error, into `broken`; returns the article to edit. */
function prepareContent(): string {
  for (const name of ['edited', 'broken']) copyFolder('content', name);
  const [article] = globSync('knowledgebase/*/*.md', { cwd: 'content' }).toSorted();
  const broken = join('broken', article!);
  writeFileSync(broken, readFileSync(broken, 'utf8').replace('---\n', `---\n${unknownField}: true\n`));
  return join('edited', article!);
}

/**
 * Moves a folder away instead of deleting it: after a deletion, ext4 allocates new files more slowly for half a minute.
 */
function setAside(folder: string): void {
  mkdirSync('aside', { recursive: true });
  if (existsSync(folder)) renameSync(folder, join('aside', String(readdirSync('aside').length)));
}

function runScript(file: string, ...args: string[]): Command {
  return { args: [join(import.meta.dirname, 'peers', file), ...args] };
}

/** A way to compile; `prepare` runs before each measured run. With `failure`, the run must fail with this message. */
function createWay(name: string, command: Command, prepare?: (round: number) => void, failure?: string): Item {
  return {
    name,
    async run(round) {
      prepare?.(round);
      return measure(command, failure);
    },
  };
}

function createOwnWays(bench: Bench, checkout: Checkout, edited: string): Item[] {
  const at = (name: string): string => `${name}-${checkout.name}`;
  const build = (out: string, content: string, ...options: string[]): Command =>
    generate(bench, checkout, 'build', content, '--out', at(out), ...options);
  /** Removes everything but the memo from an output folder, like a restored CI cache. */
  const keepRenders = (out: string): void => {
    setAside(at(out));
    cpSync(join(at('same'), '.cache/renders.sqlite'), join(at(out), '.cache/renders.sqlite'));
  };
  const prepareEdit = (round: number): void => {
    const prune = ['releases', 'prune', '--keep', '1', '--out', at('changed')];
    execFileSync(process.execPath, [checkout.generator, ...prune]);
    appendFileSync(edited, `\nChanged in round ${round}, for ${checkout.name}.\n`);
  };

  buildRelease(bench, checkout, at('same'));
  for (const name of ['changed', 'failing']) copyFolder(at('same'), at(name));
  const compress = runScript('compress.ts', join(at('same'), 'current'), at('compressed'));
  const check = { ...generate(bench, checkout, 'check'), env: { DIST_DIR: at('same') } };
  const ways = [
    createWay(cold, build('cold', 'content', '--threads', '1'), () => setAside(at('cold'))),
    createWay(`${cold}, two threads`, build('cold', 'content', '--threads', '2'), () => setAside(at('cold'))),
    createWay(compression, compress, () => setAside(at('compressed'))),
    createWay('ours, fresh checkout with renders.sqlite', build('fresh', 'content'), () => keepRenders('fresh')),
    createWay('ours, check', check),
    createWay('ours, failing build, a release before', build('failing', 'broken'), undefined, unknownField),
    createWay(
      'ours, failing build, no release before',
      build('unreleased', 'broken'),
      () => keepRenders('unreleased'),
      unknownField,
    ),
    createWay('ours, nothing changed', build('same', 'content')),
    createWay('ours, one article changed', build('changed', 'edited'), prepareEdit),
  ];
  return ways.map((way) => ({ ...way, name: way.name.replace('ours', checkout.name) }));
}

function createPeerWays({ articles }: Bench, hasHugo: boolean): Item[] {
  const createPeerWay = (name: string, out: string, command: Command): Item => ({
    name,
    async run() {
      setAside(out);
      const cost = await measure(command);
      const made = globSync(`${out}/**/*.json`)
        .map((file) => readFileSync(file, 'utf8').split(/"html":\s?"/).length - 1)
        .reduce((sum, count) => sum + count, 0);
      if (made < articles) throw new Error(`${name} made ${made} of ${articles} articles`);
      return cost;
    },
  });
  const ways = [
    createPeerWay(plain, 'plain', runScript('plain.ts', 'content', 'plain')),
    createPeerWay('Eleventy', 'eleventy', { args: toEleventy('content', 'eleventy') }),
  ];
  if (!hasHugo) return ways;
  copyFolder(join(import.meta.dirname, 'peers/hugo'), 'hugo-site');
  const folders = { source: 'hugo-site', contentDir: 'content', destination: 'hugo', cacheDir: 'hugo-cache' };
  const options = Object.entries(folders).flatMap(([name, folder]) => [`--${name}`, resolve(folder)]);
  return [...ways, createPeerWay('Hugo', 'hugo', { program: 'hugo', args: ['--quiet', ...options] })];
}
