import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { childKeyLimits } from '#contract/api-keys.ts';
import type { Scope } from '#contract/api-keys.ts';
import type { ApiKeyRecord } from '../../server/store/types.ts';
import { runHere } from '../commands/run-command.ts';
import type { createInstances } from '../hosting/instances.ts';
import { openStream } from '../hosting/instances.ts';
import { askJson } from '../server/ask.ts';
import type { Question } from '../server/ask.ts';

type Instances = Awaited<ReturnType<typeof createInstances>>;
type Json = Record<string, unknown> & { readonly key: string; readonly id: string; readonly keys: Json[] };

const dayMs = 86_400_000;
const bot = { label: 'Restart bot', scopes: ['game-power:read_write'] };
const idOf = (key: string): string => key.split('_')[1]!;

/** Tests keys that look after themselves, on two instances, for every kind of store. */
export function childrenSuite(create: () => Promise<Instances>): void {
  async function serve(fields: Partial<ApiKeyRecord> = {}) {
    const instances = await create();
    const { apps, world } = instances;
    const key = await world.issueKey({ managesKeys: true, ...fields });
    const call = async (from: string, method: string, target: string, body?: object, more: Question = {}, app = 0) => {
      const question = { key: from, method, ...(body && { body: JSON.stringify(body) }), ...more };
      const { status, json } = await askJson<Json>(apps[app]!, target, question);
      return { status, json, said: `${status} ${String(json['error'])}: ${String(json['message'])}` };
    };
    /** Creates a child key on one instance. */
    const make = async (body: object = {}, from = key) => {
      const { status, json } = await call(from, 'POST', '/v1/keys', { ...bot, ...body });
      expect(status).toBe(201);
      return json.key;
    };
    /** Restarts the game server of the key with a key on the other instance. */
    const restart = (with_: string) => call(with_, 'POST', '/v1/hosting/game/power/mine/restart', undefined, {}, 1);
    const command = (...args: string[]) => runHere(args, world.settings);
    return { ...instances, key, keyId: idOf(key), call, make, restart, command };
  }
  const setTime = (at: number): void => {
    vi.useFakeTimers({ toFake: ['Date'], now: at });
    onTestFinished(() => void vi.useRealTimers());
  };

  test('a key makes a child key with fewer rights, lists it without its text, and revokes it', async () => {
    const { call, make, restart, key, readDatabase } = await serve();
    const expires_at = new Date(Date.now() + 90 * dayMs).toISOString();
    const made = await call(key, 'POST', '/v1/keys', { ...bot, servers: ['game:mine', 'game:mine'], expires_at });
    const { key: child, id, ...shown } = made.json;
    expect(made.status).toBe(201);
    expect(shown).toMatchObject({ ...bot, servers: ['game:mine'], networks: [], expires_at, revoked_at: null });
    expect(child).toMatch(/^hk_/);
    expect((await restart(child)).status).toBe(200);
    expect((await call(child, 'GET', '/v1/key')).json).toMatchObject({
      id,
      ...bot,
      servers: ['game:mine'],
      expires_at,
    });
    expect((await call(child, 'GET', '/v1/hosting/game/logs/mine/latest')).said).toContain('403 insufficient_scope');
    expect((await call(child, 'POST', '/v1/hosting/cloud/vps-custom/mine/start')).said).toContain('403 forbidden');
    // A request waits at most 200 ms until its time is stored.
    const listed = async () => (await call(key, 'GET', '/v1/keys', undefined, {}, 1)).json.keys[0];
    await expect.poll(listed).toMatchObject({ id, label: 'Restart bot', last_used_at: expect.any(String) });
    expect(JSON.stringify(await readDatabase())).not.toContain(child.split('_')[2]);

    const all = await call(key, 'POST', '/v1/keys', { label: 'all', scopes: ['game-power:read'] });
    expect(all.json).toMatchObject({ servers: ['game:mine', 'vps:mine'], expires_at: null });
    expect((await call(await make(), 'GET', '/v1/keys')).said).toBe(
      '403 forbidden: This needs the current secret of a key that manages keys',
    );
    for (let round = 0; round < 2; round += 1)
      expect(await call(key, 'DELETE', `/v1/keys/${id}`)).toMatchObject({ status: 200, json: { success: true, id } });
    expect((await restart(child)).said).toBe('401 unauthorized: This API key was revoked');
  });

  test.each<[string, object, string]>([
    ['a scope', { scopes: ['game-console:read_write'] }, 'This API key does not have game-console:read_write'],
    ['a server', { servers: ['game:theirs'] }, 'This API key does not have game:theirs'],
    ['an unknown scope', { scopes: ['keys'] }, 'The field scopes.0 is not valid'],
    ['an end in the past', { expires_at: '2020-01-01T00:00:00Z' }, 'The field expires_at is in the past'],
    [
      'a wrong network',
      { networks: ['10.0.0.0/33'] },
      'The field networks.0 must be an IP address, or a network such as 10.0.0.0/8',
    ],
    [
      'the text of a key as its label',
      { label: `hk_${'a'.repeat(12)}_${'b'.repeat(49)}` },
      'The field label must be a line of 1 to 100 characters without the text of a key',
    ],
    ['a right to manage', { manages_keys: true }, 'The field "manages_keys" is unknown'],
  ])('a child key with %s beyond its parent is refused', async (_, body, message) => {
    const { call, key } = await serve({ scopes: ['game-power:read_write', 'game-console:read'] });
    expect((await call(key, 'POST', '/v1/keys', { ...bot, ...body })).said).toBe(`400 validation_error: ${message}`);
    expect((await call(key, 'GET', '/v1/keys')).json.keys).toEqual([]);
  });

  test('a read scope of a parent with read_write is given, and what the parent loses is lost at once', async () => {
    const { call, make, restart, key, keyId, command, world } = await serve({ scopes: ['game-power:read_write'] });
    const [child, reader] = [await make(), await make({ scopes: ['game-power:read'] })];
    expect((await restart(child)).status).toBe(200);
    await command('keys', 'update', keyId, '--scope', 'game-power:read');
    expect((await call(child, 'GET', '/v1/key')).json['scopes']).toEqual(['game-power:read']);
    expect((await restart(child)).said).toBe('403 insufficient_scope: This API key only has read scope');
    expect((await call(reader, 'GET', '/v1/hosting/game/power/mine')).status).toBe(200);
    await command('keys', 'update', keyId, '--server', 'vps:mine');
    expect((await restart(child)).said).toContain('403 forbidden');
    await command('keys', 'update', keyId, '--server', 'game:mine', '--scope', 'game-power:read_write');
    expect((await restart(child)).status).toBe(200);
    await world.store.servers.suspend('game:mine', Date.now());
    expect((await restart(child)).said).toBe('403 forbidden: This game server is suspended');
    expect((await call(key, 'GET', '/v1/keys')).json.keys).toHaveLength(2);
  });

  describe('a child key ends', () => {
    const consoleOnly: { scopes: Scope[] } = { scopes: ['game-console:read'] };
    test.each<[how: string, isLater: boolean, end: (one: Awaited<ReturnType<typeof serve>>, id: string) => unknown]>([
      ['by its revocation', false, ({ call, key }, id) => call(key, 'DELETE', `/v1/keys/${id}`)],
      ['with a revoked parent', false, ({ command, keyId }) => command('keys', 'revoke', keyId)],
      ['with a parent that revokes itself', false, ({ call, key }) => call(key, 'POST', '/v1/key/revoke?force=true')],
      [
        'with an expired parent',
        false,
        ({ world, keyId }) => world.store.apiKeys.update(keyId, { expiresAt: Date.now() }),
      ],
      [
        'with an old secret of its parent whose end is missing',
        false,
        async ({ call, key, world, keyId }) => {
          await call(key, 'POST', '/v1/key/rotate', { overlap_seconds: 60 });
          await world.store.apiKeys.update(keyId, { previousUntil: null });
        },
      ],
      ['with the old secret of its parent', false, ({ call, key }) => call(key, 'POST', '/v1/key/rotate', {})],
      [
        'with the overlap of the old secret',
        true,
        ({ call, key }) => call(key, 'POST', '/v1/key/rotate', { overlap_seconds: 4 }),
      ],
    ])('%s, and its stream closes', async (_, isLater, end) => {
      const served = await serve();
      const { apps, call, make } = served;
      const child = await make(consoleOnly);
      const stream = await openStream({ ...apps[1], key: child });
      await end(served, idOf(child));
      if (isLater) expect((await call(child, 'GET', '/v1/key', undefined, {}, 1)).status).toBe(200);
      // Its token lasts longer than this test.
      expect((await stream.ended).code).toBe(4003);
      expect((await call(child, 'GET', '/v1/key')).said).toMatch(
        /^401 unauthorized: This API key (?:was revoked|has expired)$/,
      );
    });

    test('not with the new secret of its parent: that makes others', async () => {
      const { call, make, key, restart } = await serve();
      const before = await make();
      const { key: next, old_valid_until: until } = (await call(key, 'POST', '/v1/key/rotate', { overlap_seconds: 60 }))
        .json;
      expect(Date.parse(String(until)) - Date.now()).toBeGreaterThan(50_000);
      const after = await make({}, next);
      expect([(await restart(before)).status, (await restart(after)).status]).toEqual([200, 200]);
      for (const [method, target] of [
        ['GET', '/v1/keys'],
        ['POST', '/v1/keys'],
        ['POST', '/v1/key/rotate'],
        ['POST', '/v1/key/revoke?force=true'],
        ['DELETE', `/v1/keys/${idOf(before)}`],
      ] as const)
        expect(
          (await call(key, method, target, target === '/v1/keys' && method === 'POST' ? bot : undefined)).said,
        ).toMatch(/^403 forbidden: This needs the current secret/);
      setTime(Date.now() + 61_000);
      expect([(await restart(before)).status, (await restart(after)).status]).toEqual([401, 200]);
    });
  });

  test('without force, and with a child key of others, nothing ends', async () => {
    const { call, make, key, world } = await serve();
    const child = await make();
    const said = '400 confirmation_required: Revoke requires force=true in the query';
    expect((await call(child, 'POST', '/v1/key/revoke')).said).toBe(said);
    const other = await world.issueKey({ managesKeys: true });
    for (const id of [idOf(child), idOf(key), 'none'])
      expect((await call(other, 'DELETE', `/v1/keys/${id}`)).status).toBe(404);
    expect((await call(await world.issueKey(), 'POST', '/v1/keys', bot)).said).toContain('403 forbidden');
    expect((await call(child, 'GET', '/v1/key')).status).toBe(200);
    expect((await call(child, 'POST', '/v1/key/revoke?force=true')).json).toEqual({ success: true, id: idOf(child) });
    expect((await call(child, 'GET', '/v1/key')).status).toBe(401);
    expect((await call(key, 'GET', '/v1/key')).status).toBe(200);
  });

  test('a network refusal names the address that was seen', async () => {
    const { call, make } = await serve();
    const child = await make({ networks: ['127.0.0.2', '2001:db8::/32'] });
    const said = '403 forbidden: This API key may not be used from 127.0.0.3';
    expect((await call(child, 'GET', '/v1/key', undefined, { from: '127.0.0.3' })).said).toBe(said);
    expect((await call(child, 'GET', '/v1/key', undefined, { from: '127.0.0.2' })).status).toBe(200);
  });

  test(`of 70 child keys at once on two instances, ${childKeyLimits.active} are made, and an ended one gives its place back`, async () => {
    const { call, key, world, command } = await serve();
    const answers = await Promise.all(
      Array.from({ length: 70 }, (_, at) => call(key, 'POST', '/v1/keys', { ...bot, label: `bot ${at}` }, {}, at % 2)),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect([made.length, answers.filter(({ status }) => status === 409).length]).toEqual([childKeyLimits.active, 20]);
    const said = '409 conflict: A key may have 50 active child keys, and create 200 in 30 days';
    expect((await call(key, 'POST', '/v1/keys', bot)).said).toBe(said);
    expect((await call(key, 'DELETE', `/v1/keys/${made[0]!.json.id}`)).status).toBe(200);
    const again = await Promise.all(
      Array.from({ length: 5 }, (_, at) => call(key, 'POST', '/v1/keys', bot, {}, at % 2)),
    );
    expect(again.filter(({ status }) => status === 201)).toHaveLength(1);

    // All end with the old secret, and count for 30 days.
    const { key: next } = (await call(key, 'POST', '/v1/key/rotate', {})).json;
    for (let round = 0; round < 149; round += 50) {
      const count = Math.min(50, 149 - round);
      const more = await Promise.all(
        Array.from({ length: count }, (_, at) => call(next, 'POST', '/v1/keys', bot, {}, at % 2)),
      );
      expect(more.filter(({ status }) => status === 201)).toHaveLength(count);
      await Promise.all(more.map(({ json }) => call(next, 'DELETE', `/v1/keys/${json.id}`)));
    }
    expect((await call(next, 'POST', '/v1/keys', bot)).said).toBe(said);
    const removed = async (days: number) => {
      await world.store.childKeys.purge(Date.now() + days * dayMs);
      return (await world.store.childKeys.list()).length;
    };
    expect([await removed(29), await removed(31)]).toEqual([200, 50]);
    expect((await command('keys', 'list')).stdout.match(/^ {2}\w+ +revoked/gm)).toHaveLength(50);
    expect(await removed(70)).toBe(0);
  });

  test('of ten rotations at once, one succeeds, and its secret works', async () => {
    const { call, key } = await serve();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => call(key, 'POST', '/v1/key/rotate', { overlap_seconds: 60 }, {}, at % 2)),
    );
    const [won, ...others] = answers.toSorted((one, other) => one.status - other.status);
    // The secret of a later request is an old one.
    expect([won!.status, others.filter(({ status }) => ![403, 409].includes(status))]).toEqual([200, []]);
    expect((await call(won!.json.key, 'GET', '/v1/keys')).status).toBe(200);
  });

  test('commands list, explain, rotate and revoke child keys, and find none by its label', async () => {
    const { make, restart, command, keyId, world } = await serve();
    const child = await make();
    const id = idOf(child);
    await command('keys', 'update', keyId, '--label', 'owner');
    const { stdout } = await command('keys', 'list');
    expect(stdout).toMatch(new RegExp(`^${keyId} .*\\n  ${id} +active +Restart bot`, 'm'));
    const path = '/v1/hosting/game/power/mine/restart';
    expect((await command('keys', 'explain', id, 'POST', path)).stdout).toContain(`200 allowed: API key ${id} grants`);
    expect((await command('keys', 'explain', id, 'GET', '/v1/keys')).stdout).toContain(
      `403 forbidden: API key ${id} is not the current secret of a key that manages keys`,
    );
    expect((await command('keys', 'explain', keyId, 'GET', '/v1/keys')).stdout).toBe(
      '200 allowed: the current secret of a key that manages keys may send this request\n',
    );
    const bound = idOf(await make({ networks: ['192.0.2.0/24'] }));
    expect((await command('keys', 'explain', bound, 'POST', path)).stdout).toContain('200 allowed');
    const args = [
      '--server',
      'game:mine',
      '--scope',
      'game-power:read',
      '--label',
      'Restart bot',
      '--if-absent',
      '--json',
    ];
    expect(JSON.parse((await command('keys', 'create', ...args)).stdout)).toMatchObject({ created: true });
    expect((await command('keys', 'update', id, '--label', 'x')).stderr).toContain(`no API key has the id ${id}`);
    const rotated = (await command('keys', 'rotate', id)).stdout.trim();
    expect([(await restart(child)).status, (await restart(rotated)).status]).toEqual([401, 200]);
    expect((await command('keys', 'revoke', id)).status).toBe(0);
    expect((await restart(rotated)).status).toBe(401);
    const audited = (await command('audit', '--key', id)).stdout
      .split('\n')
      .filter((line) => line.includes('finished'));
    expect(audited.map((line) => / {2}(keys \w+|restart) {2}/.exec(line)?.[1])).toEqual([
      'keys create',
      'keys rotate',
      'restart',
      'keys revoke',
    ]);
    expect(audited[0]).toMatch(new RegExp(`by=API key ${keyId}.*parent=${keyId}`));
    expect((await world.store.childKeys.list())[0]).toMatchObject({ revokedAt: expect.any(Number) });
  });
}
