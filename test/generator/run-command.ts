import { join } from 'node:path';
import { vi } from 'vitest';
import { runGenerator } from '../../generator/commands/index.ts';

/** Runs a generator command in this process. In test/slow/ they run as child processes. */
export async function runCommand(
  ...args: readonly string[]
): Promise<{ stdout: string; stderr: string; failed: boolean }> {
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
    return { ...written, failed: status === 1 || process.exitCode === 1 };
  } finally {
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
  }
}

/** The options that name the sources of a project. */
export function foldersOf(root: string): string[] {
  return ['--content', join(root, 'content'), '--catalog', join(root, 'catalog')];
}
