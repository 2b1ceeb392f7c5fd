import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
 * An empty variable counts as not set. Throws an {@link EnvError} that names every problem.
 */
export function readSettings<Schema extends z.ZodObject>(schema: Schema, source: Environment): z.output<Schema> {
  const problems: string[] = [];
  const values: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = readVariable(name, source, (problem) => problems.push(problem));
    if (value !== undefined) values[name] = value;
  }
  const result = schema.safeParse(values);
  for (const { path, message } of result.error?.issues ?? []) problems.push(`${path.join('.')}: ${message}`);
  if (result.success && problems.length === 0) return result.data;
  throw new EnvError(problems.join('\n'));
}

/** Creates the folder of a setting if it is missing. Throws an {@link EnvError} if files cannot be created in it. */
export function prepareFolder(setting: string, folder: string, mode?: number): void {
  withFolderErrors(setting, () => createFolder(folder, mode));
  checkFolder(setting, folder);
}

/** Throws an {@link EnvError} if files cannot be created in the folder of a setting. */
export function checkFolder(setting: string, folder: string): void {
  // The permissions of a folder do not show whether its file system accepts files.
  const trial = join(folder, `.${randomUUID()}.tmp`);
  withFolderErrors(setting, () => {
    writeFileSync(trial, '');
    rmSync(trial);
  });
}

function withFolderErrors(setting: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new EnvError(`${setting}: files cannot be created in this folder (${(error as NodeJS.ErrnoException).code})`);
  }
}
