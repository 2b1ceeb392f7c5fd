import type { Command } from '@commander-js/extra-typings';
import { CommandError } from '#common/command-line.ts';
import { isActive } from '../keys/access.ts';
import { createApiKey, generateApiKey } from '../keys/key.ts';
import type { ApiKeyRecord, Store } from '../store/types.ts';
import { OutputError } from './context.ts';
import type { Context } from './context.ts';
import { parseDuration, parseKeyId, parseScope, parseServer, parseText, parseTime, repeatable } from './inputs.ts';
import { formatTable } from './table.ts';
import { didYouMean, toIso } from './text.ts';
import { describeUnknownServer } from './unknown.ts';

/** Adds `keys create | list | rotate | revoke`. */
export function addKeysCommands(program: Command, context: Context): void {
  const keys = program.command('keys').description('API keys for hosting controls.');
  addCreate(keys, context);
  addList(keys, context);
  addRotate(keys, context);
  addRevoke(keys, context);
}

function addCreate(keys: Command, context: Context): void {
  keys
    .command('create')
    .description('Creates an API key, and prints it once.')
    .option('--server <game:ID>', 'a server it is for, or vps:ID; repeatable', repeatable(parseServer))
    .option('--scope <S>', 'what it may do, for instance game-power:read; repeatable', repeatable(parseScope))
    .option('--label <TEXT>', 'a name for the key', (text) => parseText(text, '--label', 100, 0))
    .option('--expires <DATE>', 'YYYY-MM-DD or an ISO time; never if left out', parseExpiry)
    .option('--json', 'print a JSON object')
    .action(async ({ server: servers = [], scope: scopes = [], label = '', expires: expiresAt = null, json }) => {
      const { withStore, change, printNote } = context;
      if (servers.length === 0) throw new CommandError('--server is missing: a key is for at least one server');
      if (scopes.length === 0) throw new CommandError('--scope is missing: a key allows at least one thing');
      const { record, text } = createApiKey({ label, servers, scopes, expiresAt });
      for (const scope of scopes) {
        const kind = scope.split('-', 1)[0]!;
        if (servers.some((server) => server.startsWith(`${kind}:`))) continue;
        printNote(`warning: ${scope} has no effect, as the key has no ${kind}:<id> server`);
      }
      await withStore(async (store) => {
        for (const server of servers) {
          // Only a warning, since a server may be added after its key.
          const warning = await describeUnknownServer(store, server);
          if (warning !== undefined) printNote(`warning: ${warning}; add it with servers add`);
        }
        const values = { servers: servers.join(','), scopes: scopes.join(','), expires: toIso(expiresAt) };
        await change(store, { action: 'keys create', keyId: record.id, values }, () => store.apiKeys.create(record));
        await showKey(context, record, text, json, `API key ${record.id} is created`);
      });
    });
}

function addList(keys: Command, { withStore, print }: Context): void {
  keys
    .command('list')
    .description('Lists the API keys, the oldest first.')
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const records = await withStore((store) => store.apiKeys.list());
      await print(json ? JSON.stringify(records.map(describe)) : formatTable(heading, records.map(toCells)));
    });
}

function addRotate(keys: Command, context: Context): void {
  keys
    .command('rotate')
    .description('Gives an API key a new secret, and prints it once.')
    .argument('<id>', 'the id of the key', parseKeyId)
    .option('--overlap <24h>', 'how long the old secret stays valid: 90s, 15m, 24h, 7d', parseOverlap, 0)
    .option('--json', 'print a JSON object')
    .action(async (id, { overlap, json }) => {
      const { hash, text } = generateApiKey({ id });
      const now = Date.now();
      await context.withStore(async (store) => {
        const key = await store.apiKeys.find(id);
        if (!key) throw await unknownKey(store, id);
        if (key.revokedAt !== null) throw new CommandError(`API key ${id} is revoked: create a new one`);
        if (!isActive(key, now)) throw new CommandError(`API key ${id} has expired: create a new one`);
        if (key.previousUntil !== null && key.previousUntil > now) {
          const until = toIso(key.previousUntil);
          context.printNote(`warning: the secret before the last rotation was valid until ${until}, and ends now`);
        }
        const values = { old_valid_until: toIso(now + overlap) };
        const rotate = () => store.apiKeys.rotate(id, hash, now + overlap);
        if (!(await context.change(store, { action: 'keys rotate', keyId: id, values }, rotate))) {
          throw await unknownKey(store, id);
        }
        const oldUntil = toIso(Math.min(now + overlap, key.expiresAt ?? Infinity));
        const old = overlap > 0 ? `is valid until ${oldUntil}` : 'is no longer valid';
        await showKey(context, key, text, json, `API key ${id} has a new secret; the old one ${old}`);
      });
    });
}

