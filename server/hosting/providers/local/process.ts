import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import { problems } from '#contract/problem.ts';
import type { Logger } from '../../../log.ts';
import { withTimeout } from '../../../timeout.ts';
import { offline, toRefusal, ProviderError } from '../../../upstream/client.ts';
import type { ConsoleEvents, GameState, PowerAction, PowerState } from '../types.ts';
import { readUsage } from './groups.ts';
import type { GroupsLock } from './groups.ts';
import type { ServerLog } from './output.ts';

/** The program of a server, and the time between SIGTERM and SIGKILL. */
interface Program {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly grace_seconds: number;
}

/** Dependencies of a local server. */
interface LocalProcessOptions {
  /** The name of the server for the lock. */
  readonly name: string;
  readonly server: Program;
  readonly output: ServerLog;
  /** Who gets each new status. */
  readonly watchers: ReadonlySet<ConsoleEvents>;
  /** Used from a start until the output of the server is read. */
  readonly lock: GroupsLock;
  readonly log: Logger;
}

const checkIntervalMs = 25;

/** After a SIGKILL, processes left for longer are never reaped, as in a container without init. */
const reapMs = 500;

/** Creates a local server, a process with its descendants, that is offline. */
export function createLocalProcess({ name, server, output, watchers, lock, log }: LocalProcessOptions) {
  let status: GameState = 'offline';
  let starting: Promise<void> | undefined;
  /** From the start until the output is read. */
  let life: Promise<void> | undefined;
  /** Undefined as soon as it is gone, since its ID may be another group's then. */
  let group: ProcessGroup | undefined;
  let isEnding = false;
  let startsAgain = false;
  let killedAt = Number.POSITIVE_INFINITY;
  let grace: NodeJS.Timeout | undefined;
  let closed: Promise<void> | undefined;

  const show = (next: GameState): void => {
    if (next === status) return;
    status = next;
    for (const watcher of watchers) watcher.status(status);
  };
  const start = (): Promise<void> => {
    if (closed) return Promise.reject(toRefusal('the provider is closed'));
    starting = spawnLocked().finally(() => (starting = undefined));
    return starting;
  };
  const spawnLocked = async (): Promise<void> => {
    show('starting');
    try {
      lock.acquire(name);
      group = await spawnGroup(server, output, log);
    } catch (error) {
      lock.release(name);
      show('offline');
      throw error;
    }
    lock.describe(name, group.id);
    isEnding = startsAgain = false;
    killedAt = Number.POSITIVE_INFINITY;
    show('running');
    life = live(group);
  };
  const live = async (current: ProcessGroup): Promise<void> => {
    await current.exited;
    while (current.signal(0) && performance.now() - killedAt < reapMs) {
      // The process has left others of its group.
      if (!isEnding) terminate();
      await sleep(checkIntervalMs);
    }
    group = undefined;
    isEnding = true;
    clearTimeout(grace);
    await current.release();
    lock.release(name);
    life = undefined;
    show('offline');
    if (!startsAgain) return;
    start().catch((error: unknown) => log.error({ err: error }, 'a local server cannot be started again'));
  };
  const terminate = (): void => {
    isEnding = true;
    show('stopping');
    group?.signal('SIGTERM');
    grace = setTimeout(kill, server.grace_seconds * 1000);
  };
  const kill = (): void => {
    isEnding = true;
    killedAt = performance.now();
    clearTimeout(grace);
    group?.signal('SIGKILL');
  };
  /**
   * Runs an action; it awaits a start, but not an end. `restart` ends the server with SIGTERM, `reset` with SIGKILL; both
   * start it again. Throws a ProviderError.
   */
  const power = async (action: PowerAction): Promise<void> => {
    const starts = action !== 'stop' && action !== 'kill';
    if (starting && (action === 'start' || action === 'restart')) return await starting;
    if (starting) return await starting.catch(() => undefined).then(() => power(action));
    if (!life) return starts ? await start() : undefined;
    if (action === 'start') {
      if (closed) throw toRefusal('the provider is closed');
      startsAgain = isEnding;
      return;
    }
    startsAgain = starts && !closed;
    show('stopping');
    if (group && (action === 'kill' || action === 'reset')) kill();
    else if (!isEnding) terminate();
  };
  const close = async (): Promise<void> => {
    startsAgain = false;
    await starting?.catch(() => undefined);
    await power('stop');
    await life;
    await output.close();
  };
  return {
    power,
    /** The status for console readers. */
    status: () => status,
    /** The power state; `unknown` if another instance runs the server. */
    state: (): PowerState => (status === 'offline' && lock.isTaken(name) ? 'unknown' : status),
    /** What it uses now. */
    usage: async (): Promise<ConsoleStats> =>
      group ? await readUsage(group.id) : { ...unknownStats, cpu: 0, memory_bytes: 0 },
    /** Writes a line to stdin. Throws a ProviderError. */
    async write(line: string): Promise<void> {
      if (!group || isEnding) throw toRefusal('the local server is not running', offline);
      await group.write(line);
    },
    /** Ends the server for good, and waits until it has ended. */
    close: (): Promise<void> => (closed ??= close()),
  };
}

