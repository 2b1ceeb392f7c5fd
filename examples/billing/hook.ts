// The hooks of a billing system: create, suspend, resume and terminate a service. They run the operator's commands and nothing
// else. Each may be repeated, also after it was cut off in the middle: billing systems call their hooks again after an error.
//
//   node examples/billing/hook.ts create 4711 game:mc-4821 --provider panel-eu --ref 1a7ce997
//   node examples/billing/hook.ts suspend | resume | terminate 4711 game:mc-4821
//
// Exit status 0: it is done, also if it was done before. 1: it is not; the reason is on stderr. `create` prints a JSON object
// whose `key` is the text of the API key: once, and null when it is repeated (`keys rotate ID` makes a new text).
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '../..');

/** What the key of a service may do, by the kind of its server. */
const scopes: Readonly<Record<string, readonly string[]>> = {
  game: ['game-power:read_write', 'game-console:read_write', 'game-logs:read'],
  vps: ['vps-power:read_write'],
};

interface Key {
  readonly id: string;
  readonly servers: readonly string[];
  readonly revoked: string | null;
}

/** Runs a command, and returns what it prints; on a failure this process ends with its message. */
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
  // The service had another server before, or has several.
  if (!servers.includes(server)) run('keys', 'update', id, ...[...servers, server].flatMap((one) => ['--server', one]));
  process.stdout.write(created);
}

/** Takes the server from every key that opens it, since its ID may later be that of another customer, and removes it. */
function terminate(server: string): void {
  const findKeys = (): Key[] =>
    (JSON.parse(run('keys', 'list', '--json')) as Key[]).filter(
      ({ revoked, servers }) => revoked === null && servers.includes(server),
    );
  // Until none is left: another hook that changes the same key at this moment may have put the server back.
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
