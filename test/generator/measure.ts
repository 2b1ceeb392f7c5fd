import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runGenerator, temporaryFolder } from '../helpers/project.ts';
import type { CommandResult } from '../helpers/project.ts';

/** What a command of the generator left behind, the CPU that it took and how much memory it had at most. */
export interface Measured extends CommandResult {
  readonly cpuSeconds: number;
  readonly peakMebibytes: number;
}

/** Runs a command of the generator as a process of its own, and measures it. */
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
