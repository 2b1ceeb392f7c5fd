import type { Command } from '@commander-js/extra-typings';
import { z } from 'zod';
import type { ServerName } from '#contract/api-keys.ts';
import { CommandError, requireOptions } from '#common/command-line.ts';
import type { Environment } from '#common/environment.ts';
import { readProviders } from '../hosting/providers.ts';
import type { WrittenProviders } from '../hosting/providers.ts';
import { checkRecord, commandLine, createChanges, describeRecord, toIso } from '../operators/changes.ts';
import { Problem } from '../problem.ts';
import { EnvError, readSettings } from '../settings.ts';
import { describeUnknownServers, formatTable, parseServer, textOption, toPrintable } from './context.ts';
import type { Context } from './context.ts';
import { addImportCommand } from './import.ts';

/** Adds `servers add | import | list | suspend | resume | remove`. */
export function addServersCommands(program: Command, context: Context): void {
  const { settings, withStore, show, printNote, columns } = context;
  const servers = program.command('servers').description('Servers of customers, and their providers.');
  servers
    .command('add')
    .description('Adds a server, after checking its provider and ref against PROVIDERS_FILE.')
    .argument('<server>', 'game:ID or vps:ID', parseServer)
    .option('--provider <NAME>', 'the name of the provider in PROVIDERS_FILE', textOption('--provider', 100))
    .option('--ref <REF>', 'the identifier of the server at the provider', textOption('--ref', 255))
    .option(
      '--log-file <PATH>',
      'the latest log of the server; default logs/latest.log',
      textOption('--log-file', 1000),
    )
    .option('--replace', 'replace an existing record')
    .option('--shared', 'allow other servers with the same provider and ref')
    .option('--json', 'print a JSON object')
    .addHelpText('after', '\nExample:\n  npm run servers -- add game:survival --provider panel --ref 1a7ce997')
    .action(async (server, { logFile = null, replace = false, shared, json, ...flags }) => {
      const { provider, ref } = requireOptions({ provider: flags.provider, ref: flags.ref });
      if (logFile !== null && !server.startsWith('game:')) throw new CommandError('--log-file is for game servers');
      const providers = readWritten(settings());
      const given = { server, provider, logFile, ...(shared && { shared: 'yes' as const }), ref };
      const record = checkRecord(given, providers);
      const put = await withStore(
        (store) => createChanges(store, commandLine).putServer(record, replace, providers),
        true,
      );
      const { outcome, before } = put;
      const changed = before ? `is changed from ${toPrintable(describeRecord(before))}` : 'is changed';
      const texts = { same: 'is already added', added: 'is added', changed };
      // Only a warning: a server may be added on a machine that has only the database.
      if (!providers)
        printNote(`warning: PROVIDERS_FILE is not set: the provider ${provider} and the ref are not checked`);
      await show(json, record, `${server} ${texts[outcome]}`);
    });
  addImportCommand(servers, context);
  servers
    .command('list')
    .description('Lists the servers.')
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const all = await withStore((store) => store.servers.list());
      const records = all.map(({ server, provider, ref, logFile, suspendedAt, shared }) => {
        return { server, provider, ref, logFile, ...(shared !== 'no' && { shared }), suspended: toIso(suspendedAt) };
      });
      const heading = ['SERVER', 'PROVIDER', 'REF', 'LOG FILE', 'SUSPENDED'];
      const rows = records.map(({ server, provider, ref, logFile, suspended }) => {
        return [server, provider, ref, logFile ?? '', suspended ?? ''];
      });
      await show(json, records, json ? '' : formatTable(heading, rows, columns));
    });
  type Changes = ReturnType<typeof createChanges>;
  /** Adds a command that changes an existing server. */
  const addChange = (
    name: string,
    done: string,
    description: string,
    apply: (changes: Changes, server: ServerName) => Promise<void>,
  ) =>
    servers
      .command(name)
      .description(description)
      .argument('<server>', 'game:ID or vps:ID', parseServer)
      .option('--json', 'print a JSON object')
      .action(async (server, { json }) => {
        await withStore(async (store) => {
          await apply(createChanges(store, commandLine), server).catch(async (error: unknown) => {
            if (!(error instanceof Problem && error.code === 'not_found')) throw error;
            throw new CommandError((await describeUnknownServers(store, [server]))[0]);
          });
        });
        await show(json, { server }, `${server} is ${done}`);
      });
  const suspends = 'Suspends a server, for instance an unpaid server: its keys get 403, and its streams end.';
  addChange('suspend', 'suspended', suspends, (changes, server) => changes.suspend(server));
  addChange('resume', 'resumed', 'Ends the suspension of a server.', (changes, server) => changes.resume(server));
  const removes = 'Removes a server, but keeps its keys and audit log.';
  addChange('remove', 'removed', removes, (changes, server) => changes.removeServer(server));
}

/** Reads the providers of PROVIDERS_FILE; undefined without it. */
function readWritten(settings: Environment): WrittenProviders | undefined {
  const { PROVIDERS_FILE: file } = readSettings(z.object({ PROVIDERS_FILE: z.string().optional() }), settings);
  if (file === undefined) return undefined;
  const providers = readProviders(file);
  if (!providers) throw new EnvError('PROVIDERS_FILE: the file cannot be read, or is not YAML with providers');
  return providers;
}
