import type { Command } from './command.ts';
import { CommandError, defineGroup, defineStrictCommand, didYouMean, show } from './command.ts';
import { parseServer, parseText } from './inputs.ts';
import { print, printTable } from './output.ts';
import { withStore } from './with-store.ts';
import type { OpenStore } from './with-store.ts';

/** `servers add | list | remove`. */
export function createServersCommand(open: OpenStore): Command {
  return defineGroup(
    { name: 'servers', description: 'Which provider runs a server, and its name there.' },
    { add: add(open), list: list(open), remove: remove(open) },
  );
}

const serverArg = { type: 'positional', required: true, description: 'game:ID or vps:ID' } as const;

const add = (open: OpenStore): Command =>
  defineStrictCommand({
    meta: { name: 'add', description: 'Makes a server known, or replaces what is known of it.' },
    args: {
      server: serverArg,
      provider: { type: 'string', required: true, valueHint: 'NAME', description: 'a name of PROVIDERS_FILE' },
      ref: { type: 'string', required: true, valueHint: 'REF', description: 'what the provider calls the server' },
      'log-file': { type: 'string', valueHint: 'PATH', description: 'its newest log, if not logs/latest.log' },
    },
    async run({ args }) {
      const server = parseServer(args.server);
      const provider = parseText(args.provider, '--provider', 100);
      const ref = parseText(args.ref, '--ref', 255);
      const path = args['log-file'];
      const logFile = path === undefined ? null : parseText(path, '--log-file', 1000);
      if (logFile !== null && !server.startsWith('game:')) throw new CommandError('--log-file is for game servers');
      const replaced = await withStore(open, async (store) => {
        const before = await store.servers.find(server);
        await store.servers.put({ server, provider, ref, logFile });
        return before !== undefined;
      });
      print(`${server} ${replaced ? 'is changed' : 'is added'}`);
    },
  });

const list = (open: OpenStore): Command =>
  defineStrictCommand({
    meta: { name: 'list', description: 'Lists the servers.' },
    args: { json: { type: 'boolean', default: false, description: 'print a JSON array' } },
    async run({ args }) {
      const servers = await withStore(open, (store) => store.servers.list());
      if (args.json) {
        print(JSON.stringify(servers));
        return;
      }
      printTable(
        ['SERVER', 'PROVIDER', 'REF', 'LOG FILE'],
        servers.map(({ server, provider, ref, logFile }) => [
          server,
          show(provider),
          show(ref),
          logFile === null ? '' : show(logFile),
        ]),
      );
    },
  });

const remove = (open: OpenStore): Command =>
  defineStrictCommand({
    meta: { name: 'remove', description: 'Forgets a server; its keys and its audit log stay.' },
    args: { server: serverArg },
    async run({ args }) {
      const server = parseServer(args.server);
      await withStore(open, async (store) => {
        if (await store.servers.remove(server)) return;
        const known = (await store.servers.list()).map((record) => record.server);
        throw new CommandError(`no server ${server} is known${didYouMean(server, known)}`);
      });
      print(`${server} is removed`);
    },
  });
