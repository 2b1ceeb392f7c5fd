import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { Command, OptionValues } from '@commander-js/extra-typings';
import type { SiteUrls } from '../articles/feed.ts';
import { CommandError } from '../common/command-line.ts';
import { baseUrlRule, defaultFolders, pageUrlRule, readVariable, toBaseUrl, toPageUrl } from '../common/environment.ts';
import { createFolder } from '../common/files.ts';

/** The flags of the options that a function adds to a command. */
type FlagsOf<Add extends (command: Command) => { opts(): unknown }> = Readonly<ReturnType<ReturnType<Add>['opts']>>;

export function addOut<Flags extends OptionValues>(command: Command<[], Flags>) {
  return command.option('--out <DIR>', 'the folder of releases; default: DIST_DIR or dist', notEmpty('a folder'));
}
export type OutFlag = Pick<CheckFlags, 'out'>;

function addSourceOptions(command: Command) {
  return addContent(command)
    .option('--catalog <DIR>', 'plans, domains and monitors; default: CATALOG_DIR or catalog', notEmpty('a folder'))
    .addOption(new Option('--lenient', 'report dead links and missing media as warnings').conflicts('strict'))
    .option('--strict', 'report warnings as errors');
}

function addContent<Flags extends OptionValues>(command: Command<[], Flags>) {
  return command.option('--content <DIR>', 'Markdown and media; default: CONTENT_DIR or content', notEmpty('a folder'));
}

export function addCheckOptions(command: Command) {
  const formats = new Option('--format <FORMAT>', 'output format of problems').choices(['text', 'json', 'github']);
  const options = addSourceOptions(command)
    .option(
      '--against <DIR|URL>',
      'the online release: an output folder, or the URL of a service; default: --out',
      notEmpty('a folder or a URL'),
    )
    .option('--now <YYYY-MM-DD>', 'the day of the build; default: today (UTC)')
    .option('--allow-empty', 'allow lists that are online to become empty, except for the plans')
    .option('--threads <N>', 'the number of render threads; default: automatic')
    .addOption(formats.default('text' as const));
  return addOut(options);
}
type CheckFlags = FlagsOf<typeof addCheckOptions>;

export function addBuildOptions(command: Command) {
  return addCheckOptions(command)
    .option('--preview <DIR>', 'write all articles, drafts too, as a folder of pages', notEmpty('a folder'))
    .option('--no-cache', 'render every article again')
    .addOption(
      new Option('--compress <LEVEL>', 'compression level').choices(['fast', 'best']).default('fast' as const),
    );
}
export type BuildFlags = CheckFlags & Partial<FlagsOf<typeof addBuildOptions>>;

export function addDevOptions(command: Command) {
  return addOut(addSourceOptions(command))
    .option('--no-serve', 'build without starting a server')
    .option('--no-drafts', 'leave out drafts and scheduled articles')
    .option('--now <YYYY-MM-DD>', 'the day of the builds; default: today (UTC)');
}
export type DevFlags = FlagsOf<typeof addDevOptions>;

export function addCmsOptions(command: Command) {
  return command
    .option('--out <DIR>', 'the folder to write', notEmpty('a folder'))
    .addOption(new Option('--backend <NAME>', 'the git host').choices(['github', 'gitlab', 'gitea'] as const))
    .option('--repository <OWNER/NAME>', 'the repository, or its https address on a host of your own')
    .option('--branch <NAME>', 'its branch; default: main, for gitea editors')
    .option('--sign-in <ID|URL>', 'the ID of the OAuth application, for github the URL of the OAuth service');
}
export type CmsFlags = FlagsOf<typeof addCmsOptions>;

export function addNewOptions(command: Command) {
  const options = command
    .option('--category <NAME>', 'the folder of the category')
    .option('--new-category', 'create the category')
    .option('--slug <NAME>', 'the last part of the address; default: derived from the title')
    .option('--author <NAME>', 'the name of the author; default: user.name of git');
  return addContent(options);
}
export type NewFlags = FlagsOf<typeof addNewOptions>;

/** Rejects an empty value, as in `--out=$UNSET`, which would mean the working directory. */
const notEmpty =
  (noun: string) =>
  (value: string): string => {
    if (value === '') throw new InvalidArgumentError(`It must be ${noun}.`);
    return value;
  };

/** Reads a setting; `parse` returns undefined if the text violates the rule. */
type Read = (name: string, parse?: (text: string) => string | undefined, rule?: string) => string | undefined;

/** Reads settings from the environment and `.env`. Throws a {@link CommandError} that names all invalid settings. */
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

/** Reads the addresses and the name of the service, and its source of domain prices. */
export function readUrls(): SiteUrls {
  return readSettings((read) => ({
    site: read('SITE_URL', toBaseUrl, baseUrlRule),
    service: read('PUBLIC_URL', toBaseUrl, baseUrlRule),
    support: read('SUPPORT_URL', toPageUrl, pageUrlRule),
    name: read('SITE_NAME'),
    prices: read('DOMAIN_PRICES'),
  }));
}

/** Resolves a folder: the option, else the setting from the environment or `.env`, else the default. */
export function resolveFolder(setting: keyof typeof defaultFolders, option?: string): string {
  return resolve(option ?? readSettings((read) => read(setting)) ?? defaultFolders[setting]);
}

/** Creates the folder of releases if missing, and returns the path. */
export function createOut(option: string | undefined): string {
  return createNamed(resolveFolder('DIST_DIR', option), option === undefined ? 'DIST_DIR' : '--out');
}

/** Creates a folder, named by an option or a setting, if missing, and returns the path. */
export function createNamed(folder: string, name: string): string {
  try {
    createFolder(folder);
  } catch (error) {
    throw new CommandError(`${name}: the folder cannot be created (${(error as NodeJS.ErrnoException).code})`);
  }
  return folder;
}

/** Reads the day of a build from `--now`; default: today (UTC). */
export async function readDay(now: string | undefined): Promise<string> {
  if (now === undefined) return new Date().toISOString().slice(0, 10);
  // Imported on demand: loading zod takes longer than a build without changes.
  const { IsoDate } = await import('#contract/primitives.ts');
  if (IsoDate.safeParse(now).success) return now;
  throw new CommandError('--now must be a calendar date of the form YYYY-MM-DD');
}
