import type { Command } from '@commander-js/extra-typings';
import { CommandError } from '#common/command-line.ts';
import { isActive } from '../keys/access.ts';
import { generateApiKey } from '../keys/key.ts';
import type { ApiKeyRecord } from '../store/types.ts';
import type { Context } from './context.ts';
import { parseDuration, parseKeyId } from './inputs.ts';
import { addExplain } from './key-explain.ts';
import { showKey } from './key-output.ts';
import { addCreate, addUpdate } from './key-values.ts';
import { formatTable } from './table.ts';
import { toIso } from './text.ts';
import { unknownKey } from './unknown.ts';

/** Adds `keys create | update | list | explain | rotate | revoke`. */
export function addKeysCommands(program: Command, context: Context): void {
  const keys = program.command('keys').description('API keys for hosting controls.');
  addCreate(keys, context);
  addUpdate(keys, context);
  addList(keys, context);
  addExplain(keys, context);
  addRotate(keys, context);
  addRevoke(keys, context);
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
        const outcome = `API key ${id} has a new secret; the old one ${old}`;
        await showKey(context, { key, text, outcome, json });
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

function parseOverlap(text: string): number {
  const overlap = parseDuration(text);
  if (overlap === undefined) throw new CommandError('--overlap must be a time such as 90s, 15m, 24h or 7d');
  return overlap;
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
