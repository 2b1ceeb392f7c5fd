import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { SiteUrls } from '../articles/feed.ts';
import { CommandError } from '../common/command-line.ts';
import { baseUrlRule, pageUrlRule, readVariable, toBaseUrl, toPageUrl } from '../common/environment.ts';
import { createFolder } from '../common/files.ts';

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

/** Reads a setting. `parse` returns undefined for a text that breaks the rule. */
type Read = (name: string, parse?: (text: string) => string | undefined, rule?: string) => string | undefined;

/** Reads settings from the environment and `.env`. Throws a {@link CommandError} that names every wrong one. */
function readSettings<Values>(readAll: (read: Read) => Values): Values {
  try {
    if (existsSync('.env')) process.loadEnvFile();
  } catch (error) {
    throw new CommandError('.env: the file cannot be read', { cause: error });
  }
  const problems: string[] = [];
  const values = readAll((name, parse = String, rule = '') => {
    const text = readVariable(name, process.env, (problem) => problems.push(problem));
    const value = text === undefined ? undefined : parse(text);
    if (text !== undefined && value === undefined) problems.push(`${name}: ${rule}`);
    return value;
  });
  if (problems.length > 0) throw new CommandError(problems.join('; '));
  return values;
}

/** Reads the addresses and the name of the service. Throws a {@link CommandError} that names every wrong one. */
export function readUrls(): SiteUrls {
  return readSettings((read) => ({
    site: read('SITE_URL', toBaseUrl, baseUrlRule),
    service: read('PUBLIC_URL', toBaseUrl, baseUrlRule),
    support: read('SUPPORT_URL', toPageUrl, pageUrlRule),
    name: read('SITE_NAME'),
  }));
}

/** The settings of the folders, and their defaults. */
const folders = { CONTENT_DIR: 'content', CATALOG_DIR: 'catalog', DIST_DIR: 'dist' };

/** A folder: the option, else its setting from the environment or .env as in the server, else its default. */
export function resolveFolder(setting: keyof typeof folders, option: string | undefined): string {
  return resolve(option ?? readSettings((read) => read(setting)) ?? folders[setting]);
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

/** The day of a build from `--now`, YYYY-MM-DD; default today (UTC). */
export async function readDay(now: string | undefined): Promise<string> {
  if (now === undefined) return new Date().toISOString().slice(0, 10);
  // Imported only if needed: loading zod takes longer than a build without changes.
  const { IsoDate } = await import('#contract/primitives.ts');
  if (IsoDate.safeParse(now).success) return now;
  throw new CommandError('--now must be a calendar date of the form YYYY-MM-DD');
}
