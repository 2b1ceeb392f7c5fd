import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { unknownStats } from '#contract/console-stream.ts';
import { openProvider } from '../../helpers/provider.ts';
import { createPanelUpstream, failure, panelKeys } from '../../helpers/upstream-panel.ts';
import { until } from '../../helpers/upstream.ts';
import { isTokenCall, preparePanel } from './console-harness.ts';
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
  expect(await provider.check()).toMatchObject([
    { level: 'error', message: 'The token is not accepted: status 401' },
    { level: 'error', message: 'The read_only_token is not accepted: status 401' },
  ]);
  upstream.fail({ status: 429 });
  expect(await provider.check()).toMatchObject([
    { level: 'warn', message: 'The panel asked with the token answers with status 429', isUnreachable: true },
    { level: 'warn', message: 'The panel asked with the read_only_token answers with status 429', isUnreachable: true },
  ]);
  await upstream.stop();
  expect((await provider.check()).map(({ level }) => level)).toEqual(['warn', 'warn']);
});

test('without a read-only key there is no console, and the check warns', async () => {
  const upstream = await createPanelUpstream();
  const { provider, game } = openProvider({ ...upstream.settings, read_only_token: undefined });
  expect(await provider.check()).toMatchObject([{ level: 'info' }, { level: 'warn' }]);
  expect(await recordConsole(game, upstream.wings.uuid).ended()).toBe('console is not available');
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

/** What the stand-in sends while its server runs. */
const sizes = { memory_bytes: 1_610_612_736, disk_bytes: 5_368_709_120 };
const usage = { ...sizes, cpu_absolute: 37.512, network: { rx_bytes: 81_920, tx_bytes: 245_760 } };

test('statistics are those that Wings sent last, and zeros once the server is offline', async () => {
  const { wings, follow } = await preparePanel();
  const { source } = await follow();
  wings.use({ ...usage, memory_bytes: 1 });
  wings.use(usage);
  const stats = { ...sizes, cpu: 37.512, network_rx_bytes: 81_920, network_tx_bytes: 245_760 };
  await expect.poll(() => source.stats()).toEqual(stats);
  wings.become('offline');
  await expect.poll(() => source.stats()).toMatchObject({ cpu: 0, memory_bytes: 0, disk_bytes: 1_048_576 });
});

test('statistics are requested at the start, so that those of an offline server are known too', async () => {
  const { wings, open } = await preparePanel();
  wings.become('offline');
  const { source } = open();
  const idle = { cpu: 0, memory_bytes: 0, network_rx_bytes: 0, network_tx_bytes: 0 };
  expect(await source.stats()).toEqual({ ...idle, disk_bytes: 1_048_576 });
  expect(wings.forbidden).toEqual([]);
});

test.each([
  ['no JSON', 'nothing', {}],
  ['another type', '{"cpu_absolute":"9","memory_bytes":-1,"network":7,"disk_bytes":1.5}', {}],
  ['a part', '{"memory_bytes":7,"network":{"rx_bytes":8}}', { memory_bytes: 7, network_rx_bytes: 8 }],
])('statistics of %s are null where they are not known', async (_, text, known) => {
  const { wings, follow } = await preparePanel({ statsMs: 50 });
  wings.answerStats(false);
  const { source } = await follow();
  wings.publish('stats', text);
  await expect.poll(() => source.stats()).toEqual({ ...unknownStats, ...known });
});

test('statistics of a lost connection are not sent on', async () => {
  const { wings, follow } = await preparePanel({ statsMs: 50, backoffMs: 60_000, maxBackoffMs: 60_000 });
  const record = await follow();
  wings.use(usage);
  await expect.poll(() => record.source.stats()).toMatchObject({ cpu: 37.512 });
  wings.refuse(500);
  wings.cut();
  await until('the loss is reported', () => record.gaps.length === 1);
  expect(await record.source.stats()).toEqual(unknownStats);
});

test('statistics that Wings sends late are requested again', async () => {
  const { wings, follow } = await preparePanel();
  wings.answerStats(false);
  const { source } = await follow();
  await until('statistics were requested', () => wings.statsSent() === 1);
  wings.answerStats(true);
  expect(await source.stats()).toMatchObject({ cpu: 0, disk_bytes: 1_048_576 });
  expect(wings.statsSent()).toBe(2);
});

test('the buffered lines are loaded some time after they were requested', async () => {
  const { wings, follow } = await preparePanel({ loadMs: 100 });
  for (let number = 0; number < 150; number += 1) wings.print(`line ${number}`);
  const record = await follow();
  await until('the lines are loaded', () => record.loads > 0);
  expect(record.lines).toHaveLength(150);
  wings.cut();
  await until('the console is followed again', () => wings.auths.length === 2);
  wings.print('new');
  await record.received('new');
  expect(record.loads).toBe(1);
});

test('an accepted token is neither sent again nor given up', async () => {
  const { wings, open } = await preparePanel({ authMs: 300, throttleMs: 50 });
  wings.throttleAuth(0);
  const record = open();
  await until('the token was dropped', () => wings.authsDropped() > 0);
  wings.throttleAuth(5);
  await record.ready();
  await sleep(500);
  expect(wings.auths).toHaveLength(1);
  expect(record.gaps).toEqual([]);
});

test('an answer to a token that arrived in time counts, also if the process was too busy to read it', async () => {
  const { upstream, wings, open } = await preparePanel({ authMs: 1000 });
  const block = (): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100);
  upstream.server.on('upgrade', (_: unknown, socket: Socket) => {
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    socket.write = (...args: unknown[]) => {
      if (String(args[0]).includes('auth success')) queueMicrotask(block);
      return write(...args);
    };
  });
  const record = open();
  await record.ready();
  wings.print('hello');
  await record.received('hello');
  expect(record.gaps).toEqual([]);
  expect(wings.auths).toHaveLength(1);
});

test('a renewal of the token does not request the buffered lines again', async () => {
  const { wings, follow } = await preparePanel();
  const record = await follow();
  wings.publish('token expiring');
  wings.publish('token expiring');
  await until('a second token was used', () => wings.auths.length === 2);
  wings.print('still there');
  await record.received('still there');
  expect(record.gaps).toEqual([]);
  await until('statistics were requested again', () => wings.statsSent() === 2);
  expect(wings.logsSent()).toBe(1);
});

test('the fourth console that is opened at once has to wait for the limit of tokens', async () => {
  const { wings, game, open, times, written } = await preparePanel({ windowMs: 1000 });
  const records = Array.from({ length: 4 }, () => recordConsole(game, wings.uuid));
  await until('the last one has to wait', () => records[3]!.gaps[0] === 'the console has to wait');
  await Promise.all(records.slice(0, 3).map((record) => record.ready()));
  expect(times).toHaveLength(3);
  await open().ready();
  expect(times[3]! - times[0]!).toBeGreaterThan(400);
  expect(written()).not.toContain('a console was lost');
});

test.each([
  ['error', 'our mistake', 404, 'console is not available'],
  ['info', 'the state of the server', 409, 'the server is not available'],
])('a refusal is logged as %s if it is due to %s', async (level, _, status, reason) => {
  const { upstream, open, lines } = await preparePanel();
  upstream.fail(failure(status, 'AnyException', 'words of the panel'), isTokenCall);
  expect(await open().ended()).toBe(reason);
  const refusals = lines().filter((line) => JSON.stringify(line).includes('a console was refused'));
  expect(refusals.map((line) => line['level'])).toEqual([level]);
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
