import type { Command } from '@commander-js/extra-typings';
import { ServerName } from '#contract/api-keys.ts';
import { CommandError, requireOptions } from '#common/command-line.ts';
import { createSilentLog } from '../doctor/installation.ts';
import { readEnv } from '../env.ts';
import { createProviders, loadProviders, normalizeRef, providerTypes } from '../hosting/providers.ts';
import { commandLine, createChanges } from '../operators/changes.ts';
import { Problem } from '../problem.ts';
import { formatTable, parser, textOption } from './context.ts';
import type { Context } from './context.ts';

const parseId = parser('--id must be ref or name', (text) => (['ref', 'name'] as const).find((id) => id === text));

/** Adds `servers import` to the commands of servers. */
export function addImportCommand(servers: Command, { settings, withStore, show, printNote, columns }: Context): void {
  servers
    .command('import')
    .description('Shows which servers of a provider have a record here; adds the others with --yes. Removes nothing.')
    .option('--provider <NAME>', 'the name of the provider in PROVIDERS_FILE', textOption('--provider', 100))
    .option('--id <FIELD>', 'what the IDs are made of: ref or name', parseId, 'ref')
    .option('--prefix <TEXT>', 'the beginning of each ID', textOption('--prefix', 100), '')
    .option('--yes', 'add the new servers')
    .option('--json', 'print a JSON array')
    .action(async ({ id: field, prefix, yes = false, json, ...flags }) => {
      const { provider: name } = requireOptions({ provider: flags.provider });
      const { PROVIDERS_FILE: file, DATA_DIR: dataDir, UPSTREAM_TIMEOUT_SECONDS: seconds } = readEnv(settings());
      const config = file === undefined ? {} : loadProviders(file, settings());
      const own = config[name];
      if (!own) throw new CommandError(`PROVIDERS_FILE has no provider ${name}`);
      const { refs } = providerTypes[own.type];
      const options = { dataDir, log: createSilentLog(), timeoutMs: seconds * 1000 };
      const provider = createProviders({ [name]: own }, options).get(name)!;
      const list = await provider.listRefs?.();
      await provider.close();
      if (!list) throw new CommandError(`the provider ${name} does not list its servers: add them with servers add`);
      const { names, missed, warning } = list;
      if (warning !== undefined) printNote(`warning: ${warning}`);
      if (missed > 0) printNote(`warning: ${missed} more servers are not listed; import again`);
      const normalize = (ref: string): string => normalizeRef(name, ref, config);
      const listed = [...names].map(([ref, title]) => {
        const text = field === 'ref' ? ref : title.replaceAll(/[^\w.-]+/g, '-').replaceAll(/^[-._]+|-+$/g, '');
        const server = ServerName.safeParse(`${'kind' in refs ? refs.kind : 'game'}:${prefix}${text}`).data;
        return { server: text === '' ? undefined : server, ref, name: title };
      });
      const count = Map.groupBy(listed, ({ server }) => server);
      const rows = await withStore(async (store) => {
        const records = await store.servers.list();
        const taken = new Set<string>(records.map(({ server }) => server));
        const ofProvider = records.filter((record) => record.provider === name);
        const known = new Map(ofProvider.map((record) => [normalize(record.ref), record.server]));
        const found = [];
        for (const { server, ref, name: title } of listed) {
          const existing = known.get(normalize(ref));
          const isTwin = server !== undefined && (taken.has(server) || count.get(server)!.length > 1);
          let state = existing ? 'known' : server === undefined ? 'no ID' : isTwin ? 'the ID is taken' : 'new';
          if (yes && state === 'new' && server !== undefined) {
            const record = { server, provider: name, ref: normalize(ref), logFile: null };
            await createChanges(store, commandLine)
              .putServer(record, false, config)
              .catch((error: unknown) => {
                if (!(error instanceof Problem)) throw error;
                state = 'the ID is taken';
              });
          }
          found.push({ server: existing ?? server ?? null, ref, name: title, state });
        }
        const there = new Set([...names.keys()].map(normalize));
        const gone = missed > 0 ? [] : ofProvider.filter(({ ref }) => !there.has(normalize(ref)));
        return [...found, ...gone.map(({ server, ref }) => ({ server, ref, name: null, state: 'gone there' }))];
      }, true);
      const cells = rows.map(({ server, ref, name: title, state }) => [state, server ?? '', ref, title ?? '']);
      await show(json, rows, formatTable(['STATE', 'SERVER', 'REF', 'NAME'], cells, columns));
      const left = rows.filter(({ state }) => state === 'the ID is taken' || state === 'no ID').length;
      if (left + missed > 0) throw new CommandError(`${left + missed} servers cannot be added: see their states`);
    });
}
