import type { Command } from '@commander-js/extra-typings';
import { CommandError, requireOption } from '#common/command-line.ts';
import type { ServerRecord } from '../store/types.ts';
import type { Context } from './context.ts';
import { parseServer, parseText } from './inputs.ts';
import { formatTable } from './table.ts';
import { toPrintable } from './text.ts';
import { describeUnknownProvider, describeUnknownServer } from './unknown.ts';

/** Adds `servers add | list | remove`. */
export function addServersCommands(program: Command, { settings, withStore, print, printNote }: Context): void {
  const servers = program.command('servers').description('Which provider runs a server, and its name there.');
  servers
    .command('add')
    .description('Adds a server, or replaces its record.')
    .argument('<server>', 'game:ID or vps:ID', parseServer)
    .option('--provider <NAME>', 'a name of PROVIDERS_FILE', (text) => parseText(text, '--provider', 100))
    .option('--ref <REF>', 'what the provider calls the server', (text) => parseText(text, '--ref', 255))
    .option('--log-file <PATH>', 'its newest log, if not logs/latest.log', (text) =>
      parseText(text, '--log-file', 1000),
    )
    .option('--json', 'print a JSON object')
    .action(async (server, { logFile, json, ...flags }) => {
      const provider = requireOption(flags.provider, '--provider');
      const ref = requireOption(flags.ref, '--ref');
      if (logFile !== undefined && !server.startsWith('game:')) {
        throw new CommandError('--log-file is for game servers');
      }
      const record: ServerRecord = { server, provider, ref, logFile: logFile ?? null };
      const replaced = await withStore(async (store) => {
        // A damaged record is replaced too: there is no other way to repair it.
        const existing = await store.servers.find(server).catch(() => true);
        await store.servers.put(record);
        return existing !== undefined;
      });
      // Only a warning, since a server may be added before PROVIDERS_FILE is in place.
      const warning = describeUnknownProvider(settings(), provider);
      if (warning !== undefined) printNote(`warning: ${warning}`);
      await print(json ? JSON.stringify(record) : `${server} ${replaced ? 'is changed' : 'is added'}`);
    });
  servers
    .command('list')
    .description('Lists the servers.')
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const records = await withStore((store) => store.servers.list());
      const rows = records.map(({ server, provider, ref, logFile }) => [server, provider, ref, logFile ?? '']);
      const table = () =>
        formatTable(
          ['SERVER', 'PROVIDER', 'REF', 'LOG FILE'],
          rows.map((row) => row.map(toPrintable)),
        );
      await print(json ? JSON.stringify(records) : table());
    });
  servers
    .command('remove')
    .description('Removes a server; its keys and its audit log stay.')
    .argument('<server>', 'game:ID or vps:ID', parseServer)
    .option('--json', 'print a JSON object')
    .action(async (server, { json }) => {
      await withStore(async (store) => {
        if (await store.servers.remove(server)) return;
        throw new CommandError(await describeUnknownServer(store, server));
      });
      await print(json ? JSON.stringify({ server }) : `${server} is removed`);
    });
}