type ProcessGroup = Awaited<ReturnType<typeof spawnGroup>>;

/** The timeout of a write, and of reading the output after the end. */
const ioTimeoutMs = 1000;

/** Spawns a process group, so that signals reach all its processes, but Ctrl-C of the terminal does not. */
async function spawnGroup(program: Program, output: ServerLog, log: Logger) {
  const { command, cwd, env, grace_seconds: graceSeconds } = program;
  const [file = '', ...args] = command;
  let child: ChildProcessByStdio<Writable, Readable, Readable>;
  try {
    child = spawn(file, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    await once(child, 'spawn');
  } catch (error) {
    throw toRefusal(`${file} cannot be started: ${(error as Error).message}`);
  }
  const { stdin, stdout, stderr } = child;
  const pid = child.pid!;
  child.on('error', (error) => log.error({ err: error }, 'a local server failed'));
  // Each write reports its own error.
  stdin.on('error', () => undefined);
  const releaseGuard = guard(pid, graceSeconds, log);
  const pumps = Promise.all([output.pump(stdout), output.pump(stderr)]);
  return {
    id: pid,
    exited: new Promise((exited) => child.once('exit', exited)),
    /** Sends a signal to the group; 0 only checks whether it exists. False if it does not. */
    signal(name: 'SIGTERM' | 'SIGKILL' | 0): boolean {
      try {
        return process.kill(-pid, name);
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'EPERM';
      }
    },
    write: (line: string) => writeLine(stdin, line),
    /** Reads the rest of the output after the group has ended, and closes its pipes. */
    async release(): Promise<void> {
      releaseGuard();
      await withTimeout(pumps, ioTimeoutMs, () => undefined);
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
    },
  };
}

async function writeLine(stdin: Writable, line: string): Promise<void> {
  if (!stdin.writable) throw toRefusal('the local server has closed its input', offline);
  // Unread input would accumulate in memory.
  if (stdin.writableLength > 0) throw toRefusal('the local server does not read its input');
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stdin.write(`${line}\n`, (error) => (error ? reject(toFailure(error)) : resolve()));
  await withTimeout(promise, ioTimeoutMs, () => {
    throw toFailure(new Error('the local server does not read its input'));
  });
}

function toFailure(cause: unknown): ProviderError {
  return new ProviderError(problems.provider_error.message, { outcome: 'unknown', cause });
}

/**
 * Ends a group when stdin closes without a line, also after a SIGKILL of the parent: first with SIGTERM. A shell script,
 * since a shell is on every machine and needs only a megabyte.
 */
const guardScript = `
trap '' HUP INT QUIT TERM
read -r line && exit 0
kill -s TERM -- "-$1"
sleep "$2"
kill -s KILL -- "-$1"
`;

/** Ends a group when this process ends, even by SIGKILL. Returns the function that stops this. */
function guard(group: number, graceSeconds: number, log: Logger): () => void {
  // Detached, so that signals of the terminal do not reach it.
  const shell = spawn('/bin/sh', ['-c', guardScript, 'guard', String(group), String(Math.ceil(graceSeconds))], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
  });
  const fail = (error: unknown): void => log.error({ err: error }, 'the guard of a local server failed');
  shell.on('error', fail);
  shell.stdin.on('error', fail);
  shell.unref();
  (shell.stdin as Socket).unref();
  return () => void shell.stdin.end('release\n');
}
