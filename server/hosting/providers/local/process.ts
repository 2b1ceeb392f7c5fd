import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsoleStats } from '#contract/console-stream.ts';
import { problems } from '#contract/problem.ts';
import type { Logger } from '../../../log.ts';
import { guardGroup } from './guard.ts';
import type { ServerLock } from './lock.ts';
import type { LocalServer } from './settings.ts';
import type { Output } from './output.ts';
import { offline as offlineMessage, toRefusal } from '../../../upstream/reply.ts';
import { ProviderError } from '../../../upstream/error.ts';
import { createMachine } from '../../state-table.ts';
import type { Machine } from '../../state-table.ts';
import type { GameState, PowerState } from '../types.ts';
import { offline, toNextState, toStatus } from './process-state.ts';
import type { ProcessCommand, ProcessEvent, ProcessState } from './process-state.ts';
import { readUsage, unused } from './usage.ts';

/** A local server: a process with its descendants. */
export interface LocalProcess {
  /** The status for console readers. */
  readonly status: () => GameState;
  /** The power state; `unknown` if another instance runs the server. */
  readonly state: () => PowerState;
  /** What it uses now. */
  usage(): Promise<ConsoleStats>;
  /** Runs a command; it awaits a start, but not an end. Throws a ProviderError. */
  power(command: Exclude<ProcessCommand, 'close'>): Promise<void>;
  /** Writes a line to stdin. Throws a ProviderError. */
  write(line: string): Promise<void>;
  /** Calls a follower with each new status; returns a function that stops it. */
  follow(follower: (status: GameState) => void): () => void;
  /** Ends the server for good, and waits until it has ended. */
  close(): Promise<void>;
}

/** The timeout of a write, and of reading the output after the end. */
const ioTimeoutMs = 1000;
const checkIntervalMs = 25;

/** Dependencies of a local server. */
export interface LocalProcessOptions {
  readonly server: LocalServer;
  readonly output: Output;
  /** Held from a start until the output of the server is read. */
  readonly lock: ServerLock;
  readonly log: Logger;
}

/** Creates a server that is offline. */
export function createLocalProcess({ server, output, lock, log }: LocalProcessOptions): LocalProcess {
  const followers = new Set<(status: GameState) => void>();
  const closed = Promise.withResolvers<void>();
  let group: ProcessGroup;
  let spawned: Promise<void>;
  let grace: NodeJS.Timeout | undefined;

  const dispatch = async (event: ProcessEvent): Promise<void> => void (await Promise.all(machine.dispatch(event)));
  const spawnLocked = async (): Promise<ProcessGroup> => {
    lock.acquire();
    const spawnedGroup = await spawnGroup(server, output, log);
    try {
      lock.describe(spawnedGroup.id);
    } catch (error) {
      // The server runs, and only the messages of other instances lack its holder.
      log.error({ err: error }, 'the holder of a local server cannot be written');
    }
    return spawnedGroup;
  };
  const start = async (): Promise<void> => {
    group = await spawnLocked().catch((error: unknown) => {
      lock.release();
      machine.dispatch({ type: 'failed' });
      throw error;
    });
    void group.exited.then(checkGroup);
    machine.dispatch({ type: 'spawned' });
  };
  const checkGroup = () => machine.dispatch({ type: group.signal(0) ? 'groupLeft' : 'groupGone' });
  const machine: Machine<ProcessState, ProcessEvent> = createMachine(
    offline,
    (state, event) => toNextState(state, event, performance.now()),
    {
      show: ({ status }) => followers.forEach((follower) => follower(status)),
      spawn: () => (spawned = start()),
      awaitSpawn: () => spawned,
      terminate() {
        group.signal('SIGTERM');
        grace = setTimeout(() => machine.dispatch({ type: 'graceOver' }), server.grace_seconds * 1000);
      },
      kill() {
        clearTimeout(grace);
        group.signal('SIGKILL');
      },
      checkGroup: () => void setTimeout(checkGroup, checkIntervalMs),
      readOutput() {
        clearTimeout(grace);
        const read = group.release().then(() => {
          lock.release();
          return dispatch({ type: 'outputRead' });
        });
        read.catch((error: unknown) => log.error({ err: error }, 'a local server cannot be started again'));
      },
      repeat: ({ command }) => dispatch({ type: command }),
      repeatAfterSpawn: ({ command }) => spawned.catch(() => undefined).then(() => dispatch({ type: command })),
      write: ({ line }) => group.write(line),
      refuse: ({ detail, message }) => Promise.reject(toRefusal(detail, message)),
      finish: () => closed.resolve(output.close()),
    },
  );
  return {
    status: () => toStatus(machine.state()),
    state() {
      const status = toStatus(machine.state());
      return status === 'offline' && lock.isTaken() ? 'unknown' : status;
    },
    async usage() {
      const { at } = machine.state();
      // In other states the group has no id, or its id may be another one's.
      return at === 'running' || at === 'stopping' ? await readUsage(group.id) : unused;
    },
    power: (type) => dispatch({ type }),
    write: (line) => dispatch({ type: 'write', line }),
    follow(follower) {
      followers.add(follower);
      return () => followers.delete(follower);
    },
    async close() {
      machine.dispatch({ type: 'close' });
      await closed.promise;
    },
  };
}

interface ProcessGroup {
  readonly id: number;
  readonly exited: Promise<unknown>;
  /** Sends a signal to the group; 0 only checks whether it exists. False if it does not. */
  signal(name: 'SIGTERM' | 'SIGKILL' | 0): boolean;
  write(line: string): Promise<void>;
  /** Reads the rest of the output after the group has ended, and closes its pipes. */
  release(): Promise<void>;
}

/** Spawns a process group, so that signals reach all its processes, but Ctrl-C of the terminal does not. */
async function spawnGroup(server: LocalServer, output: Output, log: Logger): Promise<ProcessGroup> {
  const [program = '', ...args] = server.command;
  const { cwd, env } = server;
  let child: ChildProcessByStdio<Writable, Readable, Readable>;
  try {
    child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    await once(child, 'spawn');
  } catch (error) {
    throw toRefusal(`${program} cannot be started: ${(error as Error).message}`);
  }
  const { stdin, stdout, stderr } = child;
  const pid = child.pid!;
  child.on('error', (error) => log.error({ err: error }, 'a local server failed'));
  // Each write reports its own error.
  stdin.on('error', () => undefined);
  const guard = guardGroup(pid, server.grace_seconds, log);
  const pumps = Promise.all([output.pump(stdout), output.pump(stderr)]);
  return {
    id: pid,
    exited: new Promise((exited) => child.once('exit', exited)),
    signal(name) {
      try {
        return process.kill(-pid, name);
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'EPERM';
      }
    },
    write: (line) => writeLine(stdin, line),
    async release() {
      guard.release();
      await Promise.race([pumps, sleep(ioTimeoutMs, undefined, { ref: false })]);
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
    },
  };
}

async function writeLine(stdin: Writable, line: string): Promise<void> {
  if (!stdin.writable) throw toRefusal('the local server has closed its input', offlineMessage);
  // Unread input would accumulate in memory.
  if (stdin.writableLength > 0) throw toRefusal('the local server does not read its input');
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (cause: unknown): void =>
    reject(new ProviderError(problems.provider_error.message, { outcome: 'unknown', cause }));
  const timer = setTimeout(() => fail(new Error('the local server does not read its input')), ioTimeoutMs);
  stdin.write(`${line}\n`, (error) => (error ? fail(error) : resolve()));
  await promise.finally(() => clearTimeout(timer));
}
