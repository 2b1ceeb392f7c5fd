import type { Command } from '@commander-js/extra-typings';
import { CommandError } from '#common/command-line.ts';
import { didYouMean } from '#common/suggest.ts';
import { createApiKey, generateApiKey, isActive } from '../keys/authorize.ts';
import type { ApiKeyRecord, Store } from '../store/types.ts';
import {
  OutputError,
  describeUnknownServer,
  formatTable,
  parseDuration,
  parseKeyId,
  parseScope,
  parseServer,
  parseTime,
  parser,
  repeatable,
  textOption,
  toIso,
  toPrintable,
} from './context.ts';
import type { Context } from './context.ts';

/** Adds `keys create | update | list | explain | rotate | revoke`. */
export function addKeysCommands(program: Command, { withStore, change, print, show, printNote }: Context): void {
  /** Prints the text of a key once. Only it goes to stdout, so that it can be piped. */
  const showSecret = async (outcome: string, key: ApiKeyRecord, result: { readonly key: string }, json?: boolean) => {
    const { id, expiresAt } = key;
    const ends = expiresAt === null ? 'it never expires' : `it expires at ${toIso(expiresAt)}`;
    printNote(`${outcome}; ${ends}. It is shown only once:`);
    await show(json, { id, ...result, ...valuesOf(key) }, result.key).catch((error: unknown) => {
      if (!(error instanceof OutputError)) throw error;
      throw new CommandError(`${error.message}, so this secret is lost: run keys rotate ${id} to get a new one`);
    });
  };
  /** Warns of scopes without a server, and of servers that do not exist: one may be added after its key. */
  const warn = async (store: Store, key: Pick<ApiKeyRecord, 'servers' | 'scopes'>, named = key.servers) => {
    for (const scope of key.scopes) {
      const kind = scope.split('-', 1)[0]!;
      if (key.servers.some((server) => server.startsWith(`${kind}:`))) continue;
      printNote(`warning: ${scope} has no effect, as the key has no ${kind}:<id> server`);
    }
    for (const server of named) {
      const warning = await describeUnknownServer(store, server);
      if (warning !== undefined) printNote(`warning: ${warning}; add it with servers add`);
    }
  };
  const keys = program.command('keys').description('API keys for hosting controls.');
  keys
    .command('create')
    .description('Creates an API key, and prints it once.')
    .option('--server <game:ID>', 'a server it is for, or vps:ID; repeatable', repeatable(parseServer))
    .option('--scope <S>', 'what it may do, for instance game-power:read; repeatable', repeatable(parseScope))
    .option('--label <TEXT>', 'a name for the key', parseLabel)
    .option('--expires <DATE>', 'YYYY-MM-DD or an ISO time; never if left out', parseExpiry)
    .option('--if-absent', 'create nothing if a key with the label exists that is neither revoked nor expired')
    .option('--json', 'print a JSON object; with --if-absent, its created says whether the key is new')
    .action(async ({ server: servers = [], scope: scopes = [], label = '', expires = null, ifAbsent, json }) => {
      if (servers.length === 0) throw new CommandError('--server is missing: a key is for at least one server');
      if (scopes.length === 0) throw new CommandError('--scope is missing: a key allows at least one thing');
      if (ifAbsent && label === '') throw new CommandError('--label is missing: --if-absent looks for it');
      const { record, text } = createApiKey({ label, servers, scopes, expiresAt: expires });
      const { id } = record;
      await withStore(async (store) => {
        await warn(store, record);
        let existing = ifAbsent ? await store.apiKeys.findActive(label, record.createdAt) : undefined;
        const create = async () => {
          if (!ifAbsent) return await store.apiKeys.create(record);
          // Another command may have created it by now.
          existing = await store.apiKeys.createIfAbsent(record);
          return existing ? 'exists' : true;
        };
        const values = { servers: servers.join(','), scopes: scopes.join(','), expires: toIso(expires) };
        if (!existing) await change(store, { action: 'keys create', keyId: id, values }, create);
        if (!existing) {
          const result = { key: text, ...(ifAbsent && { created: true }) };
          return await showSecret(`API key ${id} is created`, record, result, json);
        }
        // The text of the existing one is unknown, so stdout stays empty without --json.
        printNote(`API key ${existing.id} with the label ${JSON.stringify(label)} exists, so none is created`);
        const [has, given] = [existing, record].map((key) =>
          JSON.stringify([key.servers.toSorted(), key.scopes.toSorted(), key.expiresAt]),
        );
        const advice = `keys update ${existing.id} changes them`;
        if (has !== given) printNote(`warning: its servers, scopes or end are others: ${advice}`);
        if (json) await print(JSON.stringify({ id: existing.id, key: null, created: false, ...valuesOf(existing) }));
      }, true);
    });
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
      const given = { servers, scopes, label, expiresAt };
      const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      if (Object.keys(changes).length === 0)
        throw new CommandError('nothing to change: give --server, --scope, --label or --expires');
      await withStore(async (store) => {
        const key = { ...(await findKey(store, id)), ...changes };
        const revoked = new CommandError(`API key ${id} is revoked: create a new one`);
        if (key.revokedAt !== null) throw revoked;
        if (servers ?? scopes) await warn(store, key, servers ?? []);
        if (!isActive(key, Date.now())) printNote(`warning: API key ${id} has expired; --expires gives it another end`);
        const values = {
          servers: servers?.join(',') ?? null,
          scopes: scopes?.join(',') ?? null,
          expires: expiresAt === undefined ? null : (toIso(expiresAt) ?? 'never'),
          label: label === undefined ? null : JSON.stringify(label),
        };
        const update = () => store.apiKeys.update(id, given);
        if (!(await change(store, { action: 'keys update', keyId: id, values }, update))) throw revoked;
        await show(json, { id, ...valuesOf(key) }, `API key ${id} is changed`);
      });
    });
  keys
    .command('list')
    .description('Lists the API keys, the oldest first.')
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const records = await withStore((store) => store.apiKeys.list());
      // Without their hashes.
      const described = records.map(({ id, label, servers, scopes, ...key }) => {
        const [created, expires, revoked] = [toIso(key.createdAt)!, toIso(key.expiresAt), toIso(key.revokedAt)];
        const [lastUsed, overlapUntil] = [toIso(key.lastUsedAt), toIso(key.previousUntil)];
        return { id, label, servers, scopes, created, expires, revoked, lastUsed, overlapUntil };
      });
      const rows = described.map(({ id, label, servers, scopes, created, lastUsed }, at) => {
        const state = stateOf(records[at]!);
        return [id, state, label, servers.join(','), scopes.join(','), created, lastUsed ?? 'never'];
      });
      const heading = ['ID', 'STATE', 'LABEL', 'SERVERS', 'SCOPES', 'CREATED', 'LAST USED'];
      await show(json, described, formatTable(heading, rows));
    });
  keys
    .command('explain')
    .description(
      'Says what the server would answer to a request with an API key, and which rule decides: path, method, key, server, ' +
        'scope, or suspension. Nothing is sent. Limits, query and body are not looked at. Exit status 0: allowed, 1: refused.',
    )
    .argument('<id>', 'the id of the key', parseKeyId)
    .argument('<method>', 'GET, POST, ...', parseMethod)
    .argument('<path>', 'for instance /v1/hosting/game/power/ID/start', parsePath)
    .option('--json', 'print a JSON object')
    .action(async (id, method, path, { json }) => {
      // The app and its HTTP stack are loaded for this command only.
      const { explain } = await import('../explain.ts');
      const { status, code, reason } = await withStore(async (store) =>
        explain(store, await findKey(store, id), { method, path }),
      );
      const allowed = code === 'allowed';
      const sentence = toPrintable(`${status} ${code}: ${reason}`);
      await show(json, { id, method, path, allowed, status, code, reason }, sentence);
      if (!allowed) throw new CommandError('');
    });
  keys
    .command('rotate')
    .description('Gives an API key a new secret, and prints it once.')
    .argument('<id>', 'the id of the key', parseKeyId)
    .option('--overlap <24h>', 'how long the old secret stays valid: 90s, 15m, 24h, 7d', parseOverlap, 0)
    .option('--json', 'print a JSON object')
    .action(async (id, { overlap, json }) => {
      const { hash, text } = generateApiKey({ id });
      const now = Date.now();
      const end = now + overlap;
      await withStore(async (store) => {
        const key = await findKey(store, id);
        if (key.revokedAt !== null) throw new CommandError(`API key ${id} is revoked: create a new one`);
        if (!isActive(key, now)) throw new CommandError(`API key ${id} has expired: create a new one`);
        const before = key.previousUntil;
        if (before !== null && before > now)
          printNote(`warning: the secret before the last rotation was valid until ${toIso(before)}, and ends now`);
        const rotated = { action: 'keys rotate', keyId: id, values: { old_valid_until: toIso(end) } };
        const rotate = () => store.apiKeys.rotate(id, hash, end);
        if (!(await change(store, rotated, rotate))) throw await unknownKey(store, id);
        const oldUntil = toIso(Math.min(end, key.expiresAt ?? Infinity));
        const old = overlap > 0 ? `is valid until ${oldUntil}` : 'is no longer valid';
        await showSecret(`API key ${id} has a new secret; the old one ${old}`, key, { key: text }, json);
      });
    });
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
      await show(json, { id }, `API key ${id} is revoked`);
    });
}

