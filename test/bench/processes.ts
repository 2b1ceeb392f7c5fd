import { fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Load, SteadyLoad } from './client.ts';
import type { Figures } from './table.ts';

/** A program and its start options. */
export interface Command {
  /** Default: Node.js. */
  readonly program?: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Discard standard output, as for a long log. Default: keep it. */
  readonly dropsOutput?: boolean;
}

const alive = new Set<ChildProcess>();
// No child outlives this process, however it exits.
process.once('exit', () => alive.forEach((child) => child.kill('SIGKILL')));

function track<Child extends ChildProcess>(child: Child): Child {
  alive.add(child);
  child.once('exit', () => alive.delete(child));
  return child;
}

/** A started process. */
export type Started = ReturnType<typeof start>;

/** Starts a program and keeps its output. Does not inherit the environment, so runs are reproducible. */
export function start({ program = process.execPath, args, env, dropsOutput = false }: Command) {
  const child = track(
    spawn(program, args, {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
      stdio: ['ignore', dropsOutput ? 'ignore' : 'pipe', 'pipe'],
    }),
  );
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  }
  const ended = once(child, 'exit');
  return {
    child,
    pid: child.pid!,
    /** The output so far. */
    printed: () => printed,
    /** Sends SIGKILL and waits until the process has ended. */
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Starts client.ts in a separate process. After a failure, the process prints the reason and `measure` throws. */
export function forkClient() {
  // Without `--import`, whose path is relative to the folder of the project.
  const client = track(fork(join(import.meta.dirname, 'client.ts'), { execArgv: [] }));
  const ended = once(client, 'exit');
  return {
    async measure(load: Load | SteadyLoad, explain: () => string): Promise<Figures> {
      const answer = Promise.race([once(client, 'message'), ended]);
      client.send(load);
      const [figures] = (await answer) as [Figures];
      if (client.exitCode !== null) throw new Error(`the client failed: ${explain()}`);
      return figures;
    },
    kill: () => client.kill(),
  };
}

/** Ticks per second of times in /proc: 100 on every Linux that Node.js supports. */
const ticksPerSecond = 100;
const sampleMs = 10;

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/**
 * CPU time of a process's live threads so far, in seconds. Ended threads are not counted. The resolution is a
 * nanosecond; the ticks of `stat` are too coarse for a start or a short window.
 */
export function readCpu(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const times = readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]);
  return sum(times.map(Number)) / 1e9;
}

/** CPU time of a process and all its live descendants. */
export function readTreeCpu(pid: number): number {
  return readCpu(pid) + sum(childrenOf(pid).map(readTreeCpu));
}

/** Resident memory of a process (VmRSS) or its peak (VmHWM), in MB. */
export function readMemory(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status) ?? [];
  return Number(kilobytes ?? 0) / 1024;
}

/** CPU time of a process and of the children that it has waited for. */
function readTimes(pid: number | 'self'): [own: number, waited: number] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The process name, before the last bracket, may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system, waitedUser, waitedSystem] = fields.slice(11, 15).map((ticks) => Number(ticks) / ticksPerSecond);
  return [user! + system!, waitedUser! + waitedSystem!];
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  return children.filter((child) => child.trim() !== '').map(Number);
}

/**
 * Runs a command and measures the user and system time and the sum of peak memory of all its processes. Only one may
 * run at a time, because the kernel reports the time of ended children only as a sum. Throws the output if the command
 * fails, or if an expected failure has another message.
 */
export async function measure(command: Command, failure?: string) {
  const peaks = new Map<number, number>();
  /** Time of the command and the children that it has waited for, at the last sample. */
  let sampled = 0;
  /** Time of its live descendants, at the last sample. */
  let helped = 0;
  const [, before] = readTimes('self');
  const started = performance.now();
  const { child, pid: root, printed } = start(command);
  /** Takes a sample of a process and its descendants, and returns the time of the descendants. */
  const sample = (pid: number): number => {
    let descendants = 0;
    try {
      peaks.set(pid, Math.max(peaks.get(pid) ?? 0, readMemory(pid, 'VmHWM')));
      if (pid === root) sampled = sum(readTimes(pid));
      for (const one of childrenOf(pid)) descendants += readTimes(one)[0] + sample(one);
    } catch {
      // The process ended in the meantime.
    }
    return descendants;
  };
  const timer = setInterval(() => (helped = sample(root)), sampleMs);
  let wallSeconds = 0;
  child.once('exit', () => (wallSeconds = (performance.now() - started) / 1000));
  const [code] = (await once(child, 'close').finally(() => clearInterval(timer))) as [number | null];
  const isExpected = failure === undefined ? code === 0 : code === 1 && printed().includes(failure);
  if (!isExpected) throw new Error(`${command.args.join(' ')} ended with ${code}:\n${printed()}`);
  // The time of ended children lacks helpers that briefly outlive the command, such as esbuild's. If the command waited
  // for them at its end, its own time grew by theirs since the last sample.
  const waited = readTimes('self')[1] - before;
  const cpuSeconds = waited - sampled < helped ? waited + helped : waited;
  return { cpuSeconds, wallSeconds, peakMegabytes: sum([...peaks.values()]) };
}
