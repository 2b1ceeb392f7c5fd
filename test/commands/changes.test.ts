import { expect, test } from 'vitest';
import { create, createCommandLine, createKey, damage, readAudit } from './run-command.ts';

/** Reads the entries of the audit log, without times. */
async function readChanges(...args: Parameters<typeof readAudit>): Promise<Record<string, unknown>[]> {
  return (await readAudit(...args)).map(({ at, ms, actionId, ...entry }) => {
    expect(actionId).toMatch(/^[\da-f-]{36}$/);
    expect(Date.parse(String(at))).not.toBeNaN();
    expect(ms === null || Number.isInteger(ms)).toBe(true);
    return entry;
  });
}

const byOperator = { actor: 'command line', requestId: null, ip: null };

/** The entries before and after a change. */
function changed(action: string, fields: Record<string, unknown>, outcome = 'ok'): Record<string, unknown>[] {
  const entry = { ...byOperator, keyId: null, server: null, detail: null, action, ...fields };
  return [
    { ...entry, phase: 'requested', outcome: null },
    { ...entry, phase: 'finished', outcome },
  ];
}

test('every change of a key is audited before and after', async () => {
  const line = await createCommandLine();
  const { id: keyId } = await createKey(line, '--expires', '2999-12-31');
  await line.run('keys', 'rotate', keyId);
  await line.run('keys', 'revoke', keyId);
  expect(await readChanges(line)).toEqual([
    ...changed('keys create', {
      keyId,
      detail: 'servers=game:a scopes=game-power:read expires=3000-01-01T00:00:00.000Z',
    }),
    ...changed('keys rotate', { keyId, detail: expect.stringMatching(/^old_valid_until=\d{4}-/) as unknown }),
    ...changed('keys revoke', { keyId }),
  ]);
});

test('a change of a key is audited with the given values, and --if-absent for an existing key is not', async () => {
  const line = await createCommandLine();
  const { id: keyId } = await createKey(line, '--label', 'a');
  await createKey(line, '--label', 'a', '--if-absent');
  await line.run('keys', 'update', keyId, '--scope', 'game-logs:read', '--label', 'b c', '--expires', '2999-12-31');
  await line.run('keys', 'update', keyId, '--server', 'game:b', '--server', 'game:c', '--expires', 'never');
  expect((await readChanges(line)).slice(2)).toEqual([
    ...changed('keys update', { keyId, detail: 'scopes=game-logs:read expires=3000-01-01T00:00:00.000Z label="b c"' }),
    ...changed('keys update', { keyId, detail: 'servers=game:b,game:c expires=never' }),
  ]);
});

test('every change of a server is audited before and after', async () => {
  const line = await createCommandLine();
  const server = 'game:a';
  await line.run('servers', 'add', server, '--provider', 'p', '--ref', 'r', '--log-file', 'x.log');
  await line.run('servers', 'suspend', server);
  await line.run('servers', 'resume', server);
  await line.run('servers', 'remove', server);
  const expected = [
    ...changed('servers add', { server, detail: 'provider=p ref=r log_file=x.log' }),
    ...changed('servers suspend', { server }),
    ...changed('servers resume', { server }),
    ...changed('servers remove', { server }),
  ];
  expect(await readChanges(line)).toEqual(expected);
  expect(await readChanges(line, '--server', server)).toEqual(expected);
});

test('a failed change is audited too, and without a writable log nothing changes', async () => {
  const line = await createCommandLine();
  const { id: keyId } = await createKey(line);
  await line.run('keys', 'revoke', 'AbCdEfGhIj01');
  await line.run('servers', 'remove', 'game:none');
  expect((await readChanges(line)).slice(2)).toEqual([
    ...changed('keys revoke', { keyId: 'AbCdEfGhIj01' }, 'not_found'),
    ...changed('servers remove', { server: 'game:none' }, 'not_found'),
  ]);
  damage(line, 'DROP TABLE hosting_audit');
  for (const args of [
    ['keys', 'rotate', keyId],
    ['keys', 'revoke', keyId],
    create,
    ['servers', 'add', 'game:a', '--provider', 'p', '--ref', 'r'],
  ]) {
    expect(await line.run(...args)).toMatchObject({ status: 1, stdout: '' });
  }
  expect(await line.store.apiKeys.list()).toMatchObject([{ id: keyId, revokedAt: null, previousHash: null }]);
  expect(await line.store.servers.list()).toEqual([]);
});

test('the text of the log names the author of a change', async () => {
  const line = await createCommandLine();
  await line.run('servers', 'add', 'game:a', '--provider', 'p', '--ref', 'r');
  const [requested, finished] = (await line.run('audit')).stdout.split('\n');
  expect(requested).toMatch(/Z {2}requested {2}servers add {2}game:a {2}by=command line {2}"provider=p ref=r"$/);
  expect(finished).toMatch(/finished {2}servers add {2}game:a {2}by=command line {2}outcome=ok {2}\d+ms {2}"provider/);
});

test('the log contains no secret of a key', async () => {
  const line = await createCommandLine();
  const { id, key } = await createKey(line);
  const { stdout } = await line.run('keys', 'rotate', id);
  const log = (await line.run('audit', '--json')).stdout;
  for (const text of [key, stdout.trim()]) expect(log).not.toContain(text.slice(16));
});
