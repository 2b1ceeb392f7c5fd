import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { SiteUrls } from '../articles/feed.ts';
import { CommandError } from '../common/command-line.ts';
import { createFolder } from '../common/folder.ts';
import type { Strictness } from '../source/diagnostics.ts';
import { baseUrlRule, pageUrlRule, readVariable, toBaseUrl, toPageUrl } from '../common/environment.ts';

/** Reads the addresses and the name of the service. Throws a {@link CommandError} that names every wrong one. */
export function readUrls(): SiteUrls {
  const environment = readEnvironment();
  const problems: string[] = [];
  const read = (name: string, parse: (text: string) => string | undefined = toBaseUrl, rule = baseUrlRule) => {
    const text = readVariable(name, environment, (problem) => problems.push(problem));
    const value = text === undefined ? undefined : parse(text);
    if (text !== undefined && value === undefined) problems.push(`${name}: ${rule}`);
    return value;
  };
  const urls = {
    site: read('SITE_URL'),
    service: read('PUBLIC_URL'),
    support: read('SUPPORT_URL', toPageUrl, pageUrlRule),
    name: read('SITE_NAME', String),
  };
  if (problems.length > 0) throw new CommandError(problems.join('; '));
  return urls;
}

/** The environment with the lines of `.env`, where there is one. */
function readEnvironment(): NodeJS.ProcessEnv {
  try {
    if (existsSync('.env')) process.loadEnvFile();
  } catch (error) {
    throw new CommandError('.env: the file cannot be read', { cause: error });
  }
  return process.env;
}

/** The day of a build from `--now`, YYYY-MM-DD; default today (UTC). */
export async function readDay(now: string | undefined): Promise<string> {
  if (now === undefined) return new Date().toISOString().slice(0, 10);
  // Imported only if needed: loading zod takes longer than a build without changes.
  const { IsoDate } = await import('#contract/primitives.ts');
  if (IsoDate.safeParse(now).success) return now;
  throw new CommandError('--now must be a calendar date of the form YYYY-MM-DD');
}

/** The option for the folder of releases. */
export interface OutFlag {
  readonly out?: string;
}

/** The options for the source folders and for the strictness of checks. */
export interface SourceFlags {
  readonly content?: string;
  readonly catalog?: string;
  readonly lenient?: boolean;
  readonly strict?: boolean;
}

/** The strictness that the options name. */
export function toStrictness({ lenient = false, strict = false }: SourceFlags): Strictness {
  return { lenient, strict };
}

/** The settings of the folders, and their defaults. */
const folders = { CONTENT_DIR: 'content', CATALOG_DIR: 'catalog', DIST_DIR: 'dist' };

/** A folder: the option, else its setting from the environment or .env as in the server, else its default. */
export function resolveFolder(setting: keyof typeof folders, option: string | undefined): string {
  if (option !== undefined) return resolve(option);
  const problems: string[] = [];
  const folder = readVariable(setting, readEnvironment(), (problem) => problems.push(problem));
  if (problems.length > 0) throw new CommandError(problems.join('; '));
  return resolve(folder ?? folders[setting]);
}

/** Creates the folder of releases if it is missing, and returns its path. */
export function createOut(option: string | undefined): string {
  const out = resolveFolder('DIST_DIR', option);
  try {
    createFolder(out);
  } catch (error) {
    const name = option === undefined ? 'DIST_DIR' : '--out';
    throw new CommandError(`${name}: the folder cannot be created (${(error as NodeJS.ErrnoException).code})`);
  }
  return out;
}
