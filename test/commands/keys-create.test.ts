import { expect, test } from 'vitest';
import { generateApiKey, parseApiKey } from '../../server/keys/authorize.ts';
import {
  brokenOutput,
  create,
  createCommandLine,
  createKey,
  onlyKey,
  refused,
  refusedInLine,
  runHere,
} from './run-command.ts';

test('stdout has only the text of the key, and the store only its hash', async () => {
  const line = await createCommandLine();
  const before = Date.now();
  const servers = ['--server', 'game:a', '--server=vps:42', '--server', 'game:a'];
  const scopes = ['--scope', 'game-power:read', '--scope', 'vps-power:read_write'];
  const { status, stdout, stderr } = await line.run('keys', 'create', ...servers, ...scopes, '--label', 'Panel of Zoë');
  expect(status).toBe(0);
  expect(stdout).toMatch(/^hk_[A-Za-z0-9]{12}_[A-Za-z0-9]{49}\n$/);
  const { id, secretHash } = parseApiKey(stdout.trim())!;
  expect(stderr).toContain(`API key ${id} is created; the key never expires.`);
  expect(stderr).not.toContain(stdout.trim());
  const key = await onlyKey(line);
  expect(key).toEqual({
    id,
    secretHash,
    previousHash: null,
    previousUntil: null,
    label: 'Panel of Zoë',
    servers: ['game:a', 'vps:42'],
    scopes: ['game-power:read', 'vps-power:read_write'],
    createdAt: key.createdAt,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    widenedBy: [],
    managesKeys: false,
  });
  expect(key.createdAt).toBeGreaterThanOrEqual(before);
  expect(key.createdAt).toBeLessThanOrEqual(Date.now());
});

test('--json prints an object', async () => {
  const line = await createCommandLine();
  const shown = await createKey(line, '--expires', '2999-12-31', '--label', 'x');
  expect(shown).toEqual({
    id: parseApiKey(shown.key)!.id,
    key: shown.key,
    label: 'x',
    servers: ['game:a'],
    scopes: ['game-power:read'],
    expires: '3000-01-01T00:00:00.000Z',
  });
  expect(await createKey(line)).toMatchObject({ label: '', expires: null });
});

test.each([
  ['2999-02-28', '2999-03-01T00:00:00.000Z'],
  ['2999-02-28T00:00', '2999-02-28T00:00:00.000Z'],
  ['2999-02-28T12:30:00Z', '2999-02-28T12:30:00.000Z'],
  ['2999-02-28T12:30', '2999-02-28T12:30:00.000Z'],
  ['2999-02-28T12:30Z', '2999-02-28T12:30:00.000Z'],
  ['2999-02-28T12:30:00.5+02:00', '2999-02-28T10:30:00.500Z'],
])('--expires %s means %s', async (text, expected) => {
  const line = await createCommandLine();
  await createKey(line, '--expires', text);
  expect((await onlyKey(line)).expiresAt).toBe(Date.parse(expected));
});

test('an unknown server and a scope without a server give warnings', async () => {
  const line = await createCommandLine();
  await line.store.servers.put({ server: 'game:survival', provider: 'panel', ref: '1', logFile: null });
  const servers = ['--server', 'game:survivl', '--server', 'game:survival'];
  const { status, stderr } = await line.run('keys', 'create', ...servers, '--scope', 'vps-power:read');
  expect(status).toBe(0);
  expect(stderr.split('\n').slice(0, 2)).toEqual([
    'warning: vps-power:read has no effect: the key has no vps:<id> server',
    'warning: there is no server game:survivl (did you mean "game:survival"?); add it with servers add',
  ]);
  expect((await onlyKey(line)).servers).toEqual(['game:survivl', 'game:survival']);
});

