import { randomUUID } from 'node:crypto';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import { readVariable } from '#common/environment.ts';
import type { Environment } from '#common/environment.ts';
import { createFolder } from '#common/files.ts';

/** The settings of the installation of a machine, as docs/install.md has it; `credentials/` is next to them. */
export const installedSettings = '/etc/hosting-api/settings.env';

/** Invalid settings; the message has a line for each, and never holds a value. */
export class EnvError extends Error {
  override readonly name = 'EnvError';
}

/** Reads settings from variables or the files that `<NAME>_FILE` names. Throws an {@link EnvError} of all problems. */
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

/** Creates the folder of a setting. Throws an {@link EnvError} if files cannot be created in it. */
export function prepareFolder(setting: string, folder: string, mode?: number): void {
  checkFolder(setting, folder, () => createFolder(folder, mode));
}

function checkFolder(setting: string, folder: string, create = (): void => {}): void {
  // The permissions of a folder do not show whether its file system accepts files.
  const trial = join(folder, `.${randomUUID()}.tmp`);
  try {
    create();
    writeFileSync(trial, '');
    rmSync(trial);
  } catch (error) {
    throw new EnvError(`${setting}: files cannot be created in this folder (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Throws an {@link EnvError} if STATUS_FILE cannot be written. A missing folder is not created: it may be mistyped. */
export function checkStatusFile(file: string | undefined): void {
  if (file === undefined) return;
  checkFolder('STATUS_FILE', dirname(file));
  if (existsSync(file) && !statSync(file).isFile()) throw new EnvError('STATUS_FILE: this is not a regular file');
}
