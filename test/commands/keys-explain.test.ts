import { describe, expect, test } from 'vitest';
import { scopes } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import { explain } from '../../server/explain.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';
import { serveShared, sharedHosting } from '../server/shared.ts';
import { describeEndpoint, endpointNames, methodsOf, requestOf } from '../server/targets.ts';
import { createCommandLine, createKey, damage, refused, refusedInLine, runHere } from './run-command.ts';

test('agrees with the server about every endpoint, key and server', async () => {
  const world = await sharedHosting();
  const app = await serveShared();
  await world.store.servers.put({ server: 'game:paused', provider: 'panel', ref: 'x', logFile: null });
  await world.store.servers.put({ server: 'vps:paused', provider: 'cloud', ref: '42', logFile: null });
  for (const server of ['game:paused', 'vps:paused'] as const) await world.store.servers.suspend(server, Date.now());
  const servers: ServerName[] = ['game:mine', 'vps:mine', 'game:paused', 'vps:paused', 'game:gone', 'vps:gone'];
  const keys = [
    await world.issueKey({ servers }),
    await world.issueKey({ servers, scopes: scopes.filter((scope) => scope.endsWith(':read')) }),
    await world.issueKey({ servers: ['game:theirs', 'vps:theirs'] }),
    await world.issueKey({ servers, revokedAt: Date.now() }),
    await world.issueKey({ servers, expiresAt: 1000 }),
  ];
  const wrong: unknown[] = [];
  let compared = 0;
  // Reads of all keys come first: after an action, a read of a state waits.
  for (const name of endpointNames) {
    for (const key of keys) {
      const record = await world.store.apiKeys.find(key.split('_')[1]!);
      const { target, method, headers, ...usual } = requestOf(name, { ...app, key });
      const targets = target.includes('/mine/')
        ? ['mine', 'paused', 'gone', 'theirs'].map((server) => target.replace('/mine/', `/${server}/`))
        : [target];
      const other = methodsOf(name).includes('POST') ? 'GET' : 'POST';
      const questions = [...targets.map((path) => [method, path] as const), [other, targets[0]!] as const];
      for (const [asked, path] of questions) {
        const answer = await ask(app, path, { ...usual, method: asked, headers });
        const explained = await explain(world.store, record!, { method: asked, path });
        const isJson = describeEndpoint(name).errorStyle === 'json' || answer.status === 404;
        const { error = 'allowed' } = (answer.status < 400 || !isJson ? {} : JSON.parse(answer.text)) as {
          error?: string;
        };
        // The 404 for an unknown action comes from the handler, which does not run here.
        const ownAnswer = name === 'getAction' && answer.status === 404;
        const expected = ownAnswer ? 200 : answer.status;
        const code = ownAnswer ? 'allowed' : isJson ? error : explained.code;
        const isSame = explained.status === expected && explained.code === code;
        if (!isSame) wrong.push({ asked, path, answer: `${answer.status} ${answer.text}`, explained });
        compared += 1;
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(200);
});

test('--json prints an object', async () => {
  const line = await createCommandLine();
  const { id } = await createKey(line);
  const path = '/v1/hosting/game/power/b/start';
  const { status, stdout } = await line.run('keys', 'explain', id, 'post', path, '--json');
  expect({ status, shown: JSON.parse(stdout) as unknown }).toEqual({
    status: 1,
    shown: {
      id,
      method: 'POST',
      path,
      allowed: false,
      status: 403,
      code: 'forbidden',
      reason: `game:b is not among the servers of API key ${id}`,
    },
  });
});

describe('the reason', () => {
  const power = '/v1/hosting/game/power';
  test.each<[string, string, string]>([
    ['GET', '/v1/blog/list', '200 allowed: this endpoint needs no API key'],
    ['GET', '/v1/hosting/activity?limit=5', '200 allowed: any valid key may send this request'],
    ['POST', `${power}/a/start`, '200 allowed: API key ID grants game-power:read_write on game:a'],
    ['post', `${power}/a/kill?force=true`, '200 allowed: API key ID grants game-power:read_write on game:a'],
    [
      'POST',
      `http://api.example.com${power}/a/start`,
      '200 allowed: API key ID grants game-power:read_write on game:a',
    ],
    ['POST', `${power}/b/start`, '403 forbidden: game:b is not among the servers of API key ID'],
    ['POST', `${power}/%61/start`, '200 allowed: API key ID grants game-power:read_write on game:a'],
    ['POST', `${power}/paused/stop`, '403 forbidden: game:paused has been suspended since 2027-01-15T08:00:00.000Z'],
    ['POST', `${power}/lost/stop`, '502 provider_error: game:lost has no record'],
    ['GET', '/v1/hosting/game/logs/a/latest', '403 insufficient_scope: API key ID lacks the scope game-logs:read'],
    ['GET', `${power}/a/start`, '405 method_not_allowed: Method not allowed: this path allows POST'],
    ['DELETE', '/v1/plans', '405 method_not_allowed: Method not allowed: this path allows GET, HEAD'],
    ['POST', `${power}/a/begin`, '404 not_found: Endpoint not found'],
    ['GET', '/v1/hosting/game/console/a/stream', '426 upgrade_required: This address is a websocket'],
    ['GET', '/v1/%zz', '404 not_found: Endpoint not found'],
  ])('of %s %s', async (method, path, expected) => {
    const line = await createCommandLine();
    for (const id of ['a', 'paused']) {
      await line.store.servers.put({ server: `game:${id}`, provider: 'p', ref: id, logFile: null });
    }
    await line.store.servers.suspend('game:paused', 1_800_000_000_000);
    const servers = ['--server', 'game:paused', '--server', 'game:lost'];
    const { id } = await createKey(line, ...servers, '--scope', 'game-power:read_write');
    const { status, stdout, stderr } = await line.run('keys', 'explain', id, method, path);
    expect(stdout.replace(id, 'ID').startsWith(expected)).toBe(true);
    expect(stdout.indexOf('\n')).toBe(stdout.length - 1);
    expect({ status, stderr }).toEqual({ status: expected.startsWith('200') ? 0 : 1, stderr: '' });
  });

  test('of an expired or revoked key has the time', async () => {
    const line = await createCommandLine();
    const { id, key } = await createKey(line);
    const explained = async () => (await line.run('keys', 'explain', key, 'GET', '/v1/hosting/activity')).stdout;
    expect(await explained()).toBe('200 allowed: any valid key may send this request\n');
    const unchanged = { label: undefined, servers: undefined, scopes: undefined };
    await line.store.apiKeys.update(id, { ...unchanged, expiresAt: 1000 });
    expect(await explained()).toBe(`401 unauthorized: API key ${id} expired at 1970-01-01T00:00:01.000Z\n`);
    await line.store.apiKeys.revoke(id, 2000);
    expect(await explained()).toBe(`401 unauthorized: API key ${id} was revoked at 1970-01-01T00:00:02.000Z\n`);
  });
});

test('changes and sends nothing', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const key = await world.issueKey();
  const id = key.split('_')[1]!;
  const before = await world.store.apiKeys.find(id);
  for (const path of ['/v1/hosting/game/power/mine/kill', '/v1/hosting/cloud/vps-custom/mine/reset']) {
    expect(await runHere(['keys', 'explain', id, 'POST', path], world.settings)).toMatchObject({ status: 0 });
  }
  expect([...world.panel.seen, ...world.hetzner.seen]).toEqual([]);
  expect(await Array.fromAsync(world.store.audit.entries({}))).toEqual([]);
  expect(await world.store.apiKeys.find(id)).toEqual(before);
});

test('an unreadable store is an error, not an answer', async () => {
  const line = await createCommandLine();
  const { id } = await createKey(line);
  damage(line, `UPDATE hosting_api_keys SET scopes = 'damaged'`);
  expect(await line.run('keys', 'explain', id, 'GET', '/v1/hosting/activity')).toEqual(
    refused(`the record "${id}" of hosting_api_keys is corrupted\n`),
  );
});

test.each([
  [['missing00000', 'GET', '/v1/plans'], 'no API key has the id missing00000\n'],
  [['short', 'GET', '/v1/plans'], 'ID must be the 12 letters and digits that keys list shows\n'],
  [['missing00000', 'START', '/v1/plans'], 'METHOD must be one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\n'],
  [['missing00000', 'GET', 'v1/plans'], 'PATH must begin with /, without spaces and characters beyond ASCII'],
  [['missing00000', 'GET', '/v1/a b'], 'PATH must begin with /, without spaces and characters beyond ASCII'],
  [['missing00000', 'GET', '/v1/\r\nX: y'], 'PATH must begin with /, without spaces and characters'],
  [['missing00000', 'GET'], "missing required argument 'path'\n"],
])('%j is refused in one line', async (args, message) => {
  const line = await createCommandLine();
  expect(await line.run('keys', 'explain', ...args)).toEqual(refusedInLine(message));
});
