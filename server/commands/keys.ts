import { createApiKey, generateApiKey } from '../keys/key.ts';
import type { ApiKeyRecord, Store } from '../store/types.ts';
import { CommandError, defineGroup, defineStrictCommand, didYouMean, show } from './command.ts';
import { OutputError } from './context.ts';
import type { Context } from './context.ts';
import { parseDuration, parseScope, parseServer, parseText, parseTime } from './inputs.ts';
import { doubtServer } from './known.ts';
import { formatTable } from './table.ts';

const create = defineStrictCommand({
  meta: { name: 'create', description: 'Makes an API key, and prints it this once.' },
  args: {
    server: { type: 'string', valueHint: 'game:ID', description: 'a server it is for, or vps:ID; repeatable' },
    scope: {
      type: 'string',
      valueHint: 'S',
      description: 'what it may do, for instance game-power:read; repeatable',
    },
    label: { type: 'string', default: '', valueHint: 'TEXT', description: 'what you will know it by' },
    expires: { type: 'string', valueHint: 'DATE', description: 'YYYY-MM-DD or an ISO time; never if left out' },
    json: { type: 'boolean', default: false, description: 'print a JSON object' },
  },
  repeatable: ['server', 'scope'],
  async run({ args, all }, context) {
    const { withStore, explain } = context;
    const servers = all('server').map(parseServer);
    const scopes = all('scope').map(parseScope);
    if (servers.length === 0) throw new CommandError('--server is missing: a key is for at least one server');
    if (scopes.length === 0) throw new CommandError('--scope is missing: a key allows at least one thing');
    const label = parseText(args.label, '--label', 100, 0);
    const expiresAt = args.expires === undefined ? null : parseExpiry(args.expires);
    const { record, text } = createApiKey({ label, servers, scopes, expiresAt });
    for (const scope of scopes) {
      const kind = scope.split('-', 1)[0]!;
      if (servers.some((server) => server.startsWith(`${kind}:`))) continue;
      explain(`warning: ${scope} is of no use, as the key has no ${kind}:<id> server`);
    }
    await withStore(async (store) => {
      for (const server of servers) {
        // A server may be added after its key, so one that is not known yet is no error.
        const doubt = await doubtServer(store, server);
        if (doubt !== undefined) explain(`warning: ${doubt}; servers add makes it known`);
      }
      await store.apiKeys.create(record);
      await showKey(context, record, text, args.json, `API key ${record.id} is made`);
    });
  },
});

const list = defineStrictCommand({
  meta: { name: 'list', description: 'Lists the API keys, the oldest first.' },
  args: { json: { type: 'boolean', default: false, description: 'print a JSON array' } },
  async run({ args }, { withStore, print }) {
    const keys = await withStore((store) => store.apiKeys.list());
    const now = Date.now();
    const table = () =>
      formatTable(
        ['ID', 'STATE', 'LABEL', 'SERVERS', 'SCOPES', 'CREATED', 'LAST USED'],
        keys.map((key) => [
          key.id,
          stateOf(key, now),
          show(key.label),
          key.servers.join(','),
          key.scopes.join(','),
          toIso(key.createdAt)!,
          toIso(key.lastUsedAt) ?? 'never',
        ]),
      );
    await print(args.json ? JSON.stringify(keys.map(describe)) : table());
  },
});

