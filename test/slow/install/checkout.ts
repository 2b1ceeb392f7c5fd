import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, join, resolve } from 'node:path';
import { ends } from '../../helpers/ends.ts';
import type { CommandResult } from '../../helpers/project.ts';

/** The project itself. */
export const repository = resolve(import.meta.dirname, '../../..');

const ignored = readFileSync(join(repository, '.gitignore'), 'utf8').split('\n');
const left = new Set(['.git', ...ignored.filter((line) => line !== '').map((line) => basename(line))]);

/** The Node.js and npm of the machine, without those that npm puts in front of them. */
const path = process.env.PATH!.split(delimiter).filter((folder) => !folder.includes('node_modules'));

/** The environment of a login: nothing of the npm that runs the tests. */
export const login = { PATH: path.join(delimiter), HOME: process.env.HOME ?? tmpdir() };

/** Copies the files of the project, as git has them, into a folder that is removed when the test file is done. */
export function checkOut(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hosting-api-'));
  ends.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  cpSync(repository, folder, { recursive: true, filter: (file) => !left.has(basename(file)) });
  return folder;
}

/** Runs a program to its end. */
export async function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  { cwd, env = login }: { cwd: string; env?: Readonly<Record<string, string>> },
): Promise<CommandResult> {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { status: code ?? signal!, stdout, stderr };
}
