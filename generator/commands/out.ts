import { resolve } from 'node:path';
import { CommandError } from '../common/command-line.ts';
import { createFolder } from '../common/folder.ts';
import { readDistDir } from './settings.ts';
import type { Strictness } from '../source/diagnostics.ts';

/** The option for the folder of releases. */
export interface OutFlag {
  readonly out?: string;
}

/** The options for the source folders and for the strictness of checks. */
export interface SourceFlags {
  readonly content: string;
  readonly catalog: string;
  readonly lenient?: boolean;
  readonly strict?: boolean;
}

/** The strictness that the options name. */
export function toStrictness({ lenient = false, strict = false }: SourceFlags): Strictness {
  return { lenient, strict };
}

/** The folder of releases: the option, else DIST_DIR from the environment or .env as in the server, else `dist`. */
export function resolveOut(option: string | undefined): string {
  return option === undefined ? readDistDir() : resolve(option);
}

/** Creates the folder of releases if it is missing, and returns its path. */
export function createOut(option: string | undefined): string {
  const out = resolveOut(option);
  try {
    createFolder(out);
  } catch (error) {
    const name = option === undefined ? 'DIST_DIR' : '--out';
    throw new CommandError(`${name}: the folder cannot be created (${(error as NodeJS.ErrnoException).code})`);
  }
  return out;
}
