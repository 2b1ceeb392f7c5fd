import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CommandError } from '../common/command-line.ts';

/** Where releases are kept, if it is asked for. */
export interface OutFlag {
  readonly out?: string;
}

/** Where sources are, and how strictly they are checked. */
export interface SourceFlags {
  readonly content: string;
  readonly catalog: string;
  readonly lenient?: boolean;
}

/** The folder where releases are kept: the one asked for, or DIST_DIR as the server reads it, from .env too. */
export function resolveOut(asked: string | undefined): string {
  if (asked !== undefined) return resolve(asked);
  try {
    if (existsSync('.env')) process.loadEnvFile();
  } catch (error) {
    throw new CommandError('.env: the file cannot be read', { cause: error });
  }
  return resolve(process.env.DIST_DIR || 'dist');
}
