import { describe, expect, test } from 'vitest';
import { parseApiKey } from '../../server/keys/authorize.ts';
import type { ApiKeyRecord } from '../../server/store/types.ts';
import { createCommandLine, createKey, damage, onlyKey, refused, succeeded } from './run-command.ts';
import type { ShownKey } from './run-command.ts';

const hour = 60 * 60 * 1000;

describe('keys list', () => {
  test('prints all fields of the keys except their secrets', async () => {
    const line = await createCommandLine();
    const { id } = await createKey(line, '--label', 'first');
    const other = await createKey(line, '--label', 'second', '--expires', '2999-12-31');
    await line.run('keys', 'rotate', id, '--overlap', '1h');
    await line.run('keys', 'revoke', other.id);
    await line.store.apiKeys.touch(id, 1_800_000_000_000);
    const [first, second] = (await line.store.apiKeys.list()) as [ApiKeyRecord, ApiKeyRecord];
    const { stdout } = await line.run('keys', 'list', '--json');
    const rights = { servers: ['game:a'], scopes: ['game-power:read'] };
    const common = { ...rights, parentId: null, managesKeys: false, networks: [] };
    expect(JSON.parse(stdout)).toEqual([
      {
        id,
        label: 'first',
        ...common,
        created: new Date(first.createdAt).toISOString(),
        expires: null,
        revoked: null,
        lastUsed: '2027-01-15T08:00:00.000Z',
        overlapUntil: new Date(first.previousUntil!).toISOString(),
      },
      {
        id: other.id,
        label: 'second',
        ...common,
        created: new Date(second.createdAt).toISOString(),
        expires: '3000-01-01T00:00:00.000Z',
        revoked: new Date(second.revokedAt!).toISOString(),
        lastUsed: null,
        overlapUntil: null,
      },
    ]);
    for (const hash of [first.secretHash, first.previousHash!, second.secretHash]) expect(stdout).not.toContain(hash);
    const { stdout: table } = await line.run('keys', 'list');
    const rows = table.split('\n');
    expect(rows[0]).toMatch(/^ID +STATE +LABEL +SERVERS +SCOPES +CREATED +LAST USED$/);
    expect(rows[1]).toMatch(
      new RegExp(`^${id}  active  .*first .*game:a .*game-power:read .*2027-01-15T08:00:00.000Z$`),
    );
    expect(rows[2]).toMatch(new RegExp(`^${other.id}  revoked .*second .*never$`));
    expect(table).not.toContain(first.secretHash);
  });

  test('cuts a label of any length, which a restored backup may have', async () => {
    const line = await createCommandLine();
    for (let count = 0; count < 6; count += 1) await createKey(line);
    const longest = `(SELECT id FROM hosting_api_keys LIMIT 1)`;
    damage(line, `UPDATE hosting_api_keys SET label = hex(zeroblob(1000000)) WHERE id = ${longest}`);
    const { status, stdout } = await line.run('keys', 'list');
    expect({ status, rows: stdout.split('\n').length, isShort: stdout.length < 25_000 }).toEqual({
      status: 0,
      rows: 8,
      isShort: true,
    });
  });

  test('prints an empty array if there are no keys', async () => {
    const line = await createCommandLine();
    expect(await line.json('keys', 'list', '--json')).toEqual([]);
  });

  test('marks an expired key, which cannot be rotated', async () => {
    const line = await createCommandLine();
    await createKey(line);
    await line.store.apiKeys.create({ ...(await onlyKey(line)), id: 'expired00000', expiresAt: 1_000 });
    expect((await line.run('keys', 'list')).stdout).toContain('expired00000  expired 1970-01-01T00:00:01.000Z');
    const rotated = await line.run('keys', 'rotate', 'expired00000');
    expect(rotated).toMatchObject(refused('API key expired00000 has expired: create a new key\n'));
  });
});