const rotate = defineStrictCommand({
  meta: { name: 'rotate', description: 'Gives an API key a new secret, and prints it this once.' },
  args: {
    id: { type: 'positional', required: true, description: 'the id of the key' },
    overlap: {
      type: 'string',
      default: '0',
      valueHint: '24h',
      description: 'how long the old secret stays good: 90s, 15m, 24h, 7d',
    },
    json: { type: 'boolean', default: false, description: 'print a JSON object' },
  },
  async run({ args }, context) {
    const overlap = parseDuration(args.overlap);
    if (overlap === undefined) throw new CommandError('--overlap must be a time such as 90s, 15m, 24h or 7d');
    const id = toId(args.id);
    const { hash, text } = generateApiKey({ id });
    const now = Date.now();
    await context.withStore(async (store) => {
      const key = await store.apiKeys.find(id);
      if (!key) throw await unknownKey(store, id);
      if (key.revokedAt !== null) throw new CommandError(`API key ${id} is revoked: create a new one`);
      if (key.expiresAt !== null && key.expiresAt <= now) {
        throw new CommandError(`API key ${id} has expired: create a new one`);
      }
      if (key.previousUntil !== null && key.previousUntil > now) {
        const until = toIso(key.previousUntil);
        context.explain(`warning: the secret before the last rotation was good until ${until}, and ends now`);
      }
      await store.apiKeys.rotate(id, hash, now + overlap);
      const oldUntil = toIso(Math.min(now + overlap, key.expiresAt ?? Infinity));
      const old = overlap > 0 ? `is good until ${oldUntil}` : 'is good no longer';
      await showKey(context, key, text, args.json, `API key ${id} has a new secret; the old one ${old}`);
    });
  },
});

const revoke = defineStrictCommand({
  meta: { name: 'revoke', description: 'Ends an API key for good, from the next request on.' },
  args: {
    id: { type: 'positional', required: true, description: 'the id of the key' },
    json: { type: 'boolean', default: false, description: 'print a JSON object' },
  },
  async run({ args }, { withStore, print }) {
    const id = toId(args.id);
    await withStore(async (store) => {
      if (!(await store.apiKeys.revoke(id, Date.now()))) throw await unknownKey(store, id);
    });
    await print(args.json ? JSON.stringify({ id }) : `API key ${id} is revoked`);
  },
});

/** `keys create | list | rotate | revoke`. */
export const keysCommand = defineGroup(
  { name: 'keys', description: 'API keys for hosting controls.' },
  { create, list, rotate, revoke },
);

/** The id itself, or out of a whole key, which is what one has at hand of a leaked one; it is never printed again. */
function toId(text: string): string {
  const [, id] = /^(?:hk_)?([A-Za-z0-9]{12})(?:_[A-Za-z0-9]*)?$/.exec(text) ?? [];
  if (id === undefined) throw new CommandError('ID must be the 12 letters and digits that keys list shows');
  return id;
}

async function unknownKey(store: Store, id: string): Promise<CommandError> {
  // A hint only: that another record is damaged must not stand in the way.
  const keys = await store.apiKeys.list().catch(() => []);
  const ids = keys.map((key) => key.id);
  return new CommandError(`no API key has the id ${id}${didYouMean(id, ids)}`);
}

function parseExpiry(text: string): number {
  const time = parseTime(text);
  if (time === undefined) {
    throw new CommandError('--expires must be a date of the form YYYY-MM-DD, or an ISO time such as 2030-01-31T12:00Z');
  }
  if (time <= Date.now()) throw new CommandError(`--expires is in the past: ${toIso(time)}`);
  return time;
}

/** Only the key goes to stdout, so that it can be piped into where it is kept. */
async function showKey(
  { print, explain }: Context,
  { id, label, servers, scopes, expiresAt }: ApiKeyRecord,
  text: string,
  json: boolean,
  outcome: string,
): Promise<void> {
  const ends = expiresAt === null ? 'it never expires' : `it expires at ${toIso(expiresAt)}`;
  explain(`${outcome}; ${ends}. It is shown this once:`);
  try {
    await print(json ? JSON.stringify({ id, key: text, label, servers, scopes, expires: toIso(expiresAt) }) : text);
  } catch (error) {
    if (!(error instanceof OutputError)) throw error;
    throw new CommandError(`${error.message}, so nobody has this secret: keys rotate ${id} makes another`);
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

function stateOf({ revokedAt, expiresAt }: ApiKeyRecord, now: number): string {
  if (revokedAt !== null) return `revoked ${toIso(revokedAt)}`;
  if (expiresAt === null) return 'active';
  return `${expiresAt <= now ? 'expired' : 'until'} ${toIso(expiresAt)}`;
}

function toIso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
