import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from './processes.ts';

/**
 * State shared by all parts of the benchmark. They work in one temporary folder with `content` and `catalog`, which is
 * the working directory of this process and its children.
 */
export interface Bench {
  readonly checkouts: readonly Checkout[];
  readonly articles: number;
  /** Treat dead links of the corpus as warnings. */
  readonly isLenient: boolean;
  readonly rounds: number;
  /** Number of requests to a server in one measurement. */
  readonly requests: number;
  /** Tells if the row with this name is measured. */
  readonly isChosen: (name: string) => boolean;
}

/** A checkout of this project with installed packages: this one, or the checkout of `--before`. */
export type Checkout = ReturnType<typeof openCheckout>;

/** Opens a checkout; its rows use its name in place of `ours`. Throws if its programs do not run. */
export function openCheckout(name: 'ours' | 'before', root: string) {
  const [generator, server] = [join(root, 'generator/main.js'), join(root, 'server/main.js')];
  for (const needed of [generator, server, join(root, 'node_modules')]) {
    if (!existsSync(needed)) throw new Error(`--before: ${needed} does not exist`);
  }
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { serve: string } };
  const flags = scripts.serve.split(' ').filter((part) => part.startsWith('--'));
  // Start the server with the Node.js flags of `npm run serve`.
  return { name, root, generator, server: [...flags, server] };
}

/** Renames our rows for the `before` checkout; other rows keep their name. */
export const toBefore = (row: string): string => row.replace('ours', 'before');

/** Builds the command that runs a generator on a content folder. */
export function generate(
  { isLenient }: Bench,
  { generator }: Checkout,
  command: 'build' | 'check' | 'dev',
  content = 'content',
  ...options: string[]
): Command {
  const sources = ['--content', content, '--catalog', 'catalog', ...(isLenient ? ['--lenient'] : [])];
  return { args: [generator, command, ...sources, ...options] };
}

/** Builds a release without measuring. */
export function buildRelease(bench: Bench, checkout: Checkout, out: string, content?: string): void {
  const { args } = generate(bench, checkout, 'build', content, '--out', out);
  execFileSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 1e9 });
}

/** Picks an article of about this size; returns its category and name. Throws if the folder has no articles. */
export function pickArticle(folder: string, extension: string, bytes: number): string {
  const distance = (file: string): number => Math.abs(statSync(join(folder, file)).size - bytes);
  const files = globSync(`*/*${extension}`, { cwd: folder });
  const [nearest] = files.toSorted((a, b) => distance(a) - distance(b));
  if (nearest === undefined) throw new Error('the corpus has no article of the knowledge base');
  return nearest.slice(0, -extension.length);
}

/** Copies a folder with its links and timestamps. */
export function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
}

/** Switches a link to another release atomically, as a build does. */
export function switchTo(link: string, release: string): void {
  const next = `${link}.next`;
  symlinkSync(release, next);
  renameSync(next, link);
}

/** Arguments of Eleventy. */
export function toEleventy(input: string, output: string): string[] {
  const [program, config] = ['node_modules/@11ty/eleventy/cmd.cjs', 'peers/eleventy.config.js'].map((file) =>
    join(import.meta.dirname, file),
  );
  return [program!, `--input=${input}`, `--output=${output}`, `--config=${config}`];
}

/** Tests if a system program runs; `argument` must make it exit. */
export function isInstalled(program: string, argument: string): boolean {
  return spawnSync(program, [argument]).status === 0;
}

/** Shows the current measurement on a terminal. */
export function report(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${line}`);
}
