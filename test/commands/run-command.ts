import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Writable } from 'node:stream';
import { expect } from 'vitest';
import { runCommandLine } from '../../server/commands/run.ts';
import type { ApiKeyRecord } from '../../server/store/types.ts';
import { runProgram, temporaryFolder } from '../helpers/project.ts';
import type { CommandResult } from '../helpers/project.ts';
import { openTestStore } from '../store/target.ts';

/** The operator's command line with the store of a test. */
export type CommandLine = Awaited<ReturnType<typeof createCommandLine>>;

/** Creates an empty store, in SQLite unless the settings have another database. */
export async function createCommandLine(settings: Readonly<Record<string, string>> = {}) {
  const env: Readonly<Record<string, string>> = { DATA_DIR: join(temporaryFolder(), 'data'), ...settings };
  const store = await openTestStore(env);
  /** Runs a command in this process; test/slow/ runs the commands as child processes. */
  const run = (...args: string[]) => runHere(args, env);
  return {
    env,
    /** A second handle on the same store, like that of a running server. */
    store,
    run,
    /** Runs a command that must succeed, and returns its output parsed as JSON. */
    json: async (...args: string[]): Promise<unknown> => {
      const { status, stdout, stderr } = await run(...args);
      if (status !== 0) throw new Error(`${args.join(' ')}: ${status}\n${stderr}`);
      return JSON.parse(stdout);
    },
  };
}

/** The fields of the JSON output of `create` and `rotate` that tests use. */
export interface ShownKey {
  readonly id: string;
  readonly key: string;
}

/** Creates a key with read access to the power of a game server, unless the arguments differ. */
export async function createKey({ json }: CommandLine, ...args: string[]): Promise<ShownKey> {
  return (await json(...create, '--json', ...args)) as ShownKey;
}

/** The result of a successful command. */
export const succeeded = (stdout: string, stderr: unknown = ''): object => ({ status: 0, stdout, stderr });
/** The result of a refused command. */
export const refused = (stderr: unknown): object => ({ status: 1, stdout: '', stderr });
/** The result of a refused command whose single line begins with a message. */
export const refusedInLine = (message: string): object =>
  refused(expect.toSatisfy((text: string) => text.startsWith(message) && text.indexOf('\n') === text.length - 1));
/** The arguments that create a key for a game server. */
export const create = ['keys', 'create', '--server', 'game:a', '--scope', 'game-power:read'] as const;

/** Reads the entries of the audit log as printed. */
export async function readAudit({ run }: CommandLine, ...args: string[]): Promise<Record<string, unknown>[]> {
  const { stdout } = await run('audit', '--json', ...args);
  const lines = stdout.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Reads the only key of the store. */
export async function onlyKey({ store }: CommandLine): Promise<ApiKeyRecord> {
  const [key, ...others] = await store.apiKeys.list();
  expect(others).toEqual([]);
  return key!;
}

/** Runs an operator command in this process, with only these settings; `columns` makes its outputs a terminal. */
export async function runHere(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { out, installed, columns }: { out?: Writable; installed?: string; columns?: number } = {},
): Promise<CommandResult> {
  const written = { stdout: '', stderr: '' };
  const collect = (name: keyof typeof written) => {
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        written[name] += chunk.toString();
        done();
      },
    });
    return Object.assign(stream, { columns });
  };
  const status = await runCommandLine(args, {
    out: out ?? collect('stdout'),
    err: collect('stderr'),
    settings: () => env,
    ...(installed !== undefined && { installed }),
  });
  return { status, ...written };
}

/** Changes the database directly, without the store. */
export function damage({ env }: CommandLine, statement: string): void {
  const database = new DatabaseSync(join(env.DATA_DIR!, 'hosting.sqlite'));
  database.exec(statement);
  database.close();
}

/** An output that fails at every write. */
export function brokenOutput(code: string): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });
}

/** The entry file of the operator's commands. */
export const main = resolve(import.meta.dirname, '../../server/commands/main.js');

/** The environment of the tests with only these settings of the commands. */
export function environment(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const clean = Object.entries(process.env).filter(([name]) => !/^(?:DATA_DIR|DATABASE_URL|PROVIDERS_FILE)/.test(name));
  return { ...Object.fromEntries(clean), ...env };
}

/** Runs an operator command as a child process, like npm. */
export function runCommand(
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<CommandResult> {
  return runProgram(process.execPath, [main, ...args], { cwd, env: environment(env) });
}
