import type { Command } from '@commander-js/extra-typings';
import type { ServerName } from '#contract/api-keys.ts';
import { CommandError, requireOption } from '#common/command-line.ts';
import { StoreUnreachableError } from '../store/error.ts';
import type { ServerRecord, Store } from '../store/types.ts';
import type { Context } from './context.ts';
import { parseServer, parseText } from './inputs.ts';
import { checkRecord, describeRecord, isSameRecord } from './record.ts';
import { formatTable } from './table.ts';
import { toIso } from './text.ts';
import { describeUnknownServer } from './unknown.ts';

/** Adds `servers add | list | suspend | resume | remove`. */
export function addServersCommands(program: Command, context: Context): void {
  const servers = program.command('servers').description('Which provider runs a server, and its name there.');
  addAdd(servers, context);
  addList(servers, context);
  addChange(servers, context, {
    name: 'suspend',
    description: 'Refuses the keys of a server, for instance an unpaid one, and ends its streams, until it is resumed.',
    done: 'is suspended',
    apply: (store, server) => store.servers.suspend(server, Date.now()),
  });
  addChange(servers, context, {
    name: 'resume',
    description: 'Ends the suspension of a server.',
    done: 'is resumed',
    apply: (store, server) => store.servers.resume(server),
  });
  addChange(servers, context, {
    name: 'remove',
    description: 'Removes a server; its keys and its audit log stay.',
    done: 'is removed',
    apply: (store, server) => store.servers.remove(server),
  });
}

function addAdd(servers: Command, { settings, withStore, change, print, printNote }: Context): void {
  servers
    .command('add')
    .description('Adds a server, if PROVIDERS_FILE has its provider and the ref is one of that provider.')
    .argument('<server>', 'game:ID or vps:ID', parseServer)
    .option('--provider <NAME>', 'a name of PROVIDERS_FILE', (text) => parseText(text, '--provider', 100))
    .option('--ref <REF>', 'what the provider calls the server', (text) => parseText(text, '--ref', 255))
    .option('--log-file <PATH>', 'its newest log, if not logs/latest.log', (text) =>
      parseText(text, '--log-file', 1000),
    )
    .option('--replace', 'replace the record of a server that exists')
    .option('--json', 'print a JSON object')
    .action(async (server, { logFile = null, replace = false, json, ...flags }) => {
      const provider = requireOption(flags.provider, '--provider');
      const ref = requireOption(flags.ref, '--ref');
      if (logFile !== null && !server.startsWith('game:')) {
        throw new CommandError('--log-file is for game servers');
      }
      const record = { server, provider, ref, logFile };
      const isChecked = checkRecord(record, settings());
      const outcome = await withStore((store) => put(store, record, replace, change));
      // Not refused: a server may be added on a machine that has only the database.
      if (!isChecked) {
        printNote(`warning: PROVIDERS_FILE is not set here, so the provider ${provider} and the ref are not checked`);
      }
      await print(json ? JSON.stringify(record) : `${server} ${outcome}`);
    });
}

/** Adds a record, or replaces the one that exists if that is allowed. Returns what happened, for people. */
async function put(
  store: Store,
  record: Omit<ServerRecord, 'suspendedAt'>,
  mayReplace: boolean,
  change: Context['change'],
): Promise<string> {
  const { server, provider, ref, logFile } = record;
  // A damaged record can be replaced too: there is no other way to repair it.
  const existing = await store.servers.find(server).catch((error: Error) => error);
  if (existing instanceof StoreUnreachableError) throw existing;
  if (existing instanceof Error) {
    if (!mayReplace) throw new CommandError(`${existing.message}; --replace replaces it`);
  } else if (existing) {
    if (isSameRecord(existing, record)) return 'is added already';
    if (!mayReplace)
      throw new CommandError(`${server} exists: it is ${describeRecord(existing)}; --replace replaces it`);
  }
  const values = { provider, ref, log_file: logFile };
  await change(store, { action: 'servers add', server, values }, () => store.servers.put(record));
  if (existing === undefined) return 'is added';
  return existing instanceof Error ? 'is changed' : `is changed: it was ${describeRecord(existing)}`;
}

function addList(servers: Command, { withStore, print }: Context): void {
  servers
    .command('list')
    .description('Lists the servers.')
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const records = (await withStore((store) => store.servers.list())).map(({ suspendedAt, ...record }) => ({
        ...record,
        suspended: toIso(suspendedAt),
      }));
      const toCells = ({ server, provider, ref, logFile, suspended }: (typeof records)[number]) => [
        server,
        provider,
        ref,
        logFile ?? '',
        suspended ?? '',
      ];
      const heading = ['SERVER', 'PROVIDER', 'REF', 'LOG FILE', 'SUSPENDED'];
      await print(json ? JSON.stringify(records) : formatTable(heading, records.map(toCells)));
    });
}

/** A command that changes an existing server. */
interface ServerChange {
  readonly name: string;
  readonly description: string;
  /** What is printed after the name of the server. */
  readonly done: string;
  /** Returns false if there is no such server. */
  readonly apply: (store: Store, server: ServerName) => Promise<boolean>;
}

function addChange(
  servers: Command,
  { withStore, change, print }: Context,
  { name, description, done, apply }: ServerChange,
): void {
  servers
    .command(name)
    .description(description)
    .argument('<server>', 'game:ID or vps:ID', parseServer)
    .option('--json', 'print a JSON object')
    .action(async (server, { json }) => {
      await withStore(async (store) => {
        if (await change(store, { action: `servers ${name}`, server }, () => apply(store, server))) return;
        throw new CommandError(await describeUnknownServer(store, server));
      });
      await print(json ? JSON.stringify({ server }) : `${server} ${done}`);
    });
}
