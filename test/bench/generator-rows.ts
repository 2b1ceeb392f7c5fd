import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Checkout } from './checkouts.ts';
import type { Command } from './processes.ts';

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
/** What the noise of the machine is read from. */
export const fixedLoop: Command = {
  program: node,
  args: ['-e', "crypto.pbkdf2Sync('noise', 'salt', 4_000_000, 32, 'sha256')"],
};
/** How the rows are called that others are compared with, that are computed from, or that have a target. */
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

/** The options that tell the generator what to compile. */
export function toSources({ work, lenient }: Corpus, content = join(work, 'content')): string[] {
  const sources = ['--content', content, '--catalog', join(work, 'catalog')];
  return [...sources, ...(lenient ? ['--lenient'] : [])];
}

/** Compiles content into a folder, which is not measured; from the same folder as the others, which messages name. */
export function buildRelease(checkout: Checkout, corpus: Corpus, out: string, content?: string): void {
  const args = [checkout.generator, 'build', ...toSources(corpus, content), '--out', out];
  execFileSync(node, args, { cwd: corpus.work, stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 1e9 });
}

/** Copies a folder with its links and times. */
export function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
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
