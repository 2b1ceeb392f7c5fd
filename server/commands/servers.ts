import type { ServerRecord } from '../store/types.ts';
import { CommandError, defineGroup, defineStrictCommand, show } from './command.ts';
import { parseServer, parseText } from './inputs.ts';
import { doubtProvider, doubtServer } from './known.ts';
import { formatTable } from './table.ts';

const serverArg = { type: 'positional', required: true, description: 'game:ID or vps:ID' } as const;
const jsonArg = { type: 'boolean', default: false, description: 'print a JSON object' } as const;

const add = defineStrictCommand({
  meta: { name: 'add', description: 'Makes a server known, or replaces what is known of it.' },
  args: {
    server: serverArg,
    provider: { type: 'string', required: true, valueHint: 'NAME', description: 'a name of PROVIDERS_FILE' },
    ref: { type: 'string', required: true, valueHint: 'REF', description: 'what the provider calls the server' },
    'log-file': { type: 'string', valueHint: 'PATH', description: 'its newest log, if not logs/latest.log' },
    json: jsonArg,
  },
  async run({ args }, { settings, withStore, print, explain }) {
    const server = parseServer(args.server);
    const provider = parseText(args.provider, '--provider', 100);
    const ref = parseText(args.ref, '--ref', 255);
    const path = args['log-file'];
    const logFile = path === undefined ? null : parseText(path, '--log-file', 1000);
    if (logFile !== null && !server.startsWith('game:')) throw new CommandError('--log-file is for game servers');
    const record: ServerRecord = { server, provider, ref, logFile };
    const replaced = await withStore(async (store) => {
      // A damaged record is replaced too: there is no other way to mend one.
      const known = await store.servers.find(server).catch(() => true);
      await store.servers.put(record);
      return known !== undefined;
    });
    // No error: a server may be made known before the file that names its provider is in place.
    const doubt = doubtProvider(settings(), provider);
    if (doubt !== undefined) explain(`warning: ${doubt}`);
    await print(args.json ? JSON.stringify(record) : `${server} ${replaced ? 'is changed' : 'is added'}`);
  },
});

const list = defineStrictCommand({
  meta: { name: 'list', description: 'Lists the servers.' },
  args: { json: { type: 'boolean', default: false, description: 'print a JSON array' } },
  async run({ args }, { withStore, print }) {
    const servers = await withStore((store) => store.servers.list());
    const table = () =>
      formatTable(
        ['SERVER', 'PROVIDER', 'REF', 'LOG FILE'],
        servers.map(({ server, provider, ref, logFile }) => [server, provider, ref, logFile ?? ''].map(show)),
      );
    await print(args.json ? JSON.stringify(servers) : table());
  },
});

const remove = defineStrictCommand({
  meta: { name: 'remove', description: 'Forgets a server; its keys and its audit log stay.' },
  args: { server: serverArg, json: jsonArg },
  async run({ args }, { withStore, print }) {
    const server = parseServer(args.server);
    await withStore(async (store) => {
      if (await store.servers.remove(server)) return;
      throw new CommandError(await doubtServer(store, server));
    });
    await print(args.json ? JSON.stringify({ server }) : `${server} is removed`);
  },
});

/** `servers add | list | remove`. */
export const serversCommand = defineGroup(
  { name: 'servers', description: 'Which provider runs a server, and its name there.' },
  { add, list, remove },
);