function addRevoke(keys: Command, { withStore, change, print }: Context): void {
  keys
    .command('revoke')
    .description('Revokes an API key for good, from the next request on.')
    .argument('<id>', 'the id of the key', parseKeyId)
    .option('--json', 'print a JSON object')
    .action(async (id, { json }) => {
      await withStore(async (store) => {
        const revoke = () => store.apiKeys.revoke(id, Date.now());
        if (!(await change(store, { action: 'keys revoke', keyId: id }, revoke))) throw await unknownKey(store, id);
      });
      await print(json ? JSON.stringify({ id }) : `API key ${id} is revoked`);
    });
}

async function unknownKey(store: Store, id: string): Promise<CommandError> {
  // Without a hint if another record is damaged.
  const keys = await store.apiKeys.list().catch(() => []);
  const ids = keys.map((key) => key.id);
  return new CommandError(`no API key has the id ${id}${didYouMean(id, ids)}`);
}

function parseOverlap(text: string): number {
  const overlap = parseDuration(text);
  if (overlap === undefined) throw new CommandError('--overlap must be a time such as 90s, 15m, 24h or 7d');
  return overlap;
}

function parseExpiry(text: string): number {
  const time = parseTime(text);
  if (time === undefined) {
    throw new CommandError('--expires must be a date of the form YYYY-MM-DD, or an ISO time such as 2030-01-31T12:00Z');
  }
  if (time <= Date.now()) throw new CommandError(`--expires is in the past: ${toIso(time)}`);
  return time;
}

/** Prints the key. Only the key goes to stdout, so that it can be piped. */
async function showKey(
  { print, printNote }: Context,
  { id, label, servers, scopes, expiresAt }: ApiKeyRecord,
  text: string,
  json: boolean | undefined,
  outcome: string,
): Promise<void> {
  const ends = expiresAt === null ? 'it never expires' : `it expires at ${toIso(expiresAt)}`;
  printNote(`${outcome}; ${ends}. It is shown only once:`);
  try {
    await print(json ? JSON.stringify({ id, key: text, label, servers, scopes, expires: toIso(expiresAt) }) : text);
  } catch (error) {
    if (!(error instanceof OutputError)) throw error;
    throw new CommandError(`${error.message}, so this secret is lost: run keys rotate ${id} to get a new one`);
  }
}

/** A key without its hashes. */
function describe(key: ApiKeyRecord) {
  const { id, label, servers, scopes } = key;
  return {
    id,
    label,
    servers,
    scopes,
    created: toIso(key.createdAt),
    expires: toIso(key.expiresAt),
    revoked: toIso(key.revokedAt),
    lastUsed: toIso(key.lastUsedAt),
    overlapUntil: toIso(key.previousUntil),
  };
}

const heading = ['ID', 'STATE', 'LABEL', 'SERVERS', 'SCOPES', 'CREATED', 'LAST USED'];

function toCells(key: ApiKeyRecord): string[] {
  const { id, label, servers, scopes } = key;
  const [created, lastUsed] = [toIso(key.createdAt)!, toIso(key.lastUsedAt) ?? 'never'];
  return [id, stateOf(key), label, servers.join(','), scopes.join(','), created, lastUsed];
}

function stateOf(key: ApiKeyRecord): string {
  if (key.revokedAt !== null) return `revoked ${toIso(key.revokedAt)}`;
  if (key.expiresAt === null) return 'active';
  return `${isActive(key, Date.now()) ? 'until' : 'expired'} ${toIso(key.expiresAt)}`;
}