describe('keys rotate', () => {
  test('creates a new secret, and ends the old secret at once', async () => {
    const line = await createCommandLine();
    const { id, key } = await createKey(line, '--label', 'x');
    const { status, stdout, stderr } = await line.run('keys', 'rotate', id);
    expect(status).toBe(0);
    expect(stderr).toContain(
      `API key ${id} has a new secret; the old secret is no longer valid; the key never expires.`,
    );
    expect(stdout).not.toBe(`${key}\n`);
    const record = await onlyKey(line);
    expect(parseApiKey(stdout.trim())).toEqual({ id, secretHash: record.secretHash });
    expect(record.previousHash).toBe(parseApiKey(key)!.secretHash);
    expect(record.previousUntil).toBeLessThanOrEqual(Date.now());
  });

  test.each([
    ['90s', 90_000],
    ['15m', 15 * 60_000],
    ['24h', 24 * hour],
    ['7d', 7 * 24 * hour],
    ['0', 0],
  ])('keeps the old secret valid for --overlap %s', async (overlap, ms) => {
    const line = await createCommandLine();
    const { id } = await createKey(line);
    const before = Date.now();
    const shown = (await line.json('keys', 'rotate', id, '--overlap', overlap, '--json')) as ShownKey;
    const after = Date.now();
    const granted = { servers: ['game:a'], scopes: ['game-power:read'] };
    expect(shown).toEqual({ id, key: shown.key, label: '', ...granted, expires: null });
    const { previousUntil } = await onlyKey(line);
    expect(previousUntil).toBeGreaterThanOrEqual(before + ms);
    expect(previousUntil).toBeLessThanOrEqual(after + ms);
  });

  test('warns if a second rotation ends an older secret, and limits the overlap to the expiry of the key', async () => {
    const line = await createCommandLine();
    const { id } = await createKey(line, '--expires', new Date(Date.now() + 48 * hour).toISOString());
    const first = await line.run('keys', 'rotate', id, '--overlap', '24h');
    expect(first.stderr).not.toContain('warning');
    const { previousUntil, expiresAt } = await onlyKey(line);
    const second = await line.run('keys', 'rotate', id, '--overlap', '7d');
    expect(second.stderr.split('\n')).toEqual([
      `warning: the secret before the last rotation was valid until ${new Date(previousUntil!).toISOString()} and ends now`,
      expect.stringContaining(`the old secret is valid until ${new Date(expiresAt!).toISOString()};`),
      '',
    ]);
  });

  test('refuses an invalid overlap, an unknown key and a revoked key', async () => {
    const line = await createCommandLine();
    const { id } = await createKey(line);
    for (const overlap of ['24', '1w', '-1h', '1.5h', 'h', '']) {
      expect(await line.run('keys', 'rotate', id, `--overlap=${overlap}`)).toMatchObject(
        refused('--overlap must be a duration such as 90s, 15m, 24h or 7d\n'),
      );
    }
    const near = `${id.slice(0, -1)}${id.endsWith('x') ? 'y' : 'x'}`;
    expect(await line.run('keys', 'rotate', near)).toMatchObject(
      refused(`no API key has the id ${near} (did you mean "${id}"?)\n`),
    );
    await line.run('keys', 'revoke', id);
    expect(await line.run('keys', 'rotate', id)).toMatchObject(refused(`API key ${id} is revoked: create a new key\n`));
  });
});

describe('keys revoke', () => {
  test('revokes a key by its id or by its leaked text, without printing the text', async () => {
    const line = await createCommandLine();
    const [first, other] = [await createKey(line), await createKey(line)];
    expect(await line.run('keys', 'revoke', first.id)).toEqual(succeeded(`API key ${first.id} is revoked\n`));
    const { stdout, stderr } = await line.run('keys', 'revoke', other.key);
    expect(stdout + stderr).toBe(`API key ${other.id} is revoked\n`);
    for (const { revokedAt } of await line.store.apiKeys.list()) expect(revokedAt).toBeGreaterThan(0);
    expect(await line.json('keys', 'revoke', first.id, '--json')).toEqual({ id: first.id });
  });

  test('revokes a key with a damaged record, and refuses a missing key', async () => {
    const line = await createCommandLine();
    const { id } = await createKey(line);
    damage(line, `UPDATE hosting_api_keys SET scopes = 'damaged'`);
    expect(await line.run('keys', 'list')).toEqual(refused(`the record "${id}" of hosting_api_keys is corrupted\n`));
    expect(await line.run('keys', 'revoke', id)).toMatchObject({ status: 0 });
    expect(await line.run('keys', 'revoke', 'missing00000')).toMatchObject(
      refused('no API key has the id missing00000\n'),
    );
  });

  test('refuses an invalid id', async () => {
    const line = await createCommandLine();
    expect(await line.run('keys', 'revoke', 'not-an-id')).toMatchObject(
      refused('ID must be the 12 letters and digits that keys list shows\n'),
    );
    expect(await line.run('keys', 'revoke')).toMatchObject(refused("missing required argument 'id'\n"));
  });
});
