import type { Command } from '@commander-js/extra-typings';
import type { Scope, ServerName } from '#contract/api-keys.ts';
import { CommandError } from '#common/command-line.ts';
import { isActive } from '../keys/access.ts';
import { createApiKey } from '../keys/key.ts';
import type { ApiKeyRecord, Store } from '../store/types.ts';
import type { Context } from './context.ts';
import { parseKeyId, parseScope, parseServer, parseText, parseTime, repeatable } from './inputs.ts';
import { showKey, valuesOf } from './key-output.ts';
import { toIso } from './text.ts';
import { describeUnknownServer, unknownKey } from './unknown.ts';

const parseLabel = (text: string): string => parseText(text, '--label', 100, 0);

/** Adds `keys create`. */
export function addCreate(keys: Command, context: Context): void {
  keys
    .command('create')
    .description('Creates an API key, and prints it once.')
    .option('--server <game:ID>', 'a server it is for, or vps:ID; repeatable', repeatable(parseServer))
    .option('--scope <S>', 'what it may do, for instance game-power:read; repeatable', repeatable(parseScope))
    .option('--label <TEXT>', 'a name for the key', parseLabel)
    .option('--expires <DATE>', 'YYYY-MM-DD or an ISO time; never if left out', parseExpiry)
    .option('--if-absent', 'create nothing if a key with the label exists that is neither revoked nor expired')
    .option('--json', 'print a JSON object; with --if-absent, its created says whether the key is new')
    .action(async (options) => {
      const {
        server: servers = [],
        scope: scopes = [],
        label = '',
        expires: expiresAt = null,
        ifAbsent,
        json,
      } = options;
      if (servers.length === 0) throw new CommandError('--server is missing: a key is for at least one server');
      if (scopes.length === 0) throw new CommandError('--scope is missing: a key allows at least one thing');
      if (ifAbsent && label === '') throw new CommandError('--label is missing: --if-absent looks for it');
      const { record, text } = createApiKey({ label, servers, scopes, expiresAt });
      await context.withStore(async (store) => {
        await warnOfValues(store, record, context);
        const existing = await create(store, record, { context, ifAbsent });
        if (existing) return await showExisting(context, existing, { wanted: record, json });
        const outcome = `API key ${record.id} is created`;
        await showKey(context, { key: record, text, outcome, json, ...(ifAbsent && { fields: { created: true } }) });
      });
    });
}

/** Stores a new key. Returns the one that has its label, if that is a reason to create none. */
async function create(
  store: Store,
  record: ApiKeyRecord,
  { context, ifAbsent }: { readonly context: Context; readonly ifAbsent: boolean | undefined },
): Promise<ApiKeyRecord | undefined> {
  const { id, label, servers, scopes, expiresAt, createdAt } = record;
  let existing = ifAbsent ? await store.apiKeys.findActive(label, createdAt) : undefined;
  if (existing) return existing;
  const values = { servers: servers.join(','), scopes: scopes.join(','), expires: toIso(expiresAt) };
  await context.change(store, { action: 'keys create', keyId: id, values }, async () => {
    if (!ifAbsent) return await store.apiKeys.create(record);
    existing = await store.apiKeys.createIfAbsent(record);
    return existing ? 'exists' : true;
  });
  return existing;
}

/** Says that a key exists. Its text is unknown, so stdout stays empty without --json. */
async function showExisting(
  { print, printNote }: Context,
  key: ApiKeyRecord,
  { wanted, json }: { readonly wanted: ApiKeyRecord; readonly json: boolean | undefined },
): Promise<void> {
  const { id, label } = key;
  printNote(`API key ${id} with the label ${JSON.stringify(label)} exists, so none is created`);
  const [has, given] = [valuesOf(key), valuesOf(wanted)].map(({ servers, scopes, expires }) =>
    JSON.stringify([servers.toSorted(), scopes.toSorted(), expires]),
  );
  if (has !== given) printNote(`warning: its servers, scopes or end are others: keys update ${id} changes them`);
  if (json) await print(JSON.stringify({ id, key: null, created: false, ...valuesOf(key) }));
}

/** Adds `keys update`. */
export function addUpdate(keys: Command, context: Context): void {
  keys
    .command('update')
    .description('Changes an API key from its next request on. What is given replaces what was; all else stays.')
    .argument('<id>', 'the id of the key', parseKeyId)
    .option('--server <game:ID>', 'the servers it is for; repeatable', repeatable(parseServer))
    .option('--scope <S>', 'what it may do; repeatable', repeatable(parseScope))
    .option('--label <TEXT>', 'a name for the key', parseLabel)
    .option('--expires <DATE>', 'YYYY-MM-DD or an ISO time, or never', (text) =>
      text === 'never' ? text : parseExpiry(text),
    )
    .option('--json', 'print a JSON object')
    .action(async (id, { server: servers, scope: scopes, label, expires, json }) => {
      const expiresAt = expires === 'never' ? null : expires;
      if ([servers, scopes, label, expiresAt].every((value) => value === undefined)) {
        throw new CommandError('nothing to change: give --server, --scope, --label or --expires');
      }
      await context.withStore(async (store) => {
        const before = await store.apiKeys.find(id);
        if (!before) throw await unknownKey(store, id);
        const revoked = new CommandError(`API key ${id} is revoked: create a new one`);
        if (before.revokedAt !== null) throw revoked;
        const given = { servers, scopes, label, expiresAt };
        const key = {
          ...before,
          ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
        };
        if (servers ?? scopes) await warnOfValues(store, key, context, servers ?? []);
        if (!isActive(key, Date.now())) {
          context.printNote(`warning: API key ${id} has expired; --expires gives it another end`);
        }
        const values = {
          servers: servers?.join(',') ?? null,
          scopes: scopes?.join(',') ?? null,
          expires: expiresAt === undefined ? null : (toIso(expiresAt) ?? 'never'),
          label: label === undefined ? null : JSON.stringify(label),
        };
        const update = () => store.apiKeys.update(id, given);
        if (!(await context.change(store, { action: 'keys update', keyId: id, values }, update))) throw revoked;
        await context.print(json ? JSON.stringify({ id, ...valuesOf(key) }) : `API key ${id} is changed`);
      });
    });
}

/** Warns of servers that do not exist, and of scopes without a server; a server may be added after its key. */
async function warnOfValues(
  store: Store,
  { servers, scopes }: { readonly servers: readonly ServerName[]; readonly scopes: readonly Scope[] },
  { printNote }: Context,
  named: readonly ServerName[] = servers,
): Promise<void> {
  for (const scope of scopes) {
    const kind = scope.split('-', 1)[0]!;
    if (servers.some((server) => server.startsWith(`${kind}:`))) continue;
    printNote(`warning: ${scope} has no effect, as the key has no ${kind}:<id> server`);
  }
  for (const server of named) {
    const warning = await describeUnknownServer(store, server);
    if (warning !== undefined) printNote(`warning: ${warning}; add it with servers add`);
  }
}

function parseExpiry(text: string): number {
  const time = parseTime(text);
  if (time === undefined) {
    throw new CommandError('--expires must be a date of the form YYYY-MM-DD, or an ISO time such as 2030-01-31T12:00Z');
  }
  if (time <= Date.now()) throw new CommandError(`--expires is in the past: ${toIso(time)}`);
  return time;
}
