import { describe, expect, test } from 'vitest';
import type { ServerName } from '#contract/api-keys.ts';
import { messageOf } from '#contract/endpoint.ts';
import { renderProblem } from '#contract/problem.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { failure } from '../helpers/upstream-panel.ts';
import { ask, askEndpoint } from './ask.ts';
import { borrowHosting } from './shared.ts';
import { describeEndpoint, requestOf, serverAccessOf, serverNames } from './targets.ts';

describe.each(serverNames)('%s', (name) => {
  const { kind } = serverAccessOf(name);
  const server: ServerName = `${kind}:mine`;
  const moveTo = (provider: string) => (world: HostingWorld) =>
    world.store.servers.put({ server, provider, ref: '42', logFile: null });
  const [status, code] = kind === 'vps' ? [500, 'server_unavailable' as const] : [502, 'provider_error' as const];

  test.each<[string, (world: HostingWorld) => unknown]>([
    ['is missing', (world) => world.store.servers.remove(server)],
    ['names a provider that is not configured', moveTo('gone')],
    ['names a provider of the wrong kind', moveTo(kind === 'vps' ? 'panel' : 'cloud')],
    ['is empty', (world) => world.change("UPDATE hosting_servers SET ref = '', provider = ''")],
    ['is missing with its table', (world) => world.change('DROP TABLE hosting_servers')],
  ])('with a record that %s gets the documented error without an upstream request', async (_, harm) => {
    const { app, world } = await borrowHosting();
    await harm(world);
    const text = renderProblem('json', code, messageOf(describeEndpoint(name), code));
    expect(await askEndpoint(app, name)).toMatchObject({ status, text });
    const sent = [...world.panel.seen, ...world.hetzner.seen];
    expect(sent.filter(({ method, path }) => method === 'POST' || path.includes('/files/'))).toEqual([]);
    const log = app.log().findLast(({ msg }) => msg === 'request failed');
    expect(log).toMatchObject({ level: 'error', status });
  });

  test('answers 500 if the record of the key is damaged or its table is missing', async () => {
    const { app, world } = await borrowHosting();
    world.change("UPDATE hosting_api_keys SET scopes = 'nonsense'");
    const internal = { status: 500, text: renderProblem('json', 'internal_error') };
    expect(await askEndpoint(app, name)).toMatchObject(internal);
    world.change('DROP TABLE hosting_api_keys');
    expect(await askEndpoint(app, name)).toMatchObject(internal);
    expect((await ask(app, '/v1/plans')).status).toBe(200);
    expect((await ask(app, '/health')).status).toBe(200);
  });
});

test('an action without an audit entry does not run, and can be retried', async () => {
  const { app, world } = await borrowHosting();
  const headers = { 'Idempotency-Key': 'order-4711' };
  world.change('ALTER TABLE hosting_audit RENAME TO elsewhere');
  expect((await askEndpoint(app, 'startGameServer', { headers })).status).toBe(500);
  expect(world.panel.signals).toEqual([]);
  world.change('ALTER TABLE elsewhere RENAME TO hosting_audit');
  expect((await askEndpoint(app, 'startGameServer', { headers })).status).toBe(200);
  expect(world.panel.signals).toEqual(['start']);
});

test('the next request after a move to another provider goes there', async () => {
  const { app, world } = await borrowHosting();
  const other = await createHostingWorld(temporaryFolder());
  expect((await askEndpoint(app, 'startGameServer')).status).toBe(200);
  const { uuid } = other.panel.wings;
  await world.store.servers.put({ server: 'game:mine', provider: 'panel', ref: uuid, logFile: null });
  // The panel has no such server.
  expect((await askEndpoint(app, 'startGameServer')).status).toBe(502);
  const last = world.panel.seen.findLast(({ method }) => method === 'POST');
  expect(last!.path).toContain(uuid);
});

test('every action is audited before and after, with key, action and server', async () => {
  const { app, world } = await borrowHosting();
  const started = Date.now();
  const actions: Record<string, string> = {
    startVps: 'start',
    stopVps: 'stop',
    resetVps: 'reset',
    startGameServer: 'start',
    stopGameServer: 'stop',
    restartGameServer: 'restart',
    killGameServer: 'kill',
    sendGameCommand: 'command',
  };
  for (const [name, action] of Object.entries(actions)) {
    const { target, ...usual } = requestOf(name as (typeof serverNames)[number], app);
    const headers = { ...usual.headers, 'X-Request-Id': `order-${name}` };
    await ask(app, target, { ...usual, headers, from: '127.0.0.9' });
    const entries = (await Array.fromAsync(world.store.audit.entries({}))).slice(-2);
    const common = {
      actor: null,
      keyId: app.key.split('_')[1],
      action,
      server: name.endsWith('Vps') ? 'vps:mine' : 'game:mine',
      requestId: `order-${name}`,
      ip: '127.0.0.9',
      detail: action === 'command' ? 'say Hello' : null,
    };
    const { actionId } = entries[0]!;
    expect(actionId).toMatch(/^[\da-f-]{36}$/);
    expect(entries).toEqual([
      { ...common, actionId, phase: 'requested', at: expect.any(Number), outcome: null, ms: null },
      { ...common, actionId, phase: 'finished', at: expect.any(Number), outcome: 'ok', ms: expect.any(Number) },
    ]);
    expect(entries[0]!.at).toBeGreaterThanOrEqual(started);
  }
  expect(await Array.fromAsync(world.store.audit.entries({}))).toHaveLength(2 * Object.keys(actions).length);
});

test('the audit log distinguishes refused and unknown outcomes', async () => {
  const { app, world } = await borrowHosting();
  const outcomes = async () =>
    (await Array.fromAsync(world.store.audit.entries({}))).map(({ outcome }) => outcome).filter(Boolean);
  world.panel.fail({ status: 422 });
  await askEndpoint(app, 'startGameServer');
  world.panel.fail('drop');
  await askEndpoint(app, 'startGameServer');
  world.panel.fail(failure(403, 'AuthorizationException', 'This action is unauthorized.'));
  await askEndpoint(app, 'sendGameCommand');
  expect(await outcomes()).toEqual(['provider_error', 'unknown', 'provider_permission_denied']);
});

test('a command is audited with its first 64 characters', async () => {
  const { app, world } = await borrowHosting();
  await askEndpoint(app, 'sendGameCommand', { body: JSON.stringify({ command: `say ${'x'.repeat(1000)}` }) });
  const details = (await Array.fromAsync(world.store.audit.entries({}))).map(({ detail }) => detail);
  expect(details).toEqual(Array(2).fill(`say ${'x'.repeat(60)}`));
  await askEndpoint(app, 'sendGameCommand', { body: JSON.stringify({ command: '😀'.repeat(100) }) });
  expect((await Array.fromAsync(world.store.audit.entries({}))).at(-1)!.detail).toBe('😀'.repeat(64));
});

test('reads and unauthorised requests are not audited', async () => {
  const { app, world } = await borrowHosting();
  await askEndpoint(app, 'getLatestGameLog');
  await askEndpoint(app, 'openGameConsole');
  await askEndpoint(app, 'startGameServer', { headers: { Authorization: 'Bearer nonsense' } });
  await askEndpoint(app, 'killGameServer', { body: '{"force":false}' });
  expect(await Array.fromAsync(world.store.audit.entries({}))).toEqual([]);
});
