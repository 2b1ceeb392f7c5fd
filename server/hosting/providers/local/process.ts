import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, renameSync, statSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { dirname, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Environment } from '#common/environment.ts';
import { createFolder } from '#common/files.ts';
import { unknownStats } from '#contract/console-stream.ts';
import { problems } from '#contract/problem.ts';
import type { Logger } from '../../../log.ts';
import { withTimeout } from '../../../timeout.ts';
import { ProviderError, offline, toRefusal } from '../../../upstream/client.ts';
import { toLogEnd } from '../game-log.ts';
import type { ConsoleEvents, GameState, PowerAction, PowerState } from '../types.ts';
import type { GroupsLock } from './groups.ts';

/** Inherited environment variables. Our settings are not among them: they hold credentials. */
const inherited = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

const refPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Creates the schema of local servers by `ref`, with paths relative to a folder. */
export function localSettings(folder: string, environment: Environment) {
  const base = Object.fromEntries(
    inherited.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
  const server = z.strictObject({
    kind: z.enum(['game', 'vps']),
    /** The program and its arguments; no shell is used. */
    command: z.array(z.string().min(1, 'must not be empty')).min(1, 'must name a program'),
    cwd: z
      .string()
      .default('.')
      .transform((path) => resolve(folder, path)),
    env: z
      .record(z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of a variable'), z.string())
      .default({})
      .transform((env): Record<string, string> => ({ ...base, ...env })),
    grace_seconds: z
      .int('must be a whole number')
      .min(0, 'must be at least 0')
      .max(600, 'must be at most 600')
      .default(10),
  });
  return z.object({
    servers: z.record(z.string().regex(refPattern, 'must be letters, digits, dots, hyphens and underscores'), server),
  });
}

/** Settings with defaults applied. */
export type LocalSettings = z.infer<ReturnType<typeof localSettings>>;

/** The settings of one local server. */
export type LocalServer = LocalSettings['servers'][string];

const checkIntervalMs = 25;
/** Do not wait longer for killed processes to be reaped: a container without init never reaps them. */
const reapMs = 500;

/** Creates a local server, a process group, which is offline at first. */
export function createLocalProcess(options: {
  readonly name: string;
  readonly server: LocalServer;
  readonly logFile: string;
  readonly lock: GroupsLock;
  readonly log: Logger;
}) {
  const { name, server, logFile, lock, log } = options;
  const watchers = new Set<ConsoleEvents>();
  const output = createServerOutput(logFile, log, watchers);
  let status: GameState = 'offline';
  let starting: Promise<void> | undefined;
  /** Pending from the start until all output is read. */
  let running: Promise<void> | undefined;
  /** Undefined as soon as the group is gone: its ID may be reused. */
  let group: Awaited<ReturnType<typeof spawnGroup>> | undefined;
  let isEnding = false;
  let startsAgain = false;
  let killedAt = Infinity;
  let grace: NodeJS.Timeout | undefined;
  let closed: Promise<void> | undefined;

  const show = (next: GameState): void => {
    if (next === status) return;
    status = next;
    for (const watcher of watchers) watcher.status(status);
  };
  const start = async (): Promise<void> => {
    if (closed) throw toRefusal('the provider is closed');
    starting = spawnLocked().finally(() => (starting = undefined));
    await starting;
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
    lock.describe(name, group.guard);
    isEnding = false;
    startsAgain = false;
    killedAt = Infinity;
    show('running');
    running = supervise(group);
  };
  const supervise = async (current: NonNullable<typeof group>): Promise<void> => {
    await current.exited;
    while (current.signal(0) && performance.now() - killedAt < reapMs) {
      // The process has ended, but others of its group have not.
      if (!isEnding) terminate();
      await sleep(checkIntervalMs);
    }
    group = undefined;
    isEnding = true;
    clearTimeout(grace);
    await current.release();
    lock.release(name);
    running = undefined;
    show('offline');
    if (!startsAgain) return;
    start().catch((error: unknown) => log.error({ err: error }, 'a local server cannot be restarted'));
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
  /** Runs an action; awaits a start, but not an end. `restart` sends SIGTERM, `reset` SIGKILL. */
  const power = async (action: PowerAction): Promise<void> => {
    const starts = action !== 'stop' && action !== 'kill';
    if (starting && (action === 'start' || action === 'restart')) return await starting;
    if (starting) return await starting.catch(() => undefined).then(() => power(action));
    if (!running) return starts ? await start() : undefined;
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
    await running;
  };
  return {
    kind: server.kind,
    power,
    /** Returns the power state; `unknown` if another instance runs the server. */
    state: (): PowerState => (status === 'offline' && lock.isTaken(name) ? 'unknown' : status),
    stats: () => group?.readUsage() ?? { ...unknownStats, cpu: 0, memory_bytes: 0 },
    async write(line: string): Promise<void> {
      if (!group || isEnding) throw toRefusal('the local server is not running', offline);
      await group.write(line);
    },
    /** Emits the recent lines and the status, then all events. */
    watch(events: ConsoleEvents): void {
      // One synchronous step, so no line is lost.
      for (const line of output.recent) events.line(line);
      events.status(status);
      events.loaded();
      watchers.add(events);
    },
    unwatch: (events: ConsoleEvents) => watchers.delete(events),
    /** Reads the end of the log of its output. */
    latestLog: output.readEnd,
    close: (): Promise<void> => (closed ??= close()),
  };
}

/** The timeout of a write, and of the last output. */
const ioTimeoutMs = 1000;

/** Spawns a process group: signals reach all its processes, but Ctrl-C of the terminal does not. */
async function spawnGroup(program: LocalServer, output: ReturnType<typeof createServerOutput>, log: Logger) {
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
  // Reported by the write that fails.
  stdin.on('error', () => undefined);
  const guard = startGuard(pid, graceSeconds, log);
  const pumps = Promise.all([output.pump(stdout), output.pump(stderr)]);
  return {
    guard: guard.pid,
    readUsage: createMeter(pid),
    exited: new Promise((exited) => child.once('exit', exited)),
    /** Sends a signal to the group, or checks it with 0; false if the group does not exist. */
    signal(name: 'SIGTERM' | 'SIGKILL' | 0): boolean {
      try {
        return process.kill(-pid, name);
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'EPERM';
      }
    },
    async write(line: string): Promise<void> {
      if (!stdin.writable) throw toRefusal('the local server has closed its input', offline);
      // Unread input would fill the memory.
      if (stdin.writableLength > 0) throw toRefusal('the local server does not read its input');
      const { promise, resolve: written, reject } = Promise.withResolvers<void>();
      stdin.write(`${line}\n`, (error) => (error ? reject(toFailure(error)) : written()));
      await withTimeout(promise, ioTimeoutMs, () => {
        throw toFailure(new Error('the local server does not read its input'));
      });
    },
    /** Reads the last output after the end of the group, and closes the pipes. */
    async release(): Promise<void> {
      guard.stdin.end('release\n');
      await withTimeout(pumps, ioTimeoutMs, () => undefined);
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
    },
  };
}

/** Returns a function that reads the CPU use since the last call, and the memory, of a process; null without /proc. */
function createMeter(pid: number) {
  let last = { at: performance.now(), ticks: 0 };
  const read = (name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8');
  return () => {
    try {
      const [user, system] = read('stat').split(') ').at(-1)!.split(' ').slice(11, 13).map(Number);
      const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(read('status')) ?? [];
      const next = { at: performance.now(), ticks: user! + system! };
      // A tick is 10 ms. A busy process seems to use more within a shorter time.
      const cpu = ((next.ticks - last.ticks) * 1000) / Math.max(500, next.at - last.at);
      last = next;
      return { ...unknownStats, cpu: Math.round(cpu), memory_bytes: Number(kilobytes) * 1024 };
    } catch {
      return unknownStats;
    }
  };
}

const toFailure = (cause: unknown): ProviderError =>
  new ProviderError(problems.provider_error.message, { outcome: 'unknown', cause });

/** Ends a group when stdin closes without a line, as after a SIGKILL of this process. */
const guardScript = `
trap '' HUP INT QUIT TERM
read -r line && exit 0
kill -s TERM -- "-$1"
sleep "$2"
kill -s KILL -- "-$1"
`;

/** Starts a shell that ends a group if this process dies. A line to its input stops the shell. */
function startGuard(group: number, graceSeconds: number, log: Logger) {
  // Detached: signals of the terminal do not reach the shell.
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
  return shell;
}

/** The backlog for a new reader, as in Wings (websocket_log_count). */
const maxLines = 150;
const maxLineLength = 64 * 1024;
const maxFileBytes = 4 * 1024 * 1024;
/** The rate limit of Wings. A faster server is slowed down; no lines are lost. */
const linesPerMs = 20;

/** Creates the output of a server, for its watchers and a rotated log. */
function createServerOutput(file: string, log: Logger, watchers: ReadonlySet<ConsoleEvents>) {
  const previous = `${file}.1`;
  const recent: string[] = [];
  /** The size of the log; undefined until the first write. */
  let size: number | undefined;
  let writing = Promise.resolve();
  /** After an error, the log is off until the next start: a full disk must not end the server. */
  let isBroken = false;

  const write = async (text: string): Promise<void> => {
    try {
      if (size === undefined) createFolder(dirname(file), 0o700);
      size ??= statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      if (size > maxFileBytes) {
        renameSync(file, previous);
        size = 0;
      }
      size += Buffer.byteLength(text);
      await appendFile(file, text, { mode: 0o600 });
    } catch (error) {
      if (!isBroken) log.error({ err: error, file }, 'a log cannot be written');
      isBroken = true;
    }
  };
  const append = async (lines: readonly string[]): Promise<void> => {
    for (const line of lines) {
      recent.push(line);
      for (const watcher of watchers) watcher.line(line);
    }
    recent.splice(0, recent.length - maxLines);
    if (isBroken || lines.length === 0) return;
    // One write at a time: stdout and stderr share the log.
    writing = writing.then(() => write(`${lines.join('\n')}\n`));
    await writing;
  };
  return {
    recent: recent as readonly string[],
    async pump(source: Readable): Promise<void> {
      const decoder = new StringDecoder('utf8');
      let rest = '';
      isBroken = false;
      size = undefined;
      try {
        for await (const chunk of source as AsyncIterable<Buffer>) {
          const lines = (rest + decoder.write(chunk)).split('\n').map((line) => line.replace(/\r$/, ''));
          rest = lines.pop()!;
          if (rest.length > maxLineLength) {
            lines.push(rest);
            rest = '';
          }
          await append(lines);
          if (lines.length > linesPerMs) await sleep(lines.length / linesPerMs);
        }
      } catch {
        // The stream was destroyed: a descendant kept the pipe open.
      }
      if (rest) await append([rest]);
    },
    readEnd: async (): Promise<string | undefined> => {
      const reads = [previous, file].map((path) => readFile(path).catch(() => undefined));
      const [older = Buffer.alloc(0), newest] = await Promise.all(reads);
      return newest && toLogEnd(Buffer.concat([older, newest]));
    },
  };
}
