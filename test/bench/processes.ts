import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

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
export function track<Child extends ChildProcess>(child: Child): Child {
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