test.each([
  [
    ['--scope', 'game-console:raed'],
    'unknown scope game-console:raed (did you mean "game-console:read"?); the scopes are vps-power:read, ',
  ],
  [
    ['--scope', 'game-power:write'],
    'unknown scope game-power:write (did you mean "game-power:read_write"?); the scopes',
  ],
  [['--scope', 'GAME-POWER:read'], 'unknown scope GAME-POWER:read; the scopes are vps-power:read, '],
  [['--server', 'gmae:b'], 'malformed server gmae:b: it must be game:<id> or vps:<id> (did you mean "game:b"?)'],
  [['--server', 'game'], 'malformed server game: it must be game:<id> or vps:<id>'],
  [['--server', 'game:a/../b'], 'malformed server game:a/../b: it must be'],
  [['--server', 'game:\u001B[2J'], 'malformed server game:\\u001b[2J: it must be'],
  [['--expires', '2020-01-01'], '--expires is in the past: 2020-01-02T00:00:00.000Z'],
  [['--expires', '2999-02-30'], '--expires must be a date of the form YYYY-MM-DD, or an ISO time'],
  [['--expires', 'tomorrow'], '--expires must be a date of the form YYYY-MM-DD, or an ISO time'],
  [['--label', 'a\nb'], '--label must have 0 to 100 characters, and no control characters'],
  [['--label', 'x'.repeat(101)], '--label must have 0 to 100 characters'],
  [['--label', 'a', '--label', 'b'], "option '--label <TEXT>' is given twice"],
  [['--expires'], "option '--expires <DATE>' argument missing"],
  [['--label', '--json'], "option '--label <TEXT>' argument missing"],
  [['--json=yes'], "unknown option '--json=yes'"],
  [['--scpoe', 'game-power:read'], "unknown option '--scpoe' (Did you mean --scope?)"],
  [['-l', 'x'], "unknown option '-l'"],
  [['--no-json'], "unknown option '--no-json' (Did you mean --json?)"],
  [['extra'], "too many arguments for 'create'. Expected 0 arguments but got 1: extra."],
])('%j is refused in one line, and no key is created', async (args, message) => {
  const line = await createCommandLine();
  expect(await line.run(...create, ...args)).toEqual(refusedInLine(message));
  expect(await line.store.apiKeys.list()).toEqual([]);
});

test('a key without a server or without a scope is refused', async () => {
  const line = await createCommandLine();
  const withoutServer = await line.run('keys', 'create', '--scope', 'game-power:read');
  expect(withoutServer).toMatchObject(refused('--server is missing\n'));
  expect(await line.run('keys', 'create')).toMatchObject(refused('--server is missing; --scope is missing\n'));
  const withoutScope = await line.run('keys', 'create', '--server', 'game:a');
  expect(withoutScope).toMatchObject(refused('--scope is missing\n'));
});

test('if the output cannot be written, the error has the command for a new secret', async () => {
  const line = await createCommandLine();
  for (const code of ['ENOSPC', 'EPIPE']) {
    const { status, stderr } = await runHere(create, line.env, { out: brokenOutput(code) });
    expect(status).toBe(1);
    const [, id] = /: run keys rotate (\w{12}) to get a new secret\n$/.exec(stderr) ?? [];
    expect(stderr).toContain(`the output cannot be written: ${code}, and this secret is lost: run keys rotate ${id}`);
    expect(await line.store.apiKeys.find(id!)).toBeDefined();
  }
});

test.each([
  ['keys', 'KEY'],
  ['keys', 'revoke', 'missing00000', 'KEY'],
  ['keys', 'revoke', '--KEY'],
  ['keys', 'revoke', 'xKEY'],
  ['keys', 'create', '--server', 'KEY', '--scope', 'game-power:read'],
  ['keys', 'create', '--server', 'game:a', '--scope', 'KEY'],
  [...create, '--label', 'is KEY'],
  [...create, '--expires', 'KEY'],
  ['keys', 'rotate', 'missing00000', '--overlap', 'KEY'],
  ['servers', 'add', 'game:a', '--provider', 'KEY', '--ref', 'x'],
  ['audit', '--since', 'KEY'],
])('a full key in the wrong place of %s %s %s is refused without being printed', async (...args) => {
  const line = await createCommandLine();
  const { text, secret } = generateApiKey();
  const { status, stdout, stderr } = await line.run(...args.map((arg) => arg.replace('KEY', text)));
  expect(status).toBe(1);
  expect(stdout + stderr).not.toContain(secret);
});
