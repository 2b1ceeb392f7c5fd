import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { generateApiKey } from '../../server/keys/authorize.ts';
import { StoreError } from '../../server/store/database.ts';
import type { Store } from '../../server/store/types.ts';
import { apiKey, auditEntry, claim, end, rotateKey, streamToken } from './samples.ts';
import { openWithQuery } from './target.ts';
import type { CreateTarget } from './target.ts';

const t0 = 1_800_000_000_000;

type Read = (store: Store) => Promise<unknown>;
const find: Read = ({ apiKeys }) => apiKeys.find('AbCdEfGhIj01');
const list: Read = ({ apiKeys }) => apiKeys.list();
const listServers: Read = ({ servers }) => servers.list();
const begin: Read = ({ idempotency }) => idempotency.begin(claim({ deadline: t0 }));
const readToken: Read = ({ streamTokens }) => streamTokens.find(streamToken().tokenHash);
const readAudit: Read = ({ audit }) => Array.fromAsync(audit.entries({}));

const damages: readonly (readonly [name: string, table: string, set: string, record: string, read: Read])[] = [
  ...[
    ['servers that are not JSON', `servers = '["game:PRIVATE'`],
    ['servers that are not a list', `servers = '"game:PRIVATE"'`],
    ['a server without a kind', `servers = '["PRIVATE"]'`],
    ['an unknown scope', `scopes = '["PRIVATE:read"]'`],
    ['an invalid hash', `secret_hash = 'PRIVATE'`],
    ['a time before 1970', 'created_at = -1'],
    ['a time that is too large for a number', 'expires_at = 9223372036854775807'],
  ].flatMap(([name, set]) =>
    [find, list].map((read) => [`a key with ${name}`, 'api_keys', set!, 'AbCdEfGhIj01', read] as const),
  ),
  ['a server without a provider', 'servers', `provider = ''`, 'game:survival', listServers],
  ['a server without a kind', 'servers', `server = 'survival'`, 'survival', listServers],
  ['an audit entry with an unknown phase', 'audit', `phase = 'PRIVATE'`, '1', readAudit],
  ['an answer without a body', 'idempotency', 'body = NULL', 'k one', begin],
  ['an answer with an invalid status', 'idempotency', 'status = 42', 'k one', begin],
  ['a stream token with an unknown mode', 'stream_tokens', `mode = 'PRIVATE'`, '1', readToken],
];

/** Tests invalid records and the secrecy of stored keys, for every kind of store. */
export function damageSuite(createTarget: CreateTarget): void {
  test.each(damages)(
    '%s is refused with an error that contains only its table and id',
    async (_, table, set, record, read) => {
      const { store, query } = await openWithQuery(createTarget);
      await store.apiKeys.create(apiKey());
      await store.servers.put({ server: 'game:survival', provider: 'panel', ref: 'PRIVATE', logFile: null });
      await store.audit.append(auditEntry({ detail: 'PRIVATE' }));
      await begin(store);
      await store.idempotency.finish(claim(), { status: 200, body: 'PRIVATE' }, end);
      await store.streamTokens.add(streamToken());
      await read(store);
      await query(`UPDATE hosting_${table} SET ${set}`);
      const error = await read(store).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StoreError);
      expect(error).toHaveProperty('message', `the record "${record}" of hosting_${table} is corrupted`);
      expect(inspect(error, { depth: null, showHidden: true })).not.toContain('PRIVATE');
    },
  );

  test('a key with a corrupted record can be revoked', async () => {
    const { store, query } = await openWithQuery(createTarget);
    await store.apiKeys.create(apiKey());
    await query(`UPDATE hosting_api_keys SET scopes = '["all"]'`);
    expect(await store.apiKeys.revoke('AbCdEfGhIj01', t0)).toBe(true);
    expect(await query('SELECT id FROM hosting_api_keys WHERE revoked_at IS NOT NULL')).toHaveLength(1);
  });

  test('only the hash of the secret of an API key is stored', async () => {
    const target = await createTarget();
    const store = await target.open();
    const { id, hash, text, secret } = generateApiKey();
    const next = generateApiKey(id);
    await store.apiKeys.create(apiKey({ id, secretHash: hash }));
    await rotateKey(store.apiKeys, id, next.hash, t0);
    const dump = await target.dump();
    for (const kept of [id, hash, next.hash]) expect(dump).toContain(kept);
    for (const hidden of [text, secret, next.text, next.secret]) expect(dump).not.toContain(hidden);
  });
}
