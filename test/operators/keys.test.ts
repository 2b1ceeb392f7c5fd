import { expect, test } from 'vitest';
import { ask } from '../server/ask.ts';
import { createToken, serveOperators } from './operators.ts';

const keys = '/v1/operator/keys';
const permissions = { servers: ['game:mine'], scopes: ['game-power:read'] };

test('a key is put by its label, changed, rotated and revoked, and its text is shown once', async () => {
  const { app, world, call, changes } = await serveOperators();
  const made = await call('PUT', `${keys}/service%2042`, {
    ...permissions,
    servers: ['game:mine', 'game:none', 'game:mine'],
  });
  const { id, key } = made.json as unknown as { id: string; key: string };
  expect(made).toMatchObject({
    status: 201,
    json: {
      label: 'service 42',
      servers: ['game:mine', 'game:none'],
      expires_at: null,
      warnings: ['There is no server game:none'],
    },
  });
  expect((await ask(app, '/v1/key', { key })).status).toBe(200);
  const changed = await call('PUT', `${keys}/service 42`.replace(' ', '%20'), {
    ...permissions,
    expires_at: '2999-01-01T00:00:00.000Z',
  });
  expect(changed).toMatchObject({
    status: 200,
    json: { id, key: null, servers: ['game:mine'], expires_at: '2999-01-01T00:00:00.000Z' },
  });
  expect(await call('PUT', `${keys}/${id}`, permissions)).toMatchObject({
    status: 200,
    json: { id, expires_at: null },
  });
  expect(await call('PUT', `${keys}/service%2042`, permissions)).toMatchObject({
    status: 200,
    json: { id, key: null },
  });
  const listed = await call('GET', `${keys}?server=game:mine`);
  expect(listed.json.keys).toContainEqual({
    ...made.json,
    ...permissions,
    success: undefined,
    key: undefined,
    warnings: undefined,
    last_used_at: expect.any(String),
  });
  const rotated = await call('POST', `${keys}/service%2042/rotate`, { overlap_seconds: 3600 });
  expect(rotated).toMatchObject({ status: 200, json: { id, old_valid_until: expect.any(String) } });
  for (const each of [key, rotated.json.key]) expect((await ask(app, '/v1/key', { key: each })).status).toBe(200);
  const again = await call('POST', `${keys}/${id}/rotate`);
  expect(again.json['old_valid_until']).toBeNull();
  expect((await ask(app, '/v1/key', { key: rotated.json.key })).status).toBe(401);
  for (const name of ['service%2042', 'service%2042', id])
    expect(await call('DELETE', `${keys}/${name}`)).toMatchObject({
      status: 200,
      json: { id, revoked_at: expect.any(String) },
    });
  expect(await call('POST', `${keys}/service%2042/rotate`)).toMatchObject({ status: 404 });
  expect(await call('PUT', `${keys}/${id}`, permissions)).toMatchObject({
    status: 409,
    json: { message: `API key ${id} is revoked: create a new key` },
  });
  expect(await call('DELETE', `${keys}/none`)).toMatchObject({
    status: 404,
    json: { message: 'There is no API key none' },
  });
  expect(
    (await changes()).map(
      ({ action, outcome, detail }) => `${action} ${outcome} ${detail?.replace(/=20\d\d.*/, '=...')}`,
    ),
  ).toEqual([
    'keys create ok servers=game:mine,game:none scopes=game-power:read',
    'keys update ok manages_keys=false servers=game:mine scopes=game-power:read expires=2999-01-01T00:00:00.000Z',
    'keys update ok manages_keys=false servers=game:mine scopes=game-power:read expires=never',
    'keys rotate ok old_valid_until=...',
    'keys rotate ok old_valid_until=...',
    'keys revoke ok undefined',
  ]);
  const stored = JSON.stringify([await world.store.apiKeys.list(), await changes()]);
  for (const text of [key, rotated.json.key, again.json.key]) expect(stored).not.toContain(text.slice(16));
});

test('a removed server leaves its keys, and a key without another server ends', async () => {
  const { world, call } = await serveOperators();
  await call('PUT', `${keys}/both`, { ...permissions, servers: ['game:mine', 'vps:mine'] });
  await call('PUT', `${keys}/one`, permissions);
  expect((await call('GET', '/v1/operator/servers/game:mine')).json.keys).toBe(3);
  await call('DELETE', '/v1/operator/servers/game:mine');
  const all = (await world.store.apiKeys.list()).filter(({ label }) => label !== 'A customer');
  expect(all.map(({ label, servers, revokedAt }) => [label, servers, revokedAt === null])).toEqual([
    ['both', ['vps:mine'], true],
    ['one', ['game:mine'], false],
  ]);
});

