import { describe, expect, test } from 'vitest';
import { create, createCommandLine, createKey, onlyKey, refused, succeeded } from './run-command.ts';

describe('keys update', () => {
  test('replaces the given values and keeps the others, including the secret', async () => {
    const line = await createCommandLine();
    await line.store.servers.put({ server: 'vps:1', provider: 'p', ref: 'r', logFile: null });
    const { id } = await createKey(line, '--label', 'one');
    const before = await onlyKey(line);
    expect(await line.run('keys', 'update', id, '--server', 'vps:1', '--scope=vps-power:read')).toEqual(
      succeeded(`API key ${id} is changed\n`),
    );
    const after = { ...before, servers: ['vps:1'], scopes: ['vps-power:read'] };
    expect(await onlyKey(line)).toEqual(after);
    const expires = '3000-01-01T00:00:00.000Z';
    const shown = await line.json('keys', 'update', id, '--label', 'two', '--expires', '2999-12-31', '--json');
    expect(shown).toEqual({ id, label: 'two', servers: ['vps:1'], scopes: ['vps-power:read'], expires });
    expect(await onlyKey(line)).toEqual({ ...after, label: 'two', expiresAt: Date.parse(expires) });
    await line.run('keys', 'update', id, '--expires', 'never', '--label=');
    expect(await onlyKey(line)).toEqual({ ...after, label: '' });
  });

  test('warns of changed servers and scopes without effect', async () => {
    const line = await createCommandLine();
    const { id } = await createKey(line);
    expect((await line.run('keys', 'update', id, '--label', 'x')).stderr).toBe('');
    expect((await line.run('keys', 'update', id, '--server', 'vps:9')).stderr.split('\n')).toEqual([
      'warning: game-power:read has no effect: the key has no game:<id> server',
      'warning: there is no server vps:9; add it with servers add',
      '',
    ]);
    expect((await line.run('keys', 'update', id, '--scope', 'game-logs:read')).stderr).toBe(
      'warning: game-logs:read has no effect: the key has no game:<id> server\n',
    );
  });

  test('extends an expired key, and warns if the key stays expired', async () => {
    const line = await createCommandLine();
    const { id } = await createKey(line);
    await line.store.apiKeys.update(id, { ...unchanged, expiresAt: 1000 });
    expect(await line.run('keys', 'update', id, '--label', 'x')).toMatchObject({
      status: 0,
      stderr: `warning: API key ${id} has expired; pass --expires to extend it\n`,
    });
    expect((await line.run('keys', 'update', id, '--expires', '2999-12-31')).stderr).toBe('');
    expect((await onlyKey(line)).expiresAt).toBe(Date.parse('3000-01-01'));
  });

  test('refuses a revoked or unknown key, and a command without changes', async () => {
    const line = await createCommandLine();
    const { id } = await createKey(line);
    expect((await line.run('keys', 'update', id)).stderr).toBe(
      'nothing to change: pass --server, --scope, --label, --expires or --manages-keys\n',
    );
    const near = `${id.slice(0, -1)}${id.endsWith('x') ? 'y' : 'x'}`;
    expect((await line.run('keys', 'update', near, '--label', 'x')).stderr).toBe(
      `no API key has the id ${near} (did you mean "${id}"?)\n`,
    );
    for (const args of [
      ['--expires', '2020-01-01'],
      ['--expires', 'Never'],
      ['--scope', 'game-power:write'],
      ['--server', 'game'],
      ['--label', 'a\nb'],
    ]) {
      expect(await line.run('keys', 'update', id, ...args)).toMatchObject({ status: 1, stdout: '' });
    }
    await line.run('keys', 'revoke', id);
    const before = await onlyKey(line);
    expect(await line.run('keys', 'update', id, '--label', 'x')).toMatchObject(
      refused(`API key ${id} is revoked: create a new key\n`),
    );
    expect(await onlyKey(line)).toEqual(before);
  });
});

describe('keys create --if-absent', () => {
  const args = ['--label', 'service 4711', '--if-absent'];

  test('creates a key once, then reports the existing key without its text', async () => {
    const line = await createCommandLine();
    const first = await line.run(...create, ...args);
    expect(first.stdout).toMatch(/^hk_\w+\n$/);
    const { id } = await onlyKey(line);
    for (let time = 0; time < 3; time += 1) {
      const { status, stdout, stderr } = await line.run(...create, ...args);
      expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
      expect(stderr).toContain(`API key ${id} with the label "service 4711" exists: no key is created\n`);
      expect(stderr).not.toContain('other servers');
    }
    expect((await onlyKey(line)).id).toBe(id);
  });

  test('prints the existing key as JSON, with a warning if its values differ', async () => {
    const line = await createCommandLine();
    const shown = { label: 'service 4711', servers: ['game:a'], scopes: ['game-power:read'], expires: null };
    const first = await createKey(line, ...args);
    expect(first).toEqual({ id: first.id, key: first.key, created: true, ...shown });
    expect(await createKey(line, ...args)).toEqual({ id: first.id, key: null, created: false, ...shown });
    const other = ['keys', 'create', '--server', 'game:a', '--scope', 'game-logs:read', ...args, '--json'];
    const { stdout, stderr } = await line.run(...other);
    expect(JSON.parse(stdout)).toEqual({ id: first.id, key: null, created: false, ...shown });
    const warning = 'this key has other servers, scopes or expiry; to change them, run keys update';
    expect(stderr).toContain(`warning: ${warning} ${first.id}\n`);
  });

  test('gives no warning of an end that an earlier version stored for the same day', async () => {
    const line = await createCommandLine();
    const run = async (expires: string) => (await line.run(...create, ...args, '--expires', expires)).stderr;
    await run('2999-12-31T00:00Z');
    expect(await run('2999-12-31')).not.toContain('warning: this key');
    expect(await run('2999-12-31T00:00Z')).not.toContain('warning: this key');
    for (const other of ['2999-12-29', '2999-12-31T12:00Z', '3000-01-01T00:00Z'])
      expect(await run(other)).toContain('warning: this key has other servers, scopes or expiry');
  });

  test('creates a single key in concurrent commands', async () => {
    const line = await createCommandLine();
    const shown = await Promise.all(Array.from({ length: 8 }, () => createKey(line, ...args)));
    expect(new Set(shown.map(({ id }) => id)).size).toBe(1);
    expect(shown.filter(({ key }) => key !== null)).toHaveLength(1);
    await onlyKey(line);
  });

  test('needs a label', async () => {
    const line = await createCommandLine();
    for (const label of [[], ['--label=']]) {
      expect(await line.run(...create, '--if-absent', ...label)).toEqual(
        refused('--label is required with --if-absent\n'),
      );
    }
    expect(await line.store.apiKeys.list()).toEqual([]);
  });
});

const unchanged = { label: undefined, servers: undefined, scopes: undefined, expiresAt: undefined };
