import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { delimiter, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { baseUrlRule, readVariable, toBaseUrl } from '#common/environment.ts';
import type { Environment } from '#common/environment.ts';
import { createFolder } from '#common/files.ts';
import packageJson from '../package.json' with { type: 'json' };
import { OperatorError } from './problem.ts';

/** The settings file of an installation (docs/install.md), next to `credentials/`. */
export const installedSettings = '/etc/hosting-api/settings.env';

/** Names the commands of npm in a text as they run here: in an installation, or, if PATH lacks npm, in a container. */
export function nameCommands(text: string, path: string | undefined, installed = installedSettings): string {
  const hasNpm = path === undefined || path.split(delimiter).some((folder) => existsSync(join(folder, 'npm')));
  const scripts: Readonly<Record<string, string>> = existsSync(installed) || hasNpm ? {} : packageJson.scripts;
  return text.replaceAll(/\bnpm run (?:-s )?(\w+)(?: --)?/g, (command, name: string) =>
    existsSync(installed) ? `hosting-api ${name}` : (scripts[name] ?? command),
  );
}

/** Creates the type of a setting with a fixed set of values. */
export const oneOf = <const Value extends string>(...values: Value[]) =>
  z.enum(values, `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`);

/** Creates the type of a whole number. */
export const integer = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(minimum, `must be at least ${minimum}`).max(maximum, `must be at most ${maximum}`));

/** A list of values separated by commas. */
export const List = z.string().transform((text) => text.split(',').flatMap((part) => part.trim() || []));

/** Creates the type of a URL that `parse` normalizes. */
export const url = (parse: (text: string) => string | undefined, rule: string) =>
  z.string().transform((text, context) => {
    const parsed = parse(text);
    if (parsed !== undefined) return parsed;
    context.addIssue(rule);
    return z.NEVER;
  });

/** The path of a regular file that can be read. */
export const ReadableFile = z.string().superRefine((file, context) => {
  try {
    accessSync(file, constants.R_OK);
    if (!statSync(file).isFile()) context.addIssue('must be a regular file');
  } catch (error) {
    context.addIssue(`the file cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
});

/** The URL below which paths are added. */
export const BaseUrl = url(toBaseUrl, baseUrlRule);

/** The version of the program in a folder, with its commit if known: 0.2.0+1a2b3c4d5e6f. */
export function readServiceVersion(root: string): string {
  const commit = readCommit(join(root, '.git')) ?? readLine(join(root, 'COMMIT'));
  return /^[0-9a-f]{40}$/.test(commit) ? `${packageJson.version}+${commit.slice(0, 12)}` : packageJson.version;
}

/** Reads the commit of a checkout without git, which may be missing or distrust the owner of the folder. */
function readCommit(git: string): string | undefined {
  const head = readLine(join(git, 'HEAD'));
  if (!head.startsWith('ref: ')) return head || undefined;
  const ref = head.slice('ref: '.length);
  const packed = readText(join(git, 'packed-refs')).split('\n');
  return readLine(join(git, ref)) || packed.find((line) => line.endsWith(` ${ref}`))?.split(' ', 1)[0];
}

const readLine = (file: string): string => readText(file).split('\n', 1)[0]!;

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Settings that several parts of the server read. */
export const SharedSettings = z.object({
  DATA_DIR: z.string().default('.data').describe('The folder of SQLite and of the logs of local servers.'),
  // For other texts, also an address with a zone, listhen would listen on localhost or on every address.
  HOST: z
    .string()
    .refine(
      (host) => (isIP(host) !== 0 && !host.includes('%')) || /^(?!-)[\dA-Za-z.-]{1,63}(?<!-)$/.test(host),
      'must be an IP address without a zone, or a host name',
    )
    .default('127.0.0.1')
    .describe('The address to listen on.'),
  PUBLIC_URL: BaseUrl.optional().describe(
    'The address at which clients reach the service, also for console streams; the default is the address it listens on. A build uses PUBLIC_URL for media in the feed, and as the first server of the OpenAPI document.',
  ),
  SERVICE_VERSION: z
    .string()
    .default(readServiceVersion(resolve(import.meta.dirname, '..')))
    .describe('The version in `/health` and `/v1/info`; the default is the version of package.json with the commit.'),
  // A panel waits 15 s for its node (GUZZLE_TIMEOUT).
  UPSTREAM_TIMEOUT_SECONDS: integer(1, 600).default(20).describe('The time limit of a panel or cloud for an action.'),
});
export type SharedSettings = z.infer<typeof SharedSettings>;

/** Invalid settings; the message has one line for each problem, and never a value. */
export class EnvError extends OperatorError {}

/** Reads settings from variables or `<NAME>_FILE`. Throws an {@link EnvError} with all problems. */
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
  // Parsed once: compiling a parser takes longer.
  const result = schema.safeParse(values, { jitless: true });
  for (const { path, message } of result.error?.issues ?? []) problems.push(`${path.join('.')}: ${message}`);
  if (result.success && problems.length === 0) return result.data;
  throw new EnvError(problems.join('\n'));
}

/** Throws an {@link EnvError} unless files can be created in a folder; with a mode, creates the folder first. */
export function checkFolder(setting: string, folder: string, mode?: number): void {
  // Permissions do not tell whether the file system accepts files.
  const trial = join(folder, `.${randomUUID()}.tmp`);
  try {
    if (mode !== undefined) createFolder(folder, mode);
    writeFileSync(trial, '');
    rmSync(trial);
  } catch (error) {
    throw new EnvError(`${setting}: files cannot be created in this folder (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Throws an {@link EnvError} if STATUS_FILE cannot be written. Does not create its folder: the path may be mistyped. */
export function checkStatusFile(file: string | undefined): void {
  if (file === undefined) return;
  checkFolder('STATUS_FILE', dirname(file));
  if (existsSync(file) && !statSync(file).isFile()) throw new EnvError('STATUS_FILE: not a regular file');
}
