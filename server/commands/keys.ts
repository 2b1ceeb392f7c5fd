import type { Command } from '@commander-js/extra-typings';
import { scopes as allScopes } from '#contract/api-keys.ts';
import { CommandError, requireOptions } from '#common/command-line.ts';
import { didYouMean } from '#common/suggest.ts';
import { explain } from '../explain.ts';
import { isActive } from '../keys/authorize.ts';
import { commandLine, createChanges, toIso } from '../operators/changes.ts';
import type { Grant } from '../operators/changes.ts';
import { Problem } from '../problem.ts';
import type { ApiKeyRecord, ChildKey, OperatorToken, SecretRecord, Store, UsableKey } from '../store/types.ts';
import {
  OutputError,
  describeUnknownServers,
  formatTable,
  parseDuration,
  parseKeyId,
  parseScope,
  parseServer,
  parseTime,
  parser,
  repeatable,
  textOption,
  toPrintable,
} from './context.ts';
import type { Context } from './context.ts';

const example = 'npm run keys -- create --server game:demo --scope game-power:read_write';

/** Adds `keys create | update | list | explain | rotate | revoke`. */
export function addKeysCommands(program: Command, { withStore, print, show, printNote, columns }: Context): void {
  /** Prints the text of a key once; nothing else goes to stdout, for pipes. */
  const showSecret = async (outcome: string, key: KeyRecord, result: { readonly key: string }, json?: boolean) => {
    const { id, expiresAt } = key;
    const ends = expiresAt === null ? 'the key never expires' : `the key expires at ${toIso(expiresAt)}`;
    printNote(`${outcome}; ${ends}. The text of the key is shown only once:`);
    await show(json, { id, ...result, ...valuesOf(key) }, result.key).catch((error: unknown) => {
      if (!(error instanceof OutputError)) throw error;
      throw new CommandError(`${error.message}, and this secret is lost: run keys rotate ${id} to get a new secret`);
    });
  };
  /** Warns of scopes without a server, and of missing servers, which may be added after the key. */
  const warn = async (store: Store, key: Pick<ApiKeyRecord, 'servers' | 'scopes'>, named = key.servers) => {
    for (const scope of key.scopes) {
      const kind = scope.split('-', 1)[0]!;
      if (key.servers.some((server) => server.startsWith(`${kind}:`))) continue;
      printNote(`warning: ${scope} has no effect: the key has no ${kind}:<id> server`);
    }
    for (const warning of await describeUnknownServers(store, named))
      printNote(`warning: ${warning}; add it with servers add`);
  };
  const keys = program.command('keys').description('API keys for hosting controls.');
  keys
    .command('create')
    .description('Creates an API key and prints its text once.')
    .option('--server <game:ID>', 'a server of the key, or vps:ID; repeatable', repeatable(parseServer))
    .option('--scope <S>', 'a scope of the key, for instance game-power:read; repeatable', repeatable(parseScope))
    .option('--label <TEXT>', 'a name for the key', parseLabel)
    .option('--expires <DATE>', 'YYYY-MM-DD (until its end in UTC) or an ISO time; default never', parseExpiry)
    .option('--manages-keys', 'the key may create child keys and rotate itself')
    .option('--if-absent', 'create no key if an active key has the label')
    .option('--json', 'print a JSON object; with --if-absent, `created` is false for an existing key')
    .addHelpText('after', `\nScopes:\n  ${allScopes.join('\n  ')}\n\nExample:\n  ${example}`)
    .action(async ({ server: servers = [], scope: scopes = [], label = '', expires, managesKeys, ifAbsent, json }) => {
      requireOptions({ server: servers, scope: scopes });
      if (ifAbsent && label === '') throw new CommandError('--label is required with --if-absent');
      const fields = { label, servers, scopes, expiresAt: expires?.end ?? null, managesKeys: managesKeys ?? false };
      await withStore(async (store) => {
        await warn(store, fields);
        const { record, text } = await createChanges(store, commandLine).createKey(fields, ifAbsent);
        const { id } = record;
        if (text !== undefined) {
          const result = { key: text, ...(ifAbsent && { created: true }) };
          return await showSecret(`API key ${id} is created`, record, result, json);
        }
        // The text of an existing key is unknown: without --json, stdout stays empty.
        printNote(`API key ${id} with the label ${JSON.stringify(label)} exists: no key is created`);
        // Earlier versions stored the start of the day.
        const expiresAt = record.expiresAt === expires?.start ? fields.expiresAt : record.expiresAt;
        const [has, given] = [{ ...record, expiresAt }, fields].map((key: Grant) =>
          JSON.stringify([key.servers.toSorted(), key.scopes.toSorted(), key.expiresAt, key.managesKeys]),
        );
        const advice = `to change them, run keys update ${id}`;
        if (has !== given) printNote(`warning: this key has other servers, scopes or expiry; ${advice}`);
        if (json) await print(JSON.stringify({ id, key: null, created: false, ...valuesOf(record) }));
      }, true);
    });
  keys
    .command('update')
    .description('Changes an API key, from its next request on. Each option replaces the old value; other values stay.')
    .argument('<id>', 'the id of the key', parseKeyId)
    .option('--server <game:ID>', 'a server of the key, or vps:ID; repeatable', repeatable(parseServer))
    .option('--scope <S>', 'a scope of the key; repeatable', repeatable(parseScope))
    .option('--label <TEXT>', 'a name for the key', parseLabel)
    .option('--expires <DATE>', 'YYYY-MM-DD (until its end in UTC), an ISO time, or never', (text) =>
      text === 'never' ? text : parseExpiry(text),
    )
    .option('--manages-keys', 'let the key create child keys and rotate itself')
    .option('--no-manages-keys', 'no longer let it')
    .option('--json', 'print a JSON object')
    .action(async (id, { server: servers, scope: scopes, label, expires, managesKeys, json }) => {
      const expiresAt = expires === 'never' ? null : expires?.end;
      const given = { servers, scopes, label, expiresAt, managesKeys };
      const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      if (Object.keys(changes).length === 0)
        throw new CommandError('nothing to change: pass --server, --scope, --label, --expires or --manages-keys');
      await withStore(async (store) => {
        const key = { ...(await requireKey(store, id)), ...changes };
        if (key.revokedAt !== null) throw new CommandError(`API key ${id} is revoked: create a new key`);
        if (servers ?? scopes) await warn(store, key, servers ?? []);
        if (!isActive(key, Date.now())) printNote(`warning: API key ${id} has expired; pass --expires to extend it`);
        const changed = await createChanges(store, commandLine).updateKey(id, () => changes);
        await show(json, { id, ...valuesOf(changed) }, `API key ${id} is changed`);
      });
    });
  keys
    .command('list')
    .description('Lists the API keys, oldest first, each before its child keys.')
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const records = await withStore((store) => store.keyring.list());
      const more = ['parentId', 'managesKeys', 'networks'] as const;
      const { described, table } = toRows(records, ['servers', 'scopes'], columns, more);
      await show(json, described, table);
    });
  keys
    .command('explain')
    .description(
      'Shows how the server would answer a request with an API key, and the deciding rule: path, method, key, server, ' +
        'scope or suspension. Sends nothing; ignores limits, query and body. Exit status 0: allowed, 1: refused.',
    )
    .argument('<id>', 'the id of the key', parseKeyId)
    .argument('<method>', 'GET, POST, ...', parseMethod)
    .argument('<path>', 'for instance /v1/hosting/game/power/ID/start', parsePath)
    .option('--json', 'print a JSON object')
    .action(async (id, method, path, { json }) => {
      const { status, code, reason } = await withStore(async (store) =>
        explain(store, await requireKey(store, id), { method, path }),
      );
      const allowed = code === 'allowed';
      const sentence = toPrintable(`${status} ${code}: ${reason}`);
      await show(json, { id, method, path, allowed, status, code, reason }, sentence);
      if (!allowed) throw new CommandError('');
    });
  keys
    .command('rotate')
    .description('Gives an API key a new secret and prints the new text once.')
    .argument('<id>', 'the id of the key', parseKeyId)
    .option('--overlap <24h>', 'how long the old secret stays valid: 90s, 15m, 24h, 7d', parseOverlap, 0)
    .option('--json', 'print a JSON object')
    .action(async (id, { overlap, json }) => {
      await withStore(async (store) => {
        const [key, now] = [await requireKey(store, id), Date.now()];
        const { text, oldUntil } = await createChanges(store, commandLine).rotateKey(key, overlap);
        const before = key.previousUntil;
        if (before !== null && before > now)
          printNote(`warning: the secret before the last rotation was valid until ${toIso(before)} and ends now`);
        const old = overlap > 0 ? `is valid until ${oldUntil}` : 'is no longer valid';
        await showSecret(`API key ${id} has a new secret; the old secret ${old}`, key, { key: text }, json);
      });
    });
  keys
    .command('revoke')
    .description('Revokes an API key for good, from the next request on.')
    .argument('<id>', 'the id of the key', parseKeyId)
    .option('--json', 'print a JSON object')
    .action(async (id, { json }) => {
      await withStore(async (store) => {
        await createChanges(store, commandLine)
          .revoke('hk', id)
          .catch(async (error: unknown) => {
            throw error instanceof Problem && error.code === 'not_found' ? await unknownKey(store, id) : error;
          });
      });
      await show(json, { id }, `API key ${id} is revoked`);
    });
}

