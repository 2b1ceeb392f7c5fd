import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { SiteUrls } from '../articles/feed.ts';
import { CommandError } from '../common/command-line.ts';
import { baseUrlRule, readVariable, toBaseUrl } from '../common/environment.ts';

/** Reads DIST_DIR as the server does; default `dist`. */
export function readDistDir(): string {
  const problems: string[] = [];
  const folder = readVariable('DIST_DIR', readEnvironment(), (problem) => problems.push(problem));
  if (problems.length > 0) throw new CommandError(problems.join('; '));
  return resolve(folder ?? 'dist');
}

/** Reads the addresses of the website and of the service. Throws a {@link CommandError} that names every wrong one. */
export function readUrls(): SiteUrls {
  const environment = readEnvironment();
  const problems: string[] = [];
  const read = (name: string): string | undefined => {
    const text = readVariable(name, environment, (problem) => problems.push(problem));
    const url = text === undefined ? undefined : toBaseUrl(text);
    if (text !== undefined && url === undefined) problems.push(`${name}: ${baseUrlRule}`);
    return url;
  };
  const urls = { site: read('SITE_URL'), service: read('PUBLIC_URL') };
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
