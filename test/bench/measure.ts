import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { start } from './processes.ts';
import type { Command } from './processes.ts';

/** What a command cost, with all processes that it started. */
interface Cost {
  /** User and system time. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  /** The peaks of resident memory (VmHWM) of its processes, added up. */
  readonly peakMegabytes: number;
}

/** The unit of times in /proc; 100 in a second on every Linux that Node.js runs on. */
const ticksPerSecond = 100;
const sampleMs = 10;

/**
 * The time that the threads of a process have run so far, in seconds: to the nanosecond, where `stat` counts in ticks
 * that are too coarse for a start or a short window. Those that have ended are not in it.
 */
export function readCpu(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const times = readdirSync(tasks).map((task) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]),
  );
  return times.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e9;
}

/** The same of a process and all its descendants that have not ended. */
export function readTreeCpu(pid: number): number {
  return readCpu(pid) + childrenOf(pid).reduce((sum, child) => sum + readTreeCpu(child), 0);
}

/** The resident memory of a process, in MB. */
export function readResident(pid: number): number {
  return readStatus(pid, 'VmRSS');
}

/** The peak of resident memory of a process, in MB. */
export function readPeak(pid: number): number {
  return readStatus(pid, 'VmHWM');
}

function readStatus(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status) ?? [];
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
 * Throws with all that the command said where it fails, or where it does not fail with the expected words.
 */
export async function measure(command: Command, failure?: string): Promise<Cost> {
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
  const { child, said } = start(command);
  const timer = setInterval(() => {
    const alive = new Map<number, number>();
    sample(child.pid!, alive, 0);
    helpers = alive;
  }, sampleMs);
  let wall = 0;
  child.once('exit', () => (wall = (performance.now() - started) / 1000));
  const [code] = (await once(child, 'close').finally(() => clearInterval(timer))) as [number | null];
  const ended = failure === undefined ? code === 0 : code === 1 && said().includes(failure);
  if (!ended) throw new Error(`${command.program} ${command.args.join(' ')} ended with ${code}:\n${said()}`);
  const [, after] = readTimes('self');
  // Helpers that outlive the command by a moment, such as esbuild's, are not waited for here. Those that it did
  // wait for at its very end have made its own time leap since it was last looked at.
  const helped = [...helpers.values()].reduce((sum, cpu) => sum + cpu, 0);
  const waited = after - before;
  return {
    cpuSeconds: waited - known < helped ? waited + helped : waited,
    wallSeconds: wall,
    peakMegabytes: [...peaks.values()].reduce((sum, peak) => sum + peak, 0),
  };
}
