import { randomUUID } from 'node:crypto';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { closest, distance } from 'fastest-levenshtein';
import type { z } from 'zod';
import { readVariable } from '#common/environment.ts';
import type { Environment } from '#common/environment.ts';
import { createFolder } from '#common/folder.ts';

/** Invalid settings; the message has a line for each, and never holds a value. */
export class EnvError extends Error {
  override readonly name = 'EnvError';
}

/**
 * Reads settings from environment variables. Each may also be given as `<NAME>_FILE`, the path of a file that holds it.
 * An empty variable counts as not set, and then its preset counts. Throws an {@link EnvError} that names every problem.
 */
export function readSettings<Schema extends z.ZodObject>(
  schema: Schema,
  source: Environment,
  presets: Readonly<Record<string, string>> = {},
): z.output<Schema> {
  const problems: string[] = [];
  const values: Record<string, string> = { ...presets };
  for (const name of Object.keys(schema.shape)) {
    const value = readVariable(name, source, (problem) => problems.push(problem));
    if (value !== undefined) values[name] = value;
  }
  // It is read once, and faster than a parser of it is compiled.
  const result = schema.safeParse(values, { jitless: true });
  for (const { path, message } of result.error?.issues ?? []) problems.push(`${path.join('.')}: ${message}`);
  if (result.success && problems.length === 0) return result.data;
  throw new EnvError(problems.join('\n'));
}

/** Creates the folder of a setting if it is missing. Throws an {@link EnvError} if files cannot be created in it. */
export function prepareFolder(setting: string, folder: string, mode?: number): void {
  withFolderErrors(setting, () => createFolder(folder, mode));
  checkFolder(setting, folder);
}

function checkFolder(setting: string, folder: string): void {
  // The permissions of a folder do not show whether its file system accepts files.
  const trial = join(folder, `.${randomUUID()}.tmp`);
  withFolderErrors(setting, () => {
    writeFileSync(trial, '');
    rmSync(trial);
  });
}

/**
 * Throws an {@link EnvError} if STATUS_FILE cannot be written. Its folder is not created: a mistyped one would hide that the
 * file is not where the CDN reads it.
 */
export function checkStatusFile(file: string | undefined): void {
  if (file === undefined) return;
  checkFolder('STATUS_FILE', dirname(file));
  if (existsSync(file) && !statSync(file).isFile()) throw new EnvError('STATUS_FILE: this is not a regular file');
}

function withFolderErrors(setting: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new EnvError(`${setting}: files cannot be created in this folder (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** A variable that is not a setting, and the setting whose name it resembles, if it is not one that was removed. */
export interface Misspelt {
  readonly name: string;
  readonly setting: string | undefined;
}

/** Variables of other programs whose names resemble ours: bash has a HOSTFILE. */
const foreign = new Set(['HOSTFILE']);

/** Finds the variables whose names differ from those of settings, or their `_FILE`, by a typing mistake. */
export function findMisspelt(settings: readonly string[], source: Environment): Misspelt[] {
  const names = settings.flatMap((name) => [name, `${name}_FILE`]);
  const byPlainName = new Map(names.map((name) => [toPlain(name), name]));
  const plainNames = [...byPlainName.keys()];
  const own = new Set(names);
  return Object.keys(source).flatMap((name) => {
    if (!source[name] || own.has(name) || foreign.has(name) || !/^[A-Za-z]\w*$/.test(name)) return [];
    const plain = toPlain(name);
    const near = closest(plain, plainNames);
    const swapped = plainNames.find((candidate) => isSwap(plain, candidate));
    const found = swapped ?? (distance(plain, near) <= toleranceOf(near) ? near : undefined);
    return found === undefined ? [] : [{ name, setting: byPlainName.get(found)! }];
  });
}

/** Case and underscores are the most frequent mistakes, so they do not count. */
function toPlain(name: string): string {
  return name.toUpperCase().replaceAll('_', '');
}

/** The number of wrong letters that are a mistake. Short names have many neighbours that other programs use, as HISTFILE. */
function toleranceOf(plain: string): number {
  return Math.floor((plain.replace(/FILE$/, '').length - 1) / 4);
}

/** Whether two neighbouring letters changed places. */
function isSwap(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  const at = Array.from(one).findIndex((letter, index) => letter !== other[index]);
  return at >= 0 && at < one.length - 1 && one.slice(0, at) + one[at + 1]! + one[at] + one.slice(at + 2) === other;
}
