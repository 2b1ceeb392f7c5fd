import { expect, test } from 'vitest';
import { tokenLength } from '../../../server/hosting/console/stream.ts';
import { createSecret } from '../../../server/keys/authorize.ts';
import { createTestRelay, secretHash } from './harness.ts';

const malformed = 'Malformed token';

test.for<[string, unknown, string]>([
  ['is missing', undefined, malformed],
  ['is not text', { toString: 'x' }, malformed],
  ['is empty', '', malformed],
  ['is unknown', 'A'.repeat(tokenLength), 'The token is not known'],
  ['is an API key', 'hk_AbCdEfGhIj01_something', 'This is an API key: send the token that came with the address'],
  ['is too long', 'A'.repeat(10_000), malformed],
])('a token that %s is a jwt error and opens no stream', async ([, token, reason]) => {
  const relay = await createTestRelay();
  const client = await relay.connect();
  client.send('auth', token);
  expect(await client.next()).toEqual(['jwt error', reason]);
  expect(relay.sources).toEqual([]);
});

test('a token with a character changed, added or missing is invalid', async () => {
  const relay = await createTestRelay();
  const token = await relay.token();
  const changed = token.startsWith('A') ? 'B' : 'A';
  for (const other of [changed + token.slice(1), `${token}A`, token.slice(1), token.toLowerCase(), ` ${token}`]) {
    expect(await relay.tokens.verify(other)).toBe('invalid');
  }
  expect(await relay.tokens.verify(token)).toMatchObject({ keyId: 'key', server: 'game:mc', mode: 'read' });
});

test('each token is 256 new random bits', async () => {
  const relay = await createTestRelay();
  const tokens = await Promise.all(Array.from({ length: 100 }, () => relay.token()));
  expect(new Set(tokens).size).toBe(100);
  for (const token of tokens) expect(Buffer.from(token, 'base64url')).toHaveLength(32);
});

test('an expired token is a jwt error that says so', async () => {
  const { clock, ...relay } = await createTestRelay({ ttlSeconds: 100 });
  const token = await relay.token();
  await clock.advance(99.999);
  expect(await relay.tokens.verify(token)).toMatchObject({ keyId: 'key' });
  await clock.advance(0.001);
  const client = await relay.connect();
  expect(await client.auth(token)).toEqual(['jwt error', 'The token has expired']);
});

test('a valid token resets the count of bad tokens', async () => {
  const relay = await createTestRelay();
  const client = await relay.connect();
  for (let round = 0; round < 2; round += 1) {
    for (let tries = 0; tries < 4; tries += 1) client.send('auth', 'nonsense');
    client.send('auth', await relay.token());
    expect(await client.until('auth success')).toHaveLength(5);
  }
});

test('messages after the token wait until the token is verified', async () => {
  const relay = await createTestRelay();
  await relay.open({ keyId: 'first' });
  relay.sources[0]!.line('before');
  const client = await relay.connect();
  client.send('auth', await relay.token({ mode: 'read_write' }));
  client.send('send logs');
  client.send('send command', 'list');
  expect(await client.next()).toEqual(['auth success']);
  expect(await client.next()).toEqual(['console output', 'before']);
  await client.roundTrip();
  expect(relay.commands).toMatchObject([{ command: 'list' }]);
});

test('each key has a limit of streams', async () => {
  const relay = await createTestRelay({ limits: { viewersPerKey: 2 } });
  const first = await relay.open();
  await relay.open();
  const third = await relay.connect();
  expect(await third.auth(await relay.token())).toEqual([
    'daemon error',
    'This API key has too many open console streams',
  ]);
  expect(await third.ended).toEqual({ code: 1013, reason: 'too many streams' });
  // A child key shares the limit of its parent.
  const rights = { label: '', servers: [], scopes: [], networks: [], expiresAt: null };
  const { record } = createSecret('hk', { ...rights, parentId: 'key', parentHash: secretHash, slot: null });
  await relay.store.childKeys.create(record);
  const child = await relay.connect();
  expect((await child.auth(await relay.token({ keyId: record.id })))[0]).toBe('daemon error');
  await relay.open({ keyId: 'another' });
  expect(await first.auth(await relay.token())).toEqual(['auth success']);
  first.socket.close();
  await first.ended;
  await relay.open();
});
