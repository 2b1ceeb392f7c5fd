import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { problems } from '#contract/problem.ts';
import type { Logger } from '../../../log.ts';
import type { Guard } from './guard.ts';
import type { Output } from './output.ts';
import { offline, toRefusal } from '../../../upstream/reply.ts';
import { ProviderError } from '../../../upstream/error.ts';
import type { GameState } from '../types.ts';

/** How a local server is run. */
export interface Command {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
}

/** A server that is a process of this machine, with all that it starts. */
export interface LocalProcess {
  readonly state: () => GameState;
  /** Starts it, or once it has stopped; a server that runs is left as it is. Throws a ProviderError. */
  start(): Promise<void>;
  /** Asks it to end, and ends it after the grace. */
  stop(): void;
  /** Stops it and starts it again; starts one that is offline. */
  restart(): Promise<void>;
  /** Ends it at once, and starts it again where that is wanted. */
  kill(again: boolean): Promise<void>;
  /** Writes a line to its standard input. Throws a ProviderError. */
  write(line: string): Promise<void>;
  /** Tells each new state; answers how to stop that. */
  follow(status: (state: GameState) => void): () => void;
  /** Stops it for good. */
  close(): Promise<void>;
}

/** A child process, and the group of all that it starts. */
interface Running {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  killTimer?: NodeJS.Timeout;
  /** When the group was sent SIGKILL. */
  killedAt: number;
  /** Whether the group is known to be gone: its id may be that of strangers by now. */
  gone: boolean;
}

/** How long a write may take, and what was printed to be read after the end. */
const patienceMs = 1000;
const reapMs = 500;

/** Creates a server that is offline. */
export function createLocalProcess(options: Command, output: Output, guard: Guard, log: Logger): LocalProcess {
  const followers = new Set<(state: GameState) => void>();
  let state: GameState = 'offline';
  let current: Running | undefined;
  let starting: Promise<void> | undefined;
  let ending: Promise<void> | undefined;
  /** Whether it is to be started once it has stopped. */
  let again = false;
  let closed = false;

  const become = (next: GameState): void => {
    if (state === next) return;
    state = next;
    for (const follower of followers) follower(next);
  };
  const run = async (): Promise<void> => {
    const [program = '', ...args] = options.command;
    const { cwd, env } = options;
    become('starting');
    let started: Running['child'];
    try {
      // A group of its own, so that a signal reaches all that it starts, and a terminal's Ctrl-C does not.
      started = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
      await once(started, 'spawn');
    } catch (error) {
      become('offline');
      throw toRefusal(`${program} cannot be started: ${(error as Error).message}`);
    }
    started.on('error', (error) => log.error({ err: error }, 'a local server failed'));
    // Told to whoever writes.
    started.stdin.on('error', () => undefined);
    current = { child: started, killedAt: Number.POSITIVE_INFINITY, gone: false };
    guard.add(started.pid!);
    ending = end(current);
    become('running');
  };
  const start = (): Promise<void> => {
    if (closed) return Promise.reject(toRefusal('the provider is closed'));
    // One that has ended is read to its last line first.
    if (state === 'stopping' || current?.gone) again = true;
    else if (state === 'offline') starting = run();
    return starting ?? Promise.resolve();
  };
  const stop = (): void => {
    again = false;
    if (state === 'starting') void starting?.then(stop, () => undefined);
    if (!current || state === 'stopping') return;
    become('stopping');
    terminate(current);
  };
  const terminate = (target: Running): void => {
    if (signal(target, 'SIGTERM')) target.killTimer = setTimeout(() => killGroup(target), options.graceMs);
  };
  const killGroup = (target: Running): void => {
    target.killedAt = performance.now();
    signal(target, 'SIGKILL');
  };
  /** Waits for the end of a server, and of all that it started. */
  const end = async (target: Running): Promise<void> => {
    const { child } = target;
    const pumps = Promise.all([output.pump(child.stdout), output.pump(child.stderr)]);
    await new Promise((exited) => child.once('exit', exited));
    if (signal(target, 0)) {
      if (state !== 'stopping') terminate(target);
      become('stopping');
      // Past the SIGKILL all that is left is what nobody reaps, as in a container without an init.
      while (signal(target, 0) && performance.now() - target.killedAt < reapMs) await sleep(25);
    }
    target.gone = true;
    guard.remove(child.pid!);
    await Promise.race([pumps, sleep(patienceMs, undefined, { ref: false })]);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    clearTimeout(target.killTimer);
    current = undefined;
    starting = undefined;
    become('offline');
    if (!again || closed) return;
    again = false;
    start().catch((error: unknown) => log.error({ err: error }, 'a local server cannot be started again'));
  };
  return {
    state: () => state,
    start,
    stop,
    restart() {
      if (state === 'offline' || state === 'starting') return start();
      stop();
      again = true;
      return Promise.resolve();
    },
    kill(startAgain) {
      if (state === 'offline') return startAgain ? start() : Promise.resolve();
      if (state === 'starting') return start().then(() => this.kill(startAgain));
      again = startAgain;
      become('stopping');
      killGroup(current!);
      return Promise.resolve();
    },
    async write(line) {
      const stdin = current?.child.stdin;
      if (state !== 'running' || !stdin?.writable) throw toRefusal('the local server is not running', offline);
      // What it does not read would pile up here.
      if (stdin.writableLength > 0) throw toRefusal('the local server does not read its input');
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const fail = (cause: unknown): void =>
        reject(new ProviderError(problems.provider_error.message, { outcome: 'unknown', cause }));
      const timer = setTimeout(() => fail(new Error('the local server does not read its input')), patienceMs);
      stdin.write(`${line}\n`, (error) => (error ? fail(error) : resolve()));
      await promise.finally(() => clearTimeout(timer));
    },
    follow(follower) {
      followers.add(follower);
      return () => followers.delete(follower);
    },
    async close() {
      closed = true;
      await starting?.catch(() => undefined);
      stop();
      await ending;
      await output.close();
    },
  };
}

/** Sends a signal to the group of a server; 0 only asks whether anything of it is left. False where nothing is. */
function signal({ child, gone }: Running, name: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  if (gone) return false;
  try {
    return process.kill(-child.pid!, name);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
