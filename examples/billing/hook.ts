// Hooks for a billing system: create, suspend, resume and terminate a service. They only run the operator's commands.
// Each hook may be repeated, even after an interruption: billing systems retry their hooks after an error.
//
//   node examples/billing/hook.ts create 4711 game:mc-4821 --provider panel-eu --ref 1a7ce997
//   node examples/billing/hook.ts suspend | resume | terminate 4711 game:mc-4821
//
// Exit status 0: done, now or earlier. 1: not done; the reason is on stderr. `create` prints a JSON object whose `key`
// is the text of the API key, or null when the hook is repeated (`keys rotate ID` makes a new text).
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '../..');

/** Scopes of a service's key, by kind of server. */
const scopes: Readonly<Record<string, readonly string[]>> = {
  game: ['game-power:read_write', 'game-console:read_write', 'game-logs:read'],
  vps: ['vps-power:read_write'],
};

interface Key {
  readonly id: string;
  readonly servers: readonly string[];
  readonly revoked: string | null;
}

/** Runs a command and returns its output. On a failure, exits with the command's message. */
function run(...args: readonly string[]): string {
  const command = [resolve(root, 'server/commands/main.js'), ...args];
  const { status, stdout } = spawnSync(process.execPath, command, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) process.exit(1);
  return stdout;
}

function create(service: string, server: string, provider: string, ref: string): void {
  run('servers', 'add', server, '--provider', provider, '--ref', ref);
  const allowed = scopes[server.split(':')[0]!]!.flatMap((scope) => ['--scope', scope]);
  const label = ['--label', `service ${service}`, '--if-absent'];
  const created = run('keys', 'create', '--server', server, ...allowed, ...label, '--json');
  const { id, servers } = JSON.parse(created) as Key;
  // The key exists: the service has several servers, or had another server before.
  if (!servers.includes(server)) run('keys', 'update', id, ...[...servers, server].flatMap((one) => ['--server', one]));
  process.stdout.write(created);
}

/** Removes the server from every key, because another customer may get its ID later, and unregisters the server. */
function terminate(server: string): void {
  const findKeys = (): Key[] =>
    (JSON.parse(run('keys', 'list', '--json')) as Key[]).filter(
      ({ revoked, servers }) => revoked === null && servers.includes(server),
    );
  // Repeat until no key is left: a concurrent hook that changes the same key may have put the server back.
  for (let keys = findKeys(); keys.length > 0; keys = findKeys()) {
    for (const { id, servers } of keys) {
      const others = servers.filter((other) => other !== server).flatMap((other) => ['--server', other]);
      if (others.length === 0) run('keys', 'revoke', id);
      else run('keys', 'update', id, ...others);
    }
  }
  const records = JSON.parse(run('servers', 'list', '--json')) as { readonly server: string }[];
  if (records.some((record) => record.server === server)) run('servers', 'remove', server);
}

const { values, positionals } = parseArgs({
  options: { provider: { type: 'string' }, ref: { type: 'string' } },
  allowPositionals: true,
});
const [hook, service = '', server = ''] = positionals;
const { provider, ref } = values;
const isNamed = /^[\w.-]{1,64}$/.test(service) && /^(?:game|vps):/.test(server) && positionals.length === 3;
if (isNamed && hook === 'create' && provider !== undefined && ref !== undefined) create(service, server, provider, ref);
else if (isNamed && (hook === 'suspend' || hook === 'resume')) run('servers', hook, server);
else if (isNamed && hook === 'terminate') terminate(server);
else {
  process.stderr.write(
    'usage: hook.ts create|suspend|resume|terminate SERVICE game:ID|vps:ID [--provider NAME --ref REF]\n',
  );
  process.exit(1);
}
