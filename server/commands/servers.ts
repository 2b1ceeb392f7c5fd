import type { Command } from '@commander-js/extra-typings';
import { z } from 'zod';
import type { ServerName } from '#contract/api-keys.ts';
import { CommandError, requireOption } from '#common/command-line.ts';
import type { Environment } from '#common/environment.ts';
import { findRecordProblem, findTwin, normalizeRef, readProviders } from '../hosting/providers.ts';
import type { WrittenProviders } from '../hosting/providers.ts';
import { EnvError, readSettings } from '../settings.ts';
import { isUnreachable } from '../store/database.ts';
import type { NewServer, Store } from '../store/types.ts';
import { describeUnknownServers, formatTable, parseServer, textOption, toIso, toPrintable } from './context.ts';
import type { Context } from './context.ts';

/** Adds `servers add | list | suspend | resume | remove`. */
export function addServersCommands(program: Command, context: Context): void {
  const { settings, withStore, change, show, printNote } = context;
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
    .action(async (server, { logFile = null, replace = false, shared, json, ...flags }) => {
      const provider = requireOption(flags.provider, '--provider');
      const ref = requireOption(flags.ref, '--ref');
      if (logFile !== null && !server.startsWith('game:')) throw new CommandError('--log-file is for game servers');
      const providers = checkRecord({ server, provider, ref }, settings());
      const common = { server, provider, logFile, ...(shared && { shared: 'yes' as const }) };
      const record = { ...common, ref: normalizeRef(provider, ref, providers) };
      const outcome = await withStore((store) => put(store, record, { replace, providers }, change), true);
      // Only a warning: a server may be added on a machine that has only the database.
      if (!providers)
        printNote(`warning: PROVIDERS_FILE is not set: the provider ${provider} and the ref are not checked`);
      await show(json, record, `${server} ${outcome}`);
    });
  servers
    .command('list')
    .description('Lists the servers.')
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const records = (await withStore((store) => store.servers.list())).map(({ suspendedAt, shared, ...record }) => {
        return { ...record, ...(shared !== 'no' && { shared }), suspended: toIso(suspendedAt) };
      });
      const heading = ['SERVER', 'PROVIDER', 'REF', 'LOG FILE', 'SUSPENDED'];
      const rows = records.map(({ server, provider, ref, logFile, suspended }) => {
        return [server, provider, ref, logFile ?? '', suspended ?? ''];
      });
      await show(json, records, json ? '' : formatTable(heading, rows));
    });
  type Apply = (records: Store['servers'], server: ServerName) => Promise<boolean>;
  /** Adds a command that changes an existing server; `apply` returns false for a missing server. */
  const addChange = (name: string, done: string, description: string, apply: Apply) =>
    servers
      .command(name)
      .description(description)
      .argument('<server>', 'game:ID or vps:ID', parseServer)
      .option('--json', 'print a JSON object')
      .action(async (server, { json }) => {
        await withStore(async (store) => {
          if (await change(store, { action: `servers ${name}`, server }, () => apply(store.servers, server))) return;
          throw new CommandError((await describeUnknownServers(store, [server]))[0]);
        });
        await show(json, { server }, `${server} is ${done}`);
      });
  const suspends = 'Suspends a server, for instance an unpaid server: its keys get 403, and its streams end.';
  addChange('suspend', 'suspended', suspends, (records, server) => records.suspend(server, Date.now()));
  addChange('resume', 'resumed', 'Ends the suspension of a server.', (records, server) => records.resume(server));
  const removes = 'Removes a server, but keeps its keys and audit log.';
  addChange('remove', 'removed', removes, (records, server) => records.remove(server));
}

/** Throws for an impossible provider or ref of a record. Returns the providers; undefined without PROVIDERS_FILE. */
function checkRecord(
  record: Parameters<typeof findRecordProblem>[0],
  settings: Environment,
): WrittenProviders | undefined {
  const { PROVIDERS_FILE: file } = readSettings(z.object({ PROVIDERS_FILE: z.string().optional() }), settings);
  if (file === undefined) return undefined;
  const providers = readProviders(file);
  if (!providers) throw new EnvError('PROVIDERS_FILE: the file cannot be read, or is not YAML with providers');
  const problem = findRecordProblem(record, providers);
  if (problem !== undefined) throw new CommandError(toPrintable(problem));
  return providers;
}

/** Adds a record, or replaces an existing record if allowed. Returns a description of the change. */
async function put(
  store: Store,
  record: NewServer,
  { replace, providers }: { readonly replace: boolean; readonly providers: WrittenProviders | undefined },
  change: Context['change'],
): Promise<string> {
  const { server, provider, ref, logFile, shared } = record;
  // Replacing a damaged record is the only way to repair it.
  const found = await store.servers.find(server).catch((error: Error) => error);
  if (isUnreachable(found)) throw found;
  const existing = found instanceof Error ? undefined : found;
  const isSame =
    existing?.provider === provider &&
    normalizeRef(provider, existing.ref, providers) === ref &&
    existing.logFile === logFile;
  if (isSame && (shared === undefined || shared === existing.shared)) return 'is already added';
  if (found && !replace) {
    const reason = existing ? `${server} exists with ${describeRecord(existing)}` : (found as Error).message;
    throw new CommandError(`${reason}; pass --replace to replace the record`);
  }
  const twin = shared === undefined ? await findTwin(store.servers, record, providers) : undefined;
  if (twin)
    throw new CommandError(`${twin.server} has ${describeRecord(twin)}; pass --shared to allow a second server`);
  const values = { provider, ref, log_file: logFile, ...(shared && { shared }) };
  await change(store, { action: 'servers add', server, values }, () => store.servers.put(record));
  if (!found) return 'is added';
  return existing ? `is changed from ${describeRecord(existing)}` : 'is changed';
}

function describeRecord({ provider, ref, logFile }: NewServer): string {
  const log = logFile === null ? '' : ` and log file ${logFile}`;
  return toPrintable(`ref ${ref} of provider ${provider}${log}`);
}
