import { describe, expect, onTestFinished, test } from 'vitest';
import { createPterodactyl } from '../../../server/hosting/providers/pterodactyl/index.ts';
import { createPanelUpstream, panelKeys } from '../../helpers/upstream-panel.ts';
import { createTestLog, until } from '../../helpers/upstream.ts';
import { preparePanel } from './console-harness.ts';
import { recordConsole } from './console-recorder.ts';

test('the console uses the read-only key alone and sends nothing that could change the server', async () => {
  const { upstream, wings, follow } = await preparePanel();
  const record = await follow();
  wings.print('hello');
  await record.received('hello');
  expect(upstream.seen.map(({ method, headers }) => [method, headers.authorization])).toEqual([
    ['GET', `Bearer ${panelKeys.read}`],
  ]);
  expect(wings.forbidden).toEqual([]);
});

describe('a read-only key with more permissions', () => {
  test.each([[['*', 'admin.websocket.errors']], [['websocket.connect', 'control.console']], [['control.start']]])(
    'opens no console: %j',
    async (permissions) => {
      const { upstream, wings, open, written } = await preparePanel();
      upstream.users.get(panelKeys.read)!.permissions = permissions.includes('*')
        ? permissions
        : ['websocket.connect', ...permissions];
      expect(await open().ended()).toBe('console is not available');
      expect(wings.auths).toEqual([]);
      expect(written()).toContain('may do more than read');
    },
  );

  test.each([
    ['an administrator', { admin: true }],
    ['an owner', { owner: true }],
    ['a key with a right to power', { permissions: ['websocket.connect', 'control.stop'] }],
  ])('is an error of the check and ends open consoles: %s', async (_, changes) => {
    const { upstream, wings, provider, open, follow } = await preparePanel();
    const before = await follow();
    Object.assign(upstream.users.get(panelKeys.read)!, changes);
    const findings = await provider.check();
    expect(findings.filter(({ level }) => level === 'error')).toHaveLength(1);
    expect(findings.at(-1)!.message).toContain('read_only_token');
    expect(await before.ended()).toBe('console is not available');
    expect(await open().ended()).toBe('console is not available');
    await until('the socket is closed', () => wings.sockets() === 0);
    expect(wings.auths).toHaveLength(1);
  });

  test('is not reported for a valid key', async () => {
    const { provider, open, wings } = await preparePanel();
    expect((await provider.check()).map(({ level }) => level)).toEqual(['info', 'info']);
    const record = open();
    wings.print('hello');
    await record.received('hello');
  });
});

test('rejected keys and an unreachable panel are findings', async () => {
  const { upstream, provider } = await preparePanel();
  upstream.users.clear();
  expect(await provider.check()).toEqual([
    { level: 'error', message: 'The token is not accepted: status 401' },
    { level: 'error', message: 'The read_only_token is not accepted: status 401' },
  ]);
  await upstream.stop();
  expect((await provider.check()).map(({ level }) => level)).toEqual(['warn', 'warn']);
});

test('without a read-only key there is no console, and the check warns', async () => {
  const upstream = await createPanelUpstream();
  const { log } = createTestLog();
  const settings = { type: 'pterodactyl', url: upstream.url, token: panelKeys.write } as const;
  const provider = createPterodactyl(settings, { timeoutMs: 20_000, log });
  onTestFinished(() => provider.close());
  expect(await provider.check()).toMatchObject([{ level: 'info' }, { level: 'warn' }]);
  expect(await recordConsole(provider.game!, upstream.wings.uuid).ended()).toBe('console is not available');
});

test('viewers get only the events meant for them', async () => {
  const { wings, follow } = await preparePanel();
  const record = await follow();
  wings.publish('stats', '{"memory_bytes":1}');
  wings.publish('daemon error', 'open /var/lib/pterodactyl/secret: permission denied');
  wings.publish('backup completed:1', '{"checksum":"secret"}');
  wings.publish('status', 'removing');
  wings.publish('feature match', 'secret');
  wings.sendRaw('no JSON at all');
  wings.sendRaw('{"event":7,"args":["secret"]}');
  wings.sendRaw('null');
  wings.sendRaw(Buffer.from('{"event":"console output","args":["secret"]}'));
  wings.publish('daemon message', 'Pulling the image');
  wings.print('the end');
  await record.received('the end');
  expect(record.events).toEqual([
    'status: running',
    'error: the game panel reported an error',
    'line: Pulling the image',
    'line: the end',
  ]);
});

test('an oversized message ends the connection, not the process', async () => {
  const { wings, follow } = await preparePanel();
  const record = await follow();
  wings.sendRaw('x'.repeat(2_000_000));
  await until('the gap is reported', () => record.gaps.length === 1);
  await until('a second token was used', () => wings.auths.length === 2);
  expect(record.ends).toEqual([]);
});

test('closing leaves no socket open', async () => {
  const { provider, wings, follow, open } = await preparePanel();
  const record = await follow();
  record.source.close();
  await until('the socket is closed', () => wings.sockets() === 0);
  open();
  await until('another is open', () => wings.auths.length === 2);
  await provider.close();
  await until('it is closed too', () => wings.sockets() === 0);
  expect(record.gaps).toEqual([]);
});