test.each<readonly [method: string, path: string, body: unknown, message: string]>([
  ['PUT', '/a', { ...permissions, servers: [] }, 'The field servers is not valid'],
  ['PUT', '/a', { ...permissions, servers: ['mine'] }, 'The field servers.0 must be vps:<id> or game:<id>'],
  ['PUT', '/a', { ...permissions, scopes: ['all'] }, 'The field scopes.0 is not valid'],
  ['PUT', '/a', { ...permissions, expires_at: '2020-01-01T00:00:00Z' }, 'The field expires_at is in the past'],
  ['PUT', '/a', { ...permissions, expires_at: 'soon' }, 'The field expires_at is not valid'],
  ['PUT', '/a', JSON.stringify(permissions).padEnd(65_537), 'The body is too long'],
  ['POST', '/a/rotate', { overlap_seconds: 604_801 }, 'The field overlap_seconds is not valid'],
  ...['%00', 'a%2fb', '-a', 'x'.repeat(101), `hk_AbCdEfGhIj01_${'x'.repeat(49)}`].map(
    (name) =>
      [
        'DELETE',
        `/${name}`,
        undefined,
        'The name in the path must be 1 to 100 letters, digits, dots, hyphens, underscores and spaces, and not the text of a key',
      ] as const,
  ),
  ['GET', '?server=mine', undefined, 'Query parameter server must be vps:<id> or game:<id>'],
])('%s %s is 400', async (method, path, body, message) => {
  const { call } = await serveOperators();
  expect(await call(method, keys + path, body)).toMatchObject({
    status: 400,
    json: { error: 'validation_error', message },
  });
});

test('a key for 1,000 servers is put, and lists have pages of 1,000', async () => {
  const { world, call, run } = await serveOperators();
  const servers = Array.from({ length: 1000 }, (_, at) => `game:${String(at).padEnd(40, 'x')}`);
  expect(await call('PUT', `${keys}/all`, { ...permissions, servers })).toMatchObject({ status: 201 });
  for (let at = 0; at < 1000; at += 1) await world.issueKey({ id: String(at).padStart(12, '0') });
  const first = await call('GET', keys);
  const second = await call('GET', `${keys}?after=${String(first.json['next'])}`);
  expect([first.json.keys.length, second.json.keys.length, second.json['next']]).toEqual([1000, 2, null]);
  expect((await run('keys', 'list')).status).toBe(0);
});

test('revoke --with-keys ends the keys that the token made, rotated or widened, and no other', async () => {
  const { world, call, run, tokenId } = await serveOperators();
  const text = await world.issueKey({ label: 'narrowed', servers: ['game:mine', 'vps:mine'] });
  for (const label of ['widened', 'later', 'rotated', 'untouched', 'scoped'])
    await world.issueKey({
      label,
      servers: ['game:mine'],
      scopes: ['game-power:read'],
      expiresAt: Date.now() + 60_000,
    });
  const end = { expires_at: new Date(Date.now() + 60_000).toISOString() };
  await call('PUT', `${keys}/narrowed`, { servers: ['game:mine'], scopes: ['game-power:read'], ...end });
  const read = await Promise.all(
    ['widened', 'later', 'scoped'].map((name) => world.store.apiKeys.findActive(name, Date.now())),
  );
  const until = new Date(read[0]!.expiresAt!).toISOString();
  await call('PUT', `${keys}/widened`, { ...permissions, servers: ['game:mine', 'vps:mine'], expires_at: until });
  await call('PUT', `${keys}/later`, permissions);
  await call('PUT', `${keys}/scoped`, {
    ...permissions,
    scopes: ['game-power:read_write'],
    expires_at: new Date(read[2]!.expiresAt!).toISOString(),
  });
  await call('POST', `${keys}/rotated/rotate`, {});
  await call('PUT', `${keys}/made`, permissions);
  const other = await createToken(world, 'other', '--right', 'keys');
  const { status, stdout } = await run('operators', 'revoke', tokenId, '--with-keys');
  expect({ status, lines: stdout.trim().split('\n').length }).toEqual({ status: 0, lines: 6 });
  const all = await world.store.apiKeys.list();
  const active = all.filter(({ revokedAt }) => revokedAt === null).map(({ label }) => label);
  expect(active.toSorted()).toEqual(['A customer', 'narrowed', 'untouched']);
  expect((await call('GET', keys)).status).toBe(401);
  expect(text).toMatch(/^hk_/);
  expect((await run('operators', 'list', '--json')).stdout).toContain(other.id);
});

test('a child key is listed with its parent, is not found by its label, and is revoked by its ID', async () => {
  const { app, call } = await serveOperators();
  const parent = await call('PUT', `${keys}/owner`, { ...permissions, manages_keys: true });
  const body = JSON.stringify({ label: 'owner', scopes: permissions.scopes });
  const made = await ask(app, '/v1/keys', { key: parent.json.key, method: 'POST', body });
  const { id, key } = JSON.parse(made.text) as { id: string; key: string };

  const { json } = await call('GET', `${keys}?server=game:mine`);
  expect(json.keys).toContainEqual(expect.objectContaining({ id, label: 'owner', parent: parent.json['id'] }));
  expect(JSON.stringify(json)).not.toContain(key);
  // The label still names the parent.
  expect(await call('PUT', `${keys}/owner`, { ...permissions, manages_keys: true })).toMatchObject({
    status: 200,
    json: { id: parent.json['id'] },
  });
  expect((await ask(app, '/v1/key', { key })).status).toBe(200);
  for (const _ of ['first', 'repeated']) expect((await call('DELETE', `${keys}/${id}`)).status).toBe(200);
  expect((await ask(app, '/v1/key', { key })).status).toBe(401);
  expect((await ask(app, '/v1/key', { key: parent.json.key })).status).toBe(200);
});
