import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from './processes.ts';
import type { Choice } from './table.ts';

/** The location of the corpus, and the options to build it. */
export interface Corpus {
  /** The working folder; it contains `content` and `catalog`. */
  readonly work: string;
  readonly articles: number;
  /** Whether its dead links are only warnings. */
  readonly lenient: boolean;
}

/** What all parts of the benchmark need. */
export interface BenchOptions extends Corpus {
  readonly checkouts: readonly Checkout[];
  readonly rounds: number;
  readonly chosen: Choice;
  readonly report: (line: string) => void;
}

/** A checkout of this project with its packages installed: this one, or the one given by `--before`. */
export type Checkout = ReturnType<typeof openCheckout>;

/** A checkout, and the folder of the release that its generator built and its server serves. */
export interface Served {
  readonly checkout: Checkout;
  readonly dist: string;
}

function openCheckout(name: 'ours' | 'before', root: string) {
  const [generator, server] = [join(root, 'generator/main.js'), join(root, 'server/main.js')];
  for (const needed of [generator, server, join(root, 'node_modules')]) {
    if (!existsSync(needed)) throw new Error(`--before: ${needed} does not exist`);
  }
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { serve: string } };
  const flags = scripts.serve.split(' ').filter((part) => part.startsWith('--'));
  // The server starts with the flags of Node.js as `npm run serve` does.
  return { name, root, generator, server: [...flags, server] };
}

/** This checkout, and the one of `--before` if a folder is given. Throws if that one cannot be run. */
export function openCheckouts(before: string | undefined): Checkout[] {
  const ours = openCheckout('ours', resolve(import.meta.dirname, '../..'));
  return before === undefined ? [ours] : [ours, openCheckout('before', resolve(before))];
}

/** Turns the name of a row of ours into the name of the same row of another checkout. */
export function toName({ name }: Pick<Checkout, 'name'>, row: string): string {
  return row.replace('ours', name);
}

/** The row of the `before` checkout that a row of ours is compared with; undefined for other rows. */
export function toBefore(row: string): string | undefined {
  return row.includes('ours') ? toName({ name: 'before' }, row) : undefined;
}

/** Turns a row name of any checkout into that of ours; rows of peers keep their name. */
export function toOurs(row: string): string {
  return row.replace('before', 'ours');
}

/** The folder with the `v1` files of a release or a `dev` output. Releases of an older checkout have no `public`. */
export function publicFolder(release: string): string {
  const folder = join(release, 'public');
  return existsSync(folder) ? folder : release;
}

/** Switches a link to another release atomically, as a build does. */
export function switchTo(link: string, release: string): void {
  const next = `${link}.next`;
  symlinkSync(release, next);
  renameSync(next, link);
}

/** The Node.js binary that runs everything. */
export const node = process.execPath;
/** A fixed workload; its variation is the noise of the machine. */
export const fixedLoop: Command = {
  program: node,
  args: ['-e', "crypto.pbkdf2Sync('noise', 'salt', 4_000_000, 32, 'sha256')"],
};
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
  return [
    `--input=${input}`,
    `--output=${output}`,
    `--config=${join(import.meta.dirname, 'peers/eleventy.config.js')}`,
  ];
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
