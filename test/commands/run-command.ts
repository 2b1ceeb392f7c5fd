import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { readStoreEnv } from '../../server/store/env.ts';
import { openStore } from '../../server/store/index.ts';
import type { ApiKeyRecord, Store } from '../../server/store/types.ts';
import { temporaryFolder } from '../helpers/project.ts';
import type { CommandResult } from '../helpers/project.ts';

/** The operator's command line over a store of one test. */
export interface CommandLine {
  /** The folder that the commands run in. */
  readonly folder: string;
  /** The same store, as a running server has it open. */
  readonly store: Store;
  readonly run: (...args: string[]) => Promise<CommandResult>;
  /** Runs a command that must succeed, and answers what it printed, parsed. */
  readonly json: (...args: string[]) => Promise<unknown>;
}

/** Makes an empty store, in a SQLite file unless the settings say otherwise. */
export async function createCommandLine(settings: Readonly<Record<string, string>> = {}): Promise<CommandLine> {
  const root = temporaryFolder();
  const folder = join(root, 'cwd');
  mkdirSync(folder);
  const env = { DATA_DIR: join(root, 'data'), ...settings };
  const store = await openStore(readStoreEnv(env));
  onTestFinished(() => store.close());
  const run = (...args: string[]) => runCommand(args, { cwd: folder, env });
  return {
    folder,
    store,
    run,
    async json(...args) {
      const { status, stdout, stderr } = await run(...args);
      if (status !== 0) throw new Error(`${args.join(' ')}: ${status}\n${stderr}`);
      return JSON.parse(stdout) as unknown;
    },
  };
}

/** What `create` and `rotate` print for machines, as far as tests ask for it. */
export interface ShownKey {
  readonly id: string;
  readonly key: string;
}

/** Creates a key that may see the power of one game server, but for what the arguments say. */
export async function createKey({ json }: CommandLine, ...args: string[]): Promise<ShownKey> {
  const key = ['--server', 'game:a', '--scope', 'game-power:read'];
  return (await json('keys', 'create', ...key, '--json', ...args)) as ShownKey;
}

/** The one key that there is. */
export async function onlyKey({ store }: CommandLine): Promise<ApiKeyRecord> {
  const [key, ...others] = await store.apiKeys.list();
  expect(others).toEqual([]);
  return key!;
}

/** Runs one of the operator's commands as a process of its own, as npm would. */
export function runCommand(
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<CommandResult> {
  const main = resolve(import.meta.dirname, '../../server/commands/main.ts');
  const clean = Object.entries(process.env).filter(([name]) => !/^(?:DATA_DIR|DATABASE_URL)/.test(name));
  return new Promise((done) => {
    execFile(
      process.execPath,
      [main, ...args],
      { cwd, env: { ...Object.fromEntries(clean), ...env } },
      (error, stdout, stderr) => done({ status: error ? (error.code ?? error.signal ?? 'failed') : 0, stdout, stderr }),
    );
  });
}
