import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runGenerator, temporaryFolder } from '../helpers/project.ts';
import type { CommandResult } from '../helpers/project.ts';

/** The result of a command of the generator, its CPU time and its peak memory. */
export interface Measured extends CommandResult {
  readonly cpuSeconds: number;
  readonly peakMebibytes: number;
}

/** Runs a command of the generator as a child process, and measures it. */
export async function measureGenerator(args: readonly string[], cwd: string): Promise<Measured> {
  const memory = join(temporaryFolder(), 'peak');
  const result = await runGenerator(args, {
    cwd,
    env: {
      NODE_OPTIONS: `--import=${new URL('./peak-memory.ts', import.meta.url).href}`,
      PEAK_MEMORY_FILE: memory,
    },
  });
  const [maxRss, cpu] = readFileSync(memory, 'utf8').split(' ').map(Number) as [number, number];
  return { ...result, cpuSeconds: cpu / 1e6, peakMebibytes: maxRss / 1024 };
}