/** Describes keys or tokens, without the hashes, as JSON and as a table, with more fields: `lists` of both, `inJson`. */
export function toRows<Key extends UsableKey | OperatorToken>(
  keys: readonly Key[],
  lists: readonly (keyof Key & string)[],
  columns?: number,
  inJson: readonly (keyof Key)[] = [],
) {
  const described = keys.map((key) => {
    const [created, expires, revoked] = [toIso(key.createdAt)!, toIso(key.expiresAt), toIso(key.revokedAt)];
    const [lastUsed, overlapUntil] = [toIso(key.lastUsedAt), toIso(key.previousUntil)];
    const more = Object.fromEntries([...lists, ...inJson].map((field) => [field, key[field]]));
    return { id: key.id, label: key.label, ...more, created, expires, revoked, lastUsed, overlapUntil };
  });
  const rows = keys.map((key, at) => {
    const { created, lastUsed } = described[at]!;
    const more = lists.map((list) => String(key[list]));
    const indent = 'parentId' in key && key.parentId !== null ? '  ' : '';
    return [indent + key.id, stateOf(key), key.label, ...more, created, lastUsed ?? 'never'];
  });
  const heading = ['ID', 'STATE', 'LABEL', ...lists.map((list) => list.toUpperCase()), 'CREATED', 'LAST USED'];
  return { described, table: formatTable(heading, rows, columns) };
}

