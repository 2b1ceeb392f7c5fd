import { cpSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runInThisContext } from 'node:vm';
import MiniSearch from 'minisearch';
import type { AsPlainObject } from 'minisearch';
import { expect, vi } from 'vitest';
import { KnowledgeBaseSearch } from '#contract/search.ts';
import { runGenerator } from '../../generator/commands/index.ts';
import { makeCurrent } from '../../generator/release/history.ts';
import { compareText } from '../../generator/source/diagnostics.ts';
import { article, buildProject, createProject, sharedFolder } from '../helpers/project.ts';
import type { CommandResult, Files } from '../helpers/project.ts';

/** Runs a generator command in this process, because a new process takes half a second to load the program. */
export async function runCommand(...args: readonly string[]): Promise<CommandResult> {
  const written = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name] += String(text);
      return true;
    }),
  );
  process.exitCode = undefined;
  try {
    const status = await runGenerator(args);
    return { status: status === 1 || process.exitCode === 1 ? 1 : 0, ...written };
  } finally {
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
  }
}

/** Runs a generator command in this process as if in a working directory. */
export async function runIn(root: string, ...args: readonly string[]): Promise<CommandResult> {
  const cwd = vi.spyOn(process, 'cwd').mockReturnValue(root);
  return runCommand(...args).finally(() => cwd.mockRestore());
}

/** Creates the result of a command that is refused with a message. */
export const refusal = (message: string): CommandResult => ({ status: 1, stdout: '', stderr: `${message}\n` });

/** Creates the options for the sources of a project. */
export function foldersOf(root: string): string[] {
  return ['--content', join(root, 'content'), '--catalog', join(root, 'catalog')];
}

/** Returns the folder of the current release. */
export const currentOf = (root: string): string => realpathSync(join(root, 'dist/current'));

/** Reads a file of the current release. */
export const readReleased = (root: string, file: string): string => readFileSync(join(currentOf(root), file), 'utf8');

/** Reads all files below a folder, as Latin-1: five times as fast as base64. */
export function readTree(root: string): Record<string, string> {
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    files
      .map((file): [string, string] => [relative(root, file), readFileSync(file, 'latin1')])
      .toSorted(([a], [b]) => compareText(a, b)),
  );
}

/** Lists paths that differ between two trees. */
export function changedPaths(before: Record<string, string>, after: Record<string, string>): string[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...paths].filter((path) => before[path] !== after[path]).toSorted();
}

/** Builds a project without problems, and reads the bytes of the release. */
export async function buildAndRead(root: string, options: Parameters<typeof buildProject>[1] = {}) {
  const { release, diagnostics } = await buildProject(root, options);
  expect(diagnostics).toEqual([]);
  return { manifest: release!, tree: readTree(currentOf(root)) };
}

/** Parses a search index, and loads it as a website does, with the `processTerm` of the file or an earlier one. */
export function loadSearch(text: string, earlier?: (term: string) => string) {
  const file = KnowledgeBaseSearch.parse(JSON.parse(text));
  const processTerm = earlier ?? (runInThisContext(file.processTerm) as (term: string) => string[]);
  const index = MiniSearch.loadJS(file.index as unknown as AsPlainObject, { ...file.options, processTerm });
  /** Finds articles by an exact word, in all or the given fields. */
  const find = (word: string, fields: string[] = file.options.fields): string[] =>
    index.search(word, { prefix: false, fuzzy: false, fields }).map(({ id }) => String(id));
  return { ...file, index, find };
}

/** The first bytes of gzip data. */
export const gzipStart = Buffer.from('1f8b08', 'hex');

/** Flips a bit in every occurrence of these bytes in the memo. */
export function flipInMemo(root: string, part: Buffer): void {
  const file = join(root, 'dist/.cache/renders.sqlite');
  const bytes = readFileSync(file);
  for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + 1)) bytes[at + part.length - 1]! ^= 1;
  writeFileSync(file, bytes);
}

/** Flips one bit in the middle of a file, as a failing disk does. */
export function flipBit(file: string): void {
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(file, bytes);
}

/** A minute of the day, long ago, when these releases became current. */
export const at = (minute: number): Date => new Date(Date.UTC(2025, 0, 1, 0, minute));

/** The sources that differ between the releases. */
export const sourcesOf = (number: number): Files => ({
  'content/blog/news/second.md': article({}, `Number ${number}.\n`),
});

/** Writes the history of an output folder. */
export function writeHistory(dist: string, ...lines: [minute: number, id: string][]): void {
  writeFileSync(join(dist, 'history'), lines.map(([minute, id]) => `${at(minute).toISOString()} ${id}\n`).join(''));
}

let built: { readonly dist: string; readonly ids: readonly string[] } | undefined;

/** Builds four releases for all tests of a file. */
async function buildReleases() {
  const root = sharedFolder(() => (built = undefined));
  const ids: string[] = [];
  for (const number of [1, 2, 3, 4]) {
    createProject(sourcesOf(number), root);
    ids.push((await buildProject(root)).release!.id);
  }
  return { dist: join(root, 'dist'), ids };
}

/** Creates a project with some of the releases, which became current every ten minutes from 0:00. */
export async function createReleases(count: number): Promise<{ root: string; dist: string; ids: string[] }> {
  built ??= await buildReleases();
  const root = createProject(sourcesOf(count));
  const dist = join(root, 'dist');
  const ids = built.ids.slice(0, count);
  for (const id of ids) {
    const release = join('releases', id);
    cpSync(join(built.dist, release), join(dist, release), { recursive: true, preserveTimestamps: true });
  }
  await makeCurrent(dist, ids.at(-1)!);
  writeHistory(dist, ...ids.map((id, index): [number, string] => [index * 10, id]));
  return { root, dist, ids };
}
