import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Checkout } from './checkouts.ts';
import type { Command } from './processes.ts';

/** The location of the corpus, and the options to build it. */
export interface Corpus {
  /** The working folder; it contains `content` and `catalog`. */
  readonly work: string;
  readonly articles: number;
  /** Whether its dead links are only warnings. */
  readonly lenient: boolean;
}

const folder = import.meta.dirname;
/** The Node.js binary that runs everything. */
export const node = process.execPath;
/** A fixed workload; its variation is the noise of the machine. */
export const fixedLoop: Command = {
  program: node,
  args: ['-e', "crypto.pbkdf2Sync('noise', 'salt', 4_000_000, 32, 'sha256')"],
};
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

/** The generator options for the source folders. */
export function toSources({ work, lenient }: Corpus, content = join(work, 'content')): string[] {
  const sources = ['--content', content, '--catalog', join(work, 'catalog')];
  return [...sources, ...(lenient ? ['--lenient'] : [])];
}

/** Compiles content into a folder, unmeasured. The working directory is the same for all, since messages contain it. */
export function buildRelease(checkout: Checkout, corpus: Corpus, out: string, content?: string): void {
  const args = [checkout.generator, 'build', ...toSources(corpus, content), '--out', out];
  execFileSync(node, args, { cwd: corpus.work, stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 1e9 });
}

/** Copies a folder with its links and timestamps. */
export function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
}

/** The arguments of Eleventy; it takes folders relative to its working directory. */
export function toEleventy(input: string, output: string): string[] {
  return [`--input=${input}`, `--output=${output}`, `--config=${join(folder, 'peers/eleventy.config.js')}`];
}

/** Whether a system program can be run; `argument` makes it print something and exit. */
export function isInstalled(program: string, argument: string): boolean {
  try {
    execFileSync(program, [argument], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
