import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { generateApiKey } from '../../server/keys/key.ts';
import { StoreError } from '../../server/store/database.ts';
import type { Store } from '../../server/store/types.ts';
import { apiKey, auditEntry, claim, streamToken } from './samples.ts';
import type { CreateTarget } from './target.ts';

const t0 = 1_800_000_000_000;

interface Damage {
  readonly name: string;
  readonly statement: string;
  readonly message: string;
  readonly read: (store: Store) => Promise<unknown>;
}

const keyMessage = 'the record "AbCdEfGhIj01" of hosting_api_keys is corrupted';
const idempotencyMessage = 'the record "k one" of hosting_idempotency is corrupted';
const find = ({ apiKeys }: Store) => apiKeys.find('AbCdEfGhIj01');
const list = ({ apiKeys }: Store) => apiKeys.list();
const begin = ({ idempotency }: Store) => idempotency.begin(claim({ deadline: t0 }));

const damages: readonly Damage[] = [
  ...[
    { name: 'servers that are not JSON', set: `servers = '["game:PRIVATE'` },
    { name: 'servers that are not a list', set: `servers = '"game:PRIVATE"'` },
    { name: 'a server without a kind', set: `servers = '["PRIVATE"]'` },
    { name: 'an unknown scope', set: `scopes = '["PRIVATE:read"]'` },
    { name: 'an invalid hash', set: `secret_hash = 'PRIVATE'` },
    { name: 'a time before 1970', set: 'created_at = -1' },
    { name: 'a time that is too large for a number', set: 'expires_at = 9223372036854775807' },
    { name: 'an old secret without an end', set: 'previous_hash = secret_hash' },
  ].flatMap(({ name, set }) => {
    const statement = `UPDATE hosting_api_keys SET ${set}`;
    return [
      { name: `a key with ${name}, read by find,`, statement, message: keyMessage, read: find },
      { name: `a key with ${name}, read by list,`, statement, message: keyMessage, read: list },
    ];
  }),
  {
    name: 'a server without a provider',
    statement: `UPDATE hosting_servers SET provider = ''`,
    message: 'the record "game:survival" of hosting_servers is corrupted',
    read: ({ servers }) => servers.list(),
  },
  {
    name: 'a server without a kind',
    statement: `UPDATE hosting_servers SET server = 'survival'`,
    message: 'the record "survival" of hosting_servers is corrupted',
    read: ({ servers }) => servers.list(),
  },
  {
    name: 'an audit entry with an unknown phase',
    statement: `UPDATE hosting_audit SET phase = 'PRIVATE'`,
    message: 'the record "1" of hosting_audit is corrupted',
    read: ({ audit }) => Array.fromAsync(audit.entries({})),
  },
  {
    name: 'an answer without a body',
    statement: 'UPDATE hosting_idempotency SET body = NULL',
    message: idempotencyMessage,
    read: begin,
  },
  {
    name: 'an answer with an invalid status',
    statement: 'UPDATE hosting_idempotency SET status = 42',
    message: idempotencyMessage,
    read: begin,
  },
  {
    name: 'a stream token with an unknown mode',
    statement: `UPDATE hosting_stream_tokens SET mode = 'PRIVATE'`,
    message: 'the record "1" of hosting_stream_tokens is corrupted',
    read: ({ streamTokens }) => streamTokens.find(streamToken().tokenHash),
  },
];

/** Tests of invalid records, and of what a store never writes, for every kind of store. */
export function damageSuite(createTarget: CreateTarget): void {
  test.each(damages)(
    '$name is refused with an error that contains only its table and id',
    async ({ statement, message, read }) => {
      const target = await createTarget();
      const store = await target.open();
      await store.apiKeys.create(apiKey());
      await store.servers.put({ server: 'game:survival', provider: 'panel', ref: 'PRIVATE', logFile: null });
      await store.audit.append(auditEntry({ detail: 'PRIVATE' }));
      await begin(store);
      await store.idempotency.finish('k', 'one', { status: 200, body: 'PRIVATE' });
      await store.streamTokens.add(streamToken());
      await read(store);
      const query = await target.connect();
      await query(statement);
      const error = await read(store).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(StoreError);
      expect(error).toHaveProperty('message', message);
      expect(inspect(error, { depth: null, showHidden: true })).not.toContain('PRIVATE');
    },
  );

  test('a key whose record is corrupted can still be revoked', async () => {
    const target = await createTarget();
    const store = await target.open();
    await store.apiKeys.create(apiKey());
    const query = await target.connect();
    await query(`UPDATE hosting_api_keys SET scopes = '["all"]'`);
    expect(await store.apiKeys.revoke('AbCdEfGhIj01', t0)).toBe(true);
    expect(await query('SELECT id FROM hosting_api_keys WHERE revoked_at IS NOT NULL')).toHaveLength(1);
  });

  test('only the hash of the secret of an API key is stored', async () => {
    const target = await createTarget();
    const store = await target.open();
    const { id, hash, text, secret } = generateApiKey();
    const next = generateApiKey({ id });
    await store.apiKeys.create(apiKey({ id, secretHash: hash }));
    await store.apiKeys.rotate(id, next.hash, t0);
    const dump = await target.dump();
    for (const kept of [id, hash, next.hash]) expect(dump).toContain(kept);
    for (const hidden of [text, secret, next.text, next.secret]) expect(dump).not.toContain(hidden);
  });
}
