import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/** What a command cost, with all processes that it started. */
export interface Cost {
  /** User and system time, in seconds. */
  readonly cpu: number;
  /** In seconds. */
  readonly wall: number;
  /** The peaks of resident memory (VmHWM) of its processes, added up, in MB. */
  readonly peak: number;
}

/** A command that can be measured. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The unit of times in /proc; 100 in a second on every Linux that Node.js runs on. */
const ticksPerSecond = 100;
const sampleMs = 10;

/** User and system time of a process since its start, in seconds. */
export function readCpu(pid: number | 'self'): number {
  const [own] = readTimes(pid);
  return own;
}

/** The peak of resident memory of a process, in MB. */
export function readPeak(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes ?? 0) / 1024;
}

/** The time of a process itself, and of the children that it has waited for. */
function readTimes(pid: number | 'self'): [own: number, waited: number] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name before the last bracket may hold anything.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  return [(fields[11]! + fields[12]!) / ticksPerSecond, (fields[13]! + fields[14]!) / ticksPerSecond];
}

function childrenOf(pid: number): number[] {
  const tasks = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return tasks === '' ? [] : tasks.split(' ').map(Number);
}

/**
 * Runs a command and measures it; one at a time, since the kernel tells the time of ended children only as a sum.
 * Throws with all that the command said where it fails.
 */
export async function measure({ program, args, cwd, env }: Command): Promise<Cost> {
  const peaks = new Map<number, number>();
  let helpers = new Map<number, number>();
  let known = 0;
  const sample = (pid: number, cpu: Map<number, number>, depth: number): void => {
    try {
      peaks.set(pid, Math.max(peaks.get(pid) ?? 0, readPeak(pid)));
      const [own, waited] = readTimes(pid);
      if (depth > 0) cpu.set(pid, own);
      else known = own + waited;
      for (const child of childrenOf(pid)) sample(child, cpu, depth + 1);
    } catch {
      // It has just ended.
    }
  };

  const [, before] = readTimes('self');
  const started = performance.now();
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const timer = setInterval(() => {
    const alive = new Map<number, number>();
    sample(child.pid!, alive, 0);
    helpers = alive;
  }, sampleMs);
  let wall = 0;
  child.once('exit', () => (wall = (performance.now() - started) / 1000));
  const [code] = (await once(child, 'close').finally(() => clearInterval(timer))) as [number | null];
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${said}`);
  const [, after] = readTimes('self');
  // Helpers that outlive the command by a moment, such as esbuild's, are waited for by nobody here. Those that it did
  // wait for at its very end have made its own time leap since it was last looked at.
  const helped = [...helpers.values()].reduce((sum, cpu) => sum + cpu, 0);
  const waited = after - before;
  const cpu = waited - known < helped ? waited + helped : waited;
  return { cpu, wall, peak: [...peaks.values()].reduce((sum, peak) => sum + peak, 0) };
}
