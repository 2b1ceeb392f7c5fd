import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';

/** The time over which CPU use is measured. */
const measureMs = 500;

/** A clock tick of /proc; it is part of the interface of Linux to programs. */
const tickMs = 10;

/** What the processes of a group use, as Linux counts it. */
interface Sample {
  readonly at: number;
  /** The CPU time of each process in milliseconds, by its id. */
  readonly cpuMs: ReadonlyMap<string, number>;
  readonly memoryBytes: number;
}

/** The statistics of a local server that does not run. */
export const unused: ConsoleStats = { ...unknownStats, cpu: 0, memory_bytes: 0 };

/**
 * Reads what a process group uses, over half a second. Only CPU and memory are known: the disk and the network are shared
 * with this machine's other processes. Memory that processes of the group share counts for each. Never rejects.
 */
export async function readUsage(group: number): Promise<ConsoleStats> {
  const first = await readSample(group);
  await sleep(measureMs, undefined, { ref: false });
  const last = await readSample(group);
  if (!first || !last) return unknownStats;
  const used = [...last.cpuMs].reduce((sum, [id, ms]) => sum + Math.max(0, ms - (first.cpuMs.get(id) ?? 0)), 0);
  const cpu = Math.round((used / (last.at - first.at)) * 1000) / 10;
  return { ...unknownStats, cpu, memory_bytes: last.memoryBytes };
}

/** Undefined if there is no /proc, or no process of the group. */
async function readSample(group: number): Promise<Sample | undefined> {
  const at = performance.now();
  const names = await readdir('/proc').catch(() => []);
  const found = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map((id) => readProcess(id, group)));
  const processes = found.filter((one) => one !== undefined);
  if (processes.length === 0) return undefined;
  return {
    at,
    cpuMs: new Map(processes.map(({ id, cpuMs }) => [id, cpuMs])),
    memoryBytes: processes.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
  };
}

/** Reads a process; undefined if it is of another group, or has ended. */
async function readProcess(id: string, group: number) {
  const stat = await readText(`/proc/${id}/stat`);
  // The second field is the name of the program in parentheses, which may hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[2] !== String(group)) return undefined;
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(await readText(`/proc/${id}/status`)) ?? [];
  return {
    id,
    cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs,
    memoryBytes: Number(kilobytes) * 1024,
  };
}

async function readText(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch(() => '');
}
