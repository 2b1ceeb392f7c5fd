import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { unknownStats } from '#contract/console-stream.ts';
import { toRefusal } from '../../../upstream/client.ts';
import { notAvailable } from '../types.ts';
import type { CheckResult, PowerAction, Provider, ProviderOptions, ProviderType, SendOptions } from '../types.ts';
import type { GroupsLock } from './groups.ts';
import { createLocalProcess, localSettings } from './process.ts';
import type { LocalServer, LocalSettings } from './process.ts';

/** Dependencies of a provider of local servers. */
export interface LocalOptions extends ProviderOptions {
  readonly name: string;
  /** The folder of all local providers; each logs to its own folder inside. */
  readonly folder: string;
  readonly lock: GroupsLock;
}

/** Servers that run as child processes of this one, and end with it. */
export const local: ProviderType<LocalSettings, LocalOptions> = {
  settings: localSettings,
  secrets: [],
  refs: {
    meaning: 'a name under `servers`',
    list: (written) => localSettings('', {}).safeParse(written).data?.servers,
  },
  create: createLocal,
};

function createLocal(settings: LocalSettings, options: LocalOptions): Provider {
  const { name: provider, folder, lock, log: parent } = options;
  const processes = new Map(
    Object.entries(settings.servers).map(([ref, server]) => {
      const logFile = join(folder, provider, `${ref}.log`);
      const log = parent.child({ local: ref });
      return [ref, createLocalProcess({ name: `${provider}/${ref}`, server, logFile, lock, log })];
    }),
  );
  const find = (ref: string, kind: LocalServer['kind']) => {
    const found = processes.get(ref);
    if (found?.kind !== kind) throw toRefusal(`no local server "${ref}" of kind ${kind}`);
    return found;
  };
  const controlsOf = (kind: LocalServer['kind']) => ({
    async power(ref: string, action: PowerAction, { confirm }: SendOptions = {}): Promise<void> {
      const process = find(ref, kind);
      if (confirm) await confirm();
      await process.power(action);
    },
    // Our own state, so never older than an action.
    state: async (ref: string) => ({ state: find(ref, kind).state(), checkedAt: Date.now() }),
  });
  return {
    vps: controlsOf('vps'),
    game: {
      ...controlsOf('game'),
      async command(ref, command, { confirm } = {}) {
        const process = find(ref, 'game');
        if (confirm) await confirm();
        await process.write(command);
      },
      latestLog: async (ref) => await find(ref, 'game').latestLog(),
      openConsole(ref, events) {
        const found = processes.get(ref);
        const process = found?.kind === 'game' ? found : undefined;
        // Deferred: the caller must get its return value before the first event.
        const start = setImmediate(() => (process ? process.watch(events) : events.ended(notAvailable)));
        return {
          stats: () => Promise.resolve(process?.stats() ?? unknownStats),
          close() {
            clearImmediate(start);
            process?.unwatch(events);
          },
        };
      },
    },
    check: () => Promise.resolve(check(settings)),
    async close() {
      await Promise.all(processes.values().map((process) => process.close()));
    },
  };
}

/** Warns of servers that cannot start, before a customer tries. */
function check({ servers }: LocalSettings): CheckResult[] {
  const found: CheckResult[] = [];
  for (const [ref, server] of Object.entries(servers)) {
    const problem = findStartProblem(server);
    const advice = `correct the command and cwd of "${ref}" in PROVIDERS_FILE, and restart`;
    if (problem) found.push({ level: 'warn', message: `The server "${ref}" cannot start: ${problem}`, advice });
  }
  return [...found, { level: 'info', message: `This machine runs ${Object.keys(servers).length} local servers` }];
}

function findStartProblem({ command: [program = ''], cwd, env }: LocalServer): string | undefined {
  if (!existsSync(cwd)) return `its folder ${cwd} does not exist`;
  // The C library's default without PATH.
  const folders = program.includes('/') ? ['.'] : (env.PATH ?? '/usr/bin:/bin').split(delimiter);
  if (folders.some((folder) => existsSync(resolve(cwd, folder, program)))) return undefined;
  return `the program ${program} ${program.includes('/') ? 'does not exist' : 'is not in PATH'}`;
}
