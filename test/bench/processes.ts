import { fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Load, SteadyLoad } from './client.ts';

/** A program and how to start it. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether standard output is discarded, as for a long log; it is kept by default. */
  readonly dropsOutput?: boolean;
}

const alive = new Set<ChildProcess>();
// No child outlives this process, however it exits.
process.once('exit', () => alive.forEach((child) => child.kill('SIGKILL')));

/** Kills a child when this process exits. */
function track<Child extends ChildProcess>(child: Child): Child {
  alive.add(child);
  child.once('exit', () => alive.delete(child));
  return child;
}

/** A started process, and its output so far. */
export interface Started {
  readonly child: ChildProcess;
  readonly printed: () => string;
  /** Sends SIGKILL and waits until the process has ended. */
  readonly kill: () => Promise<void>;
}

/** Starts a program and keeps its output. The environment of the caller is not passed on, so that runs are alike. */
export function start({ program, args, cwd, env, dropsOutput = false }: Command): Started {
  const child = track(
    spawn(program, args, {
      cwd,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
      stdio: ['ignore', dropsOutput ? 'ignore' : 'pipe', 'pipe'],
    }),
  );
  let printed = '';
  child.on('error', (error) => (printed += error.message));
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const ended = new Promise<void>((done) => {
    child.once('error', () => done());
    child.once('exit', () => done());
  });
  return {
    child,
    printed: () => printed,
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Starts client.ts in a process of its own. `measure` throws if the client or a response fails. */
export function forkClient<Measured>() {
  const client = track(
    fork(join(import.meta.dirname, 'client.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );
  const ended = once(client, 'exit').then(() => [{ failure: 'the client ended' }]);
  return {
    async measure(load: Load | SteadyLoad, explain = (): string => ''): Promise<Measured> {
      const answer = Promise.race([once(client, 'message'), ended]);
      client.send(load);
      const [measured] = (await answer) as [Measured & { failure?: string }];
      if (measured.failure !== undefined) throw new Error(`${measured.failure}; ${explain()}`);
      return measured;
    },
    kill: () => client.kill(),
  };
}

/** The cost of a command and all processes that it started. */
interface Cost {
  /** User and system time. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  /** The sum of the peaks of resident memory (VmHWM) of its processes. */
  readonly peakMegabytes: number;
}

/** The unit of times in /proc; 100 in a second on every Linux that Node.js runs on. */
const ticksPerSecond = 100;
const sampleMs = 10;

/**
 * The CPU time of the live threads of a process so far, in seconds. It has nanosecond resolution; the ticks of `stat`
 * are too coarse for a start or a short window. Threads that have ended are not counted.
 */
export function readCpu(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const times = readdirSync(tasks).map((task) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]),
  );
  return times.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e9;
}

/** The CPU time of a process and all its live descendants. */
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

/** The CPU time of a process itself, and of the children that it has waited for. */
function readTimes(pid: number | 'self'): [own: number, waited: number] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The process name before the last bracket may contain any character.
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
 * Runs a command and measures it. Only one may run at a time, since the kernel gives the time of ended children only as
 * a sum. Throws with the output if the command fails, or if it does not fail with the expected message.
 */
export async function measure(command: Command, failure?: string): Promise<Cost> {
  const peaks = new Map<number, number>();
  let helpers = new Map<number, number>();
  let sampledSeconds = 0;
  const sample = (pid: number, cpu: Map<number, number>, depth: number): void => {
    try {
      peaks.set(pid, Math.max(peaks.get(pid) ?? 0, readPeak(pid)));
      const [own, waited] = readTimes(pid);
      if (depth > 0) cpu.set(pid, own);
      else sampledSeconds = own + waited;
      for (const child of childrenOf(pid)) sample(child, cpu, depth + 1);
    } catch {
      // The process has just ended.
    }
  };

  const [, before] = readTimes('self');
  const started = performance.now();
  const { child, printed } = start(command);
  const timer = setInterval(() => {
    const sampled = new Map<number, number>();
    sample(child.pid!, sampled, 0);
    helpers = sampled;
  }, sampleMs);
  let wall = 0;
  child.once('exit', () => (wall = (performance.now() - started) / 1000));
  const [code] = (await once(child, 'close').finally(() => clearInterval(timer))) as [number | null];
  const ended = failure === undefined ? code === 0 : code === 1 && printed().includes(failure);
  if (!ended) throw new Error(`${command.program} ${command.args.join(' ')} ended with ${code}:\n${printed()}`);
  const [, after] = readTimes('self');
  // Helpers that outlive the command by a moment, such as esbuild's, are missing from the time of ended children. If
  // the command waited for them at its end, its own time has grown by theirs since the last sample.
  const helped = [...helpers.values()].reduce((sum, cpu) => sum + cpu, 0);
  const waited = after - before;
  return {
    cpuSeconds: waited - sampledSeconds < helped ? waited + helped : waited,
    wallSeconds: wall,
    peakMegabytes: [...peaks.values()].reduce((sum, peak) => sum + peak, 0),
  };
}
