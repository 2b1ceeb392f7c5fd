import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, globSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from './processes.ts';
import { noise } from './rows.ts';

/** One way to compile the corpus. */
export interface Way {
  readonly name: string;
  readonly command: Command;
  /** What is done before each run, and not measured. */
  readonly prepare?: (round: number) => void;
  /** Where a peer writes: what it made is counted. */
  readonly peerOutput?: string;
}

/** Where the corpus is, and how it is built. */
export interface Corpus {
  /** A folder for everything, with `content` and `catalog`. */
  readonly work: string;
  readonly articles: number;
  /** Whether dead links in it are only warnings. */
  readonly lenient: boolean;
}

const folder = import.meta.dirname;
/** The Node.js that runs everything. */
export const node = process.execPath;
/** The program of the generator. */
export const generatorMain = resolve(folder, '../../generator/main.js');
/** What the noise of the machine is read from. */
export const fixedLoop: Command = {
  program: node,
  args: ['-e', "crypto.pbkdf2Sync('noise', 'salt', 4_000_000, 32, 'sha256')"],
};
/** How the rows are called that others are compared with, that are computed from, or that have a target. */
export const names = {
  plain: 'plain unified, one thread',
  floor: 'floor: read, JSON, write',
  compression: 'compression alone, of what ours writes',
  cold: 'ours, cold',
  coldTwo: 'ours, cold, two threads',
  same: 'ours, nothing changed',
  changed: 'ours, one article changed',
  eleventy: 'Eleventy',
  velite: 'Velite',
} as const;

/** The options that tell the generator what to compile, and where to. */
export function toSources({ work, lenient }: Corpus, out: string, content = join(work, 'content')): string[] {
  const sources = ['--content', content, '--catalog', join(work, 'catalog'), '--out', out];
  return [...sources, ...(lenient ? ['--lenient'] : [])];
}

/** Compiles the corpus into a folder, which is not measured; from the same folder as the others, which messages name. */
export function buildRelease(corpus: Corpus, out: string): void {
  const args = [generatorMain, 'build', ...toSources(corpus, out)];
  execFileSync(node, args, { cwd: corpus.work, stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 1e9 });
}

/** Every way that there is on this machine, and what was left out. */
export function createWays(corpus: Corpus): { ways: Way[]; notes: string[] } {
  const { work } = corpus;
  const at = (name: string): string => join(work, name);
  // Not deleted: for half a minute, ext4 searches its way around whatever was just freed, file by file.
  const setAside = (name: string): void => {
    mkdirSync(at('aside'), { recursive: true });
    if (existsSync(at(name))) renameSync(at(name), at(`aside/${readdirSync(at('aside')).length}`));
  };
  const content = at('content');
  const ours = (out: string, ...options: string[]): Command => ({
    program: node,
    args: [generatorMain, 'build', ...toSources(corpus, at(out)), ...options],
    cwd: work,
  });
  const cold = (name: string, ...options: string[]): Way => ({
    name,
    command: ours('cold', ...options),
    prepare: () => setAside('cold'),
  });
  const peer = (name: string, out: string, command: Command): Way => ({
    name,
    command: { cwd: work, ...command },
    prepare: () => setAside(out),
    peerOutput: at(out),
  });
  const script = (file: string, ...args: string[]): Command => ({
    program: node,
    args: [join(folder, 'peers', file), ...args],
  });
  const module = (path: string, ...args: string[]): Command => ({
    program: node,
    args: [join(folder, 'node_modules', path), ...args],
  });

  buildRelease(corpus, at('same'));
  for (const name of ['warm', 'changed']) cpSync(at('same'), at(name), { recursive: true, verbatimSymlinks: true });
  cpSync(content, at('edited'), { recursive: true });
  const [edited] = globSync('knowledgebase/*/*.md', { cwd: at('edited') }).toSorted();

  const ways: Way[] = [
    { name: noise, command: fixedLoop },
    peer(names.floor, 'floor', script('floor.ts', content, at('floor'))),
    peer(names.plain, 'plain', script('plain.ts', content, at('plain'))),
  ];
  const notes: string[] = [];
  ways.push(cold(names.cold, '--threads', '1'), cold(names.coldTwo, '--threads', '2'));
  ways.push(
    {
      name: names.compression,
      command: script('compress.ts', at('same/current'), at('compressed')),
      prepare: () => setAside('compressed'),
    },
    {
      name: 'ours, everything in the render cache',
      command: ours('warm'),
      prepare: () => ['releases', 'current'].forEach((name) => setAside(`warm/${name}`)),
    },
    { name: names.same, command: ours('same') },
    {
      name: names.changed,
      command: { program: node, args: [generatorMain, 'build', ...toSources(corpus, at('changed'), at('edited'))] },
      prepare(round) {
        execFileSync(node, [generatorMain, 'releases', 'prune', '--keep', '1', '--out', at('changed')]);
        appendFileSync(join(at('edited'), edited!), `\nChanged in round ${round}.\n`);
      },
    },
    peer(names.eleventy, 'eleventy', module('@11ty/eleventy/cmd.cjs', ...toEleventy('content', 'eleventy'))),
    peer(names.velite, 'velite', {
      ...module('velite/bin/velite.js', 'build', '--config', join(folder, 'peers/velite.config.ts')),
      env: { BENCH_CONTENT: content, BENCH_OUT: at('velite') },
    }),
  );
  if (isInstalled('hugo', 'version')) {
    cpSync(join(folder, 'peers/hugo'), at('hugo-site'), { recursive: true });
    const folders = ['--source', at('hugo-site'), '--contentDir', content, '--destination', at('hugo')];
    const args = ['--quiet', '--cacheDir', at('hugo-cache'), ...folders];
    ways.push(peer('Hugo', 'hugo', { program: 'hugo', args }));
  } else notes.push('Left out: Hugo; it is not installed.');
  return { ways, notes };
}

/** The arguments of Eleventy, which takes its folders from where it is started. */
export function toEleventy(input: string, output: string): string[] {
  return [`--input=${input}`, `--output=${output}`, `--config=${join(folder, 'peers/eleventy.config.js')}`];
}

/** Whether a program of the system can be run; `argument` makes it say something and end. */
export function isInstalled(program: string, argument: string): boolean {
  try {
    execFileSync(program, [argument], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
