import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { Logger } from '../../../log.ts';
import { createGuard } from './guard.ts';
import { createOutput, readServerFile } from './output.ts';
import type { Output } from './output.ts';
import { createLocalProcess } from './process.ts';
import type { LocalProcess } from './process.ts';
import { notAvailable, toRefusal } from '../../../upstream/reply.ts';
import type { ConsoleEvents, ConsoleSource, Provider } from '../types.ts';
import type { Environment } from '../../../settings.ts';

/** A server that is a process of this machine. */
export interface LocalServer {
  readonly kind: 'game' | 'vps';
  /** The program and its arguments; no shell is between. */
  readonly command: readonly string[];
  /** The folder that it runs in. */
  readonly cwd: string;
  /** All that it is told of the environment. */
  readonly env: Readonly<Record<string, string>>;
  /** How long it has to end before it is ended. */
  readonly grace_seconds: number;
}

/** The settings of the servers that this machine runs itself. */
export interface LocalSettings {
  readonly type: 'local';
  /** By their `ref`. */
  readonly servers: Readonly<Record<string, LocalServer>>;
}

/** What a server is told of our own environment: never our settings, which hold the credentials of others. */
const inherited = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

/** The settings as they are written; paths count from a folder. */
export function localSettings(folder: string, environment: Environment) {
  const base = Object.fromEntries(
    inherited.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
  const server = z.strictObject({
    kind: z.enum(['game', 'vps']),
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
  return z.strictObject({
    type: z.literal('local'),
    servers: z.record(z.string().regex(refPattern, 'must be letters, digits, dots, hyphens and underscores'), server),
  });
}

const refPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** What the provider needs beside its settings. */
export interface LocalOptions {
  /** Where the logs are kept. */
  readonly folder: string;
  readonly log: Logger;
}

interface Running {
  readonly server: LocalServer;
  readonly process: LocalProcess;
  readonly output: Output;
}

/** Creates the provider of servers that are child processes of this one, and end with it. */
export function createLocal(settings: LocalSettings, { folder, log }: LocalOptions): Provider {
  const guard = createGuard(Math.max(0, ...Object.values(settings.servers).map((server) => server.grace_seconds)), log);
  const all = new Map(
    Object.entries(settings.servers).map(([ref, server]): [string, Running] => {
      const child = log.child({ local: ref });
      const output = createOutput(join(folder, `${ref}.log`), child);
      const options = { ...server, graceMs: server.grace_seconds * 1000 };
      return [ref, { server, output, process: createLocalProcess(options, output, guard, child) }];
    }),
  );
  const find = (ref: string, kind: LocalServer['kind']): Running => {
    const found = all.get(ref);
    if (found?.server.kind !== kind) throw toRefusal(`there is no local server "${ref}" of the kind ${kind}`);
    return found;
  };
  let ended: Promise<unknown> | undefined;
  const end = () => (ended ??= Promise.all([...all.values()].map((running) => running.process.close())));
  return {
    vps: { power: async (ref, action) => await find(ref, 'vps').process.power(action) },
    game: {
      power: async (ref, action) => await find(ref, 'game').process.power(action),
      command: async (ref, command) => await find(ref, 'game').process.write(command),
      async latestLog(ref, file) {
        const { server, output } = find(ref, 'game');
        return file === null ? await output.latest() : await readServerFile(server.cwd, resolve(server.cwd, file));
      },
      openConsole(ref, events) {
        const running = all.get(ref);
        return openConsole(running?.server.kind === 'game' ? running : undefined, events);
      },
    },
    check: () => Promise.resolve([{ level: 'info', message: `This machine runs ${all.size} servers itself` }]),
    drain: () => void end(),
    async close() {
      await end();
      guard.close();
    },
  };
}

function openConsole(running: Running | undefined, events: ConsoleEvents): ConsoleSource {
  const undo: (() => void)[] = [];
  // Later, as nobody expects an event before this returned; in one step, so that no line is lost or told twice.
  const begin = setImmediate(() => {
    if (!running) {
      events.ended(notAvailable);
      return;
    }
    const { output, process } = running;
    for (const line of output.lines()) events.line(line);
    events.status(process.status());
    undo.push(
      output.follow((line) => events.line(line)),
      process.follow((state) => events.status(state)),
    );
  });
  return {
    close() {
      clearImmediate(begin);
      for (const stop of undo.splice(0)) stop();
    },
  };
}
