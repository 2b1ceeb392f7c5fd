import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

/** A program, and how it is started. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether what it writes to standard output is thrown away, as a long log is; it is kept otherwise. */
  readonly dropsOutput?: boolean;
}

const alive = new Set<ChildProcess>();
// However this one ends, nothing that it started outlives it.
process.once('exit', () => alive.forEach((child) => child.kill('SIGKILL')));

/** Sees to it that a process ends with this one. */
export function track<Child extends ChildProcess>(child: Child): Child {
  alive.add(child);
  child.once('exit', () => alive.delete(child));
  return child;
}

/** A process that was started, and all that it said so far. */
export interface Started {
  readonly child: ChildProcess;
  readonly said: () => string;
  /** Ends when the process has: at once. */
  readonly kill: () => Promise<void>;
}

/** Starts a program whose words are kept; the environment of the caller is left out, so that it changes nothing. */
export function start({ program, args, cwd, env, dropsOutput = false }: Command): Started {
  const child = track(
    spawn(program, args, {
      cwd,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
      stdio: ['ignore', dropsOutput ? 'ignore' : 'pipe', 'pipe'],
    }),
  );
  let said = '';
  child.on('error', (error) => (said += error.message));
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<void>((done) => {
    child.once('error', () => done());
    child.once('exit', () => done());
  });
  return {
    child,
    said: () => said,
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
