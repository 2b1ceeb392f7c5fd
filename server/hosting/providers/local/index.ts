import { join, resolve } from 'node:path';
import { unknownStats } from '#contract/console-stream.ts';
import type { Logger } from '../../../log.ts';
import { findStartProblem } from './executable.ts';
import { createServerLock } from './lock.ts';
import { createOutput, readServerFile } from './output.ts';
import type { Output } from './output.ts';
import { createLocalProcess } from './process.ts';
import type { LocalProcess } from './process.ts';
import type { LocalServer, LocalSettings } from './settings.ts';
import { notAvailable, toRefusal } from '../../../upstream/reply.ts';
import type { ConsoleEvents, ConsoleSource, Finding, Provider, StateReport } from '../types.ts';

/** Dependencies of the provider. */
export interface LocalOptions {
  /** The folder of the logs and locks. */
  readonly folder: string;
  readonly log: Logger;
}

interface Running {
  readonly server: LocalServer;
  readonly process: LocalProcess;
  readonly output: Output;
}

/** Creates the provider of servers that run as child processes, and end with this process. */
export function createLocal(settings: LocalSettings, { folder, log }: LocalOptions): Provider {
  const all = new Map(
    Object.entries(settings.servers).map(([ref, server]): [string, Running] => {
      const child = log.child({ local: ref });
      const output = createOutput(join(folder, `${ref}.log`), child);
      const lock = createServerLock(join(folder, ref));
      return [ref, { server, output, process: createLocalProcess({ server, output, lock, log: child }) }];
    }),
  );
  const find = (ref: string, kind: LocalServer['kind']): Running => {
    const found = all.get(ref);
    if (found?.server.kind !== kind) throw toRefusal(`there is no local server "${ref}" of the kind ${kind}`);
    return found;
  };
  // The process itself is asked, so its state is never from before an action.
  const readState = (ref: string, kind: LocalServer['kind']): StateReport => {
    const { process } = find(ref, kind);
    return { state: process.state(), checkedAt: Date.now() };
  };
  const close = async (): Promise<void> => {
    await Promise.all([...all.values()].map(({ process }) => process.close()));
  };
  return {
    vps: {
      async power(ref, action, { confirm } = {}) {
        const { process } = find(ref, 'vps');
        if (confirm) await confirm();
        await process.power(action);
      },
      state: async (ref) => readState(ref, 'vps'),
    },
    game: {
      async power(ref, action, { confirm } = {}) {
        const { process } = find(ref, 'game');
        if (confirm) await confirm();
        await process.power(action);
      },
      state: async (ref) => readState(ref, 'game'),
      async command(ref, command, { confirm } = {}) {
        const { process } = find(ref, 'game');
        if (confirm) await confirm();
        await process.write(command);
      },
      async latestLog(ref, file) {
        const { server, output } = find(ref, 'game');
        return file === null ? await output.latest() : await readServerFile(server.cwd, resolve(server.cwd, file));
      },
      openConsole(ref, events) {
        const running = all.get(ref);
        return openConsole(running?.server.kind === 'game' ? running : undefined, events);
      },
    },
    check: () => Promise.resolve([...warnBroken(settings), toSummary(all.size)]),
    drain: () => void close(),
    close,
  };
}

function toSummary(count: number): Finding {
  return { level: 'info', message: `This machine runs ${count} servers itself` };
}

/** Warns of servers that cannot start, which otherwise shows only when a customer starts one. */
function warnBroken({ servers }: LocalSettings): Finding[] {
  return Object.entries(servers).flatMap(([ref, server]): Finding[] => {
    const problem = findStartProblem(server);
    return problem === undefined
      ? []
      : [{ level: 'warn', message: `The server "${ref}" cannot start: ${problem}`, advice: adviceFor(ref) }];
  });
}

const adviceFor = (ref: string): string => `correct the command and cwd of "${ref}" in PROVIDERS_FILE, and restart`;

function openConsole(running: Running | undefined, events: ConsoleEvents): ConsoleSource {
  const unsubscribe: (() => void)[] = [];
  // Deferred, since the caller expects no event before this function returns. In one step, so that no line is lost.
  const start = setImmediate(() => {
    if (!running) {
      events.ended(notAvailable);
      return;
    }
    const { output, process } = running;
    for (const line of output.lines()) events.line(line);
    events.status(process.status());
    events.loaded();
    unsubscribe.push(
      output.follow((line) => events.line(line)),
      process.follow((state) => events.status(state)),
    );
  });
  return {
    stats: () => running?.process.usage() ?? Promise.resolve(unknownStats),
    close() {
      clearImmediate(start);
      for (const stop of unsubscribe.splice(0)) stop();
    },
  };
}