/** What the JSON of a key has besides its id. */
function valuesOf({ label, servers, scopes, expiresAt }: ApiKeyRecord) {
  return { label, servers, scopes, expires: toIso(expiresAt) };
}

async function findKey(store: Store, id: string): Promise<ApiKeyRecord> {
  const key = await store.apiKeys.find(id);
  if (!key) throw await unknownKey(store, id);
  return key;
}

/** The error for an API key that does not exist, with the nearest id. */
async function unknownKey(store: Store, id: string): Promise<CommandError> {
  // Without a hint if another record is damaged.
  const ids = (await store.apiKeys.list().catch(() => [])).map((key) => key.id);
  return new CommandError(`no API key has the id ${id}${didYouMean(id, ids)}`);
}

function stateOf(key: ApiKeyRecord): string {
  if (key.revokedAt !== null) return `revoked ${toIso(key.revokedAt)}`;
  if (key.expiresAt === null) return 'active';
  return `${isActive(key, Date.now()) ? 'until' : 'expired'} ${toIso(key.expiresAt)}`;
}

const parseLabel = textOption('--label', 100, 0);

const expiryRule = '--expires must be a date of the form YYYY-MM-DD, or an ISO time such as 2030-01-31T12:00Z';
const parseExpiry = parser(expiryRule, (text) => {
  const time = parseTime(text);
  if (time === undefined || time > Date.now()) return time;
  throw new CommandError(`--expires is in the past: ${toIso(time)}`);
});

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const parseMethod = parser(`METHOD must be one of ${methods.join(', ')}`, (text) =>
  methods.find((method) => method === text.toUpperCase()),
);

const pathRule = 'PATH must begin with /, and hold neither spaces nor characters beyond ASCII: write them as %20';
// What a client cannot send is refused.
const parsePath = parser(pathRule, (text) =>
  text.length <= 8000 ? /^(?:\/|https?:\/\/)[\x21-\x7e]*$/i.exec(text)?.[0] : undefined,
);

const parseOverlap = parser('--overlap must be a time such as 90s, 15m, 24h or 7d', parseDuration);
