import { join } from 'node:path';
import { vi } from 'vitest';
import { runGenerator } from '../../generator/commands/index.ts';
import type { CommandResult } from '../helpers/project.ts';

/** Runs a generator command in this process, because a new process takes half a second to load the program. */
export async function runCommand(...args: readonly string[]): Promise<CommandResult> {
  const written = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name] += String(text);
      return true;
    }),
  );
  process.exitCode = undefined;
  try {
    const status = await runGenerator(args);
    return { status: status === 1 || process.exitCode === 1 ? 1 : 0, ...written };
  } finally {
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
  }
}

/** Runs a generator command in this process as if in a working directory. */
export async function runIn(root: string, ...args: readonly string[]): Promise<CommandResult> {
  const cwd = vi.spyOn(process, 'cwd').mockReturnValue(root);
  return runCommand(...args).finally(() => cwd.mockRestore());
}

/** Creates the result of a command that is refused with a message. */
export const refusal = (message: string): CommandResult => ({ status: 1, stdout: '', stderr: `${message}\n` });

/** Creates the options for the sources of a project. */
export function foldersOf(root: string): string[] {
  return ['--content', join(root, 'content'), '--catalog', join(root, 'catalog')];
}