/** The fields of a key in JSON besides its id. */
function valuesOf({ label, servers, scopes, expiresAt }: KeyRecord) {
  return { label, servers, scopes, expires: toIso(expiresAt) };
}

type KeyRecord = ApiKeyRecord | ChildKey;

async function requireKey(store: Store, id: string): Promise<KeyRecord> {
  const key = (await store.apiKeys.find(id)) ?? (await store.childKeys.find(id));
  if (!key) throw await unknownKey(store, id);
  return key;
}

/** Creates the error for a missing API key, with the nearest id. */
async function unknownKey(store: Store, id: string): Promise<CommandError> {
  // No hint if another record is damaged.
  const ids = (await store.apiKeys.list().catch(() => [])).map((key) => key.id);
  return new CommandError(`no API key has the id ${id}${didYouMean(id, ids)}`);
}

function stateOf(key: SecretRecord): string {
  if (key.revokedAt !== null) return `revoked ${toIso(key.revokedAt)}`;
  if (key.expiresAt === null) return 'active';
  return `${isActive(key, Date.now()) ? 'until' : 'expired'} ${toIso(key.expiresAt)}`;
}

const parseLabel = textOption('--label', 100, 0);

const expiryRule = '--expires must be a date of the form YYYY-MM-DD, or an ISO time such as 2030-01-31T12:00Z';
/** Parses the end of a key or a token; throws for a time in the past. */
export const parseExpiry = parser(expiryRule, (text) => {
  const start = parseTime(text);
  if (start === undefined) return undefined;
  const end = text.includes('T') ? start : start + 86_400_000;
  if (end <= Date.now()) throw new CommandError(`--expires is in the past: ${toIso(end)}`);
  return { start, end };
});

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const parseMethod = parser(`METHOD must be one of ${methods.join(', ')}`, (text) =>
  methods.find((method) => method === text.toUpperCase()),
);

const pathRule = 'PATH must begin with /, without spaces and characters beyond ASCII: encode them, for instance as %20';
const parsePath = parser(pathRule, (text) =>
  text.length <= 8000 ? /^(?:\/|https?:\/\/)[\x21-\x7e]*$/i.exec(text)?.[0] : undefined,
);

export const parseOverlap = parser('--overlap must be a duration such as 90s, 15m, 24h or 7d', parseDuration);
