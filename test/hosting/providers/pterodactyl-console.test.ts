import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { unknownStats } from '#contract/console-stream.ts';
import type { ActionAge } from '../../../server/hosting/providers/types.ts';
import { openProvider } from '../../helpers/provider.ts';
import { createPanelUpstream, failure, panelKeys } from '../../helpers/upstream-panel.ts';
import { until } from '../../helpers/upstream.ts';
import { followPanel, isTokenCall, preparePanel } from './console-harness.ts';
import { followConsole, recordConsole } from './console-recorder.ts';

test('the console uses only the read-only key and never changes the server', async () => {
  const { upstream, wings, record, print } = await followPanel();
  await print(record, 'hello');
  expect(upstream.seen.map(({ method, headers }) => [method, headers.authorization])).toEqual([
    ['GET', `Bearer ${panelKeys.read}`],
  ]);
  expect(wings.forbidden).toEqual([]);
});

describe('a read-only key with more permissions', () => {
  test.each([
    [['*', 'admin.websocket.errors']],
    [['websocket.connect', 'control.console']],
    [['websocket.connect', 'control.start']],
    [['websocket.connect', 'file.update']],
    [['websocket.connect', 'unheard.of']],
    [{ 0: 'websocket.connect', 5: 'control.stop' }],
    [['websocket.connect', null]],
    ['websocket.connect'],
    [undefined],
  ])('opens no console: %j', async (permissions) => {
    const { upstream, wings, open, lines } = await preparePanel();
    upstream.users.get(panelKeys.read)!.permissions = ['websocket.connect'];
    upstream.grant = permissions;
    expect(await open().ended()).toBe('console is not available');
    expect(wings.auths).toEqual([]);
    expect(lines()).toMatchObject([{ level: 'warn', ref: wings.uuid, msg: 'a console was refused' }]);
  });

  test.each([
    [{ 0: 'websocket.connect', 4: 'admin.websocket.errors' }],
    [['websocket.connect', 'file.read', 'file.read-content', 'backup.download']],
  ])('opens a console if they only read: %j', async (permissions) => {
    const { upstream, open } = await preparePanel();
    upstream.grant = permissions;
    const record = open();
    await record.ready();
    expect(record.ends).toEqual([]);
  });

  test('is an error of the check and ends open consoles if its user is an administrator', async () => {
    const { upstream, wings, provider, open, follow } = await preparePanel();
    const before = await follow();
    upstream.users.get(panelKeys.read)!.admin = true;
    const findings = await provider.check();
    expect(findings.filter(({ level }) => level === 'error')).toHaveLength(1);
    expect(findings.at(-1)!.message).toContain('read_only_token');
    expect(await before.ended()).toBe('console is not available');
    expect(await open().ended()).toBe('console is not available');
    await until('the socket is closed', () => wings.sockets() === 0);
    expect(wings.auths).toHaveLength(1);
  });

  test.each([
    ['owns a server', { owner: true }],
    ['may power a server', { permissions: ['websocket.connect', 'control.stop'] }],
  ])('is a warning and closes no open console if its user %s', async (_, changes) => {
    const { upstream, provider, record, open, print } = await followPanel();
    Object.assign(upstream.users.get(panelKeys.read)!, changes);
    expect((await provider.check()).filter(({ level }) => level !== 'info')).toMatchObject([{ level: 'warn' }]);
    expect(await open().ended()).toBe('console is not available');
    await print(record, 'still there');
    expect(record.events).not.toContain('gap');
  });

  test('is not reported for a valid key, whose consoles continue', async () => {
    const { provider, record, print } = await followPanel();
    expect((await provider.check()).map(({ level }) => level)).toEqual(['info', 'info']);
    await print(record, 'hello');
  });
});

test('rejected keys and an unreachable panel are reported', async () => {
  const { upstream, provider } = await preparePanel();
  upstream.users.clear();
  expect(await provider.check()).toMatchObject([
    { level: 'error', message: 'The token is not accepted: status 401' },
    { level: 'error', message: 'The read_only_token is not accepted: status 401' },
  ]);
  upstream.fail(failure(429, 'ThrottleRequestsException', 'Too Many Attempts.'));
  expect(await provider.check()).toMatchObject([
    {
      level: 'warn',
      message: expect.stringContaining('with the token) answers with status 429: its limit'),
      isUnreachable: true,
    },
    {
      level: 'warn',
      message: expect.stringContaining('with the read_only_token) answers with status 429: its limit'),
      isUnreachable: true,
    },
  ]);
  await upstream.stop();
  expect((await provider.check()).map(({ level }) => level)).toEqual(['warn', 'warn']);
});

test.each([{ status: 502 }, 'drop'] as const)('a token request that fails with %j is sent once', async (fault) => {
  const { upstream, open, times, written } = await preparePanel({ backoffMs: 60_000 });
  upstream.fail(fault, isTokenCall);
  open();
  await until('the console was lost', () => written().includes('a console was lost'));
  expect(times).toHaveLength(1);
});

test('without a read-only key there are no consoles, and the check warns', async () => {
  const upstream = await createPanelUpstream();
  const { provider, game } = openProvider({ ...upstream.settings, read_only_token: undefined });
  expect(await provider.check()).toMatchObject([{ level: 'info' }, { level: 'warn' }]);
  expect(await recordConsole(game, upstream.wings.uuid).ended()).toBe('console is not available');
});

test('viewers get only the events meant for them', async () => {
  const { wings, record, print } = await followPanel();
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
  await print(record, 'the end');
  expect(record.events).toEqual([
    'status: running',
    'error: the game panel reported an error',
    'line: Pulling the image',
    'line: the end',
  ]);
});

test('statistics are requested at the start, also for an offline server', async () => {
  const { wings, open } = await preparePanel();
  wings.become('offline');
  const { source } = open();
  const idle = { cpu: 0, memory_bytes: 0, network_rx_bytes: 0, network_tx_bytes: 0 };
  expect(await source.stats()).toEqual({ ...idle, disk_bytes: 1_048_576 });
  expect(wings.forbidden).toEqual([]);
});

test.each([
  ['no JSON', 'nothing', {}],
  ['another type', '{"cpu_absolute":"nine","memory_bytes":-1,"network":7,"disk_bytes":1.5}', {}],
  ['a part, also as texts', '{"memory_bytes":"7","network":{"rx_bytes":8}}', { memory_bytes: 7, network_rx_bytes: 8 }],
])('unknown statistics of %s are null', async (_, text, known) => {
  const { wings, follow } = await preparePanel({ statsMs: 50 });
  wings.answerStats(false);
  const { source } = await follow();
  wings.publish('stats', text);
  await expect.poll(() => source.stats()).toEqual({ ...unknownStats, ...known });
});

test('statistics of a lost connection are not reported', async () => {
  const { wings, record } = await followPanel({ statsMs: 50, backoffMs: 60_000 });
  wings.use({ cpu_absolute: 37.512 });
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

test('the backlog is complete some time after its request', async () => {
  const { wings, follow, print, authorized } = await preparePanel({ loadMs: 100 });
  for (let number = 0; number < 150; number += 1) wings.print(`line ${number}`);
  const record = await follow();
  await until('the lines are loaded', () => record.loads > 0 && record.lines.length === 150);
  wings.cut();
  await authorized(2);
  await print(record, 'new');
  expect(record.loads).toBe(1);
});

test('an accepted token is neither resent nor replaced', async () => {
  const { wings, open } = await preparePanel({ authMs: 2000, throttleMs: 50 });
  wings.throttleAuth(0);
  const record = open();
  await until('the token was dropped', () => wings.authsDropped() > 0);
  wings.throttleAuth(5);
  await record.ready();
  await sleep(2200);
  expect(wings.auths).toHaveLength(1);
  expect(record.gaps).toEqual([]);
});

test('an answer to a token that arrived in time counts, even if a busy process reads it late', async () => {
  const { upstream, wings, open, print } = await preparePanel({ authMs: 1000 });
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
  await print(record, 'hello');
  expect(record.gaps).toEqual([]);
  expect(wings.auths).toHaveLength(1);
});

test('a renewal of the token does not request the backlog again', async () => {
  const { wings, record, print, authorized } = await followPanel();
  wings.publish('token expiring');
  wings.publish('token expiring');
  await authorized(2);
  await print(record, 'still there');
  expect(record.gaps).toEqual([]);
  await until('statistics were requested again', () => wings.statsSent() === 2);
  expect(wings.logsSent()).toBe(1);
});

test('the fourth console opened at once waits for the token limit', async () => {
  const { wings, game, open, times, written } = await preparePanel({ windowMs: 2000 });
  const records = Array.from({ length: 4 }, () => recordConsole(game, wings.uuid));
  await until('the last one has to wait', () => records[3]!.gaps[0] === 'the game panel is busy');
  await Promise.all(records.slice(0, 3).map((record) => record.ready()));
  expect(times).toHaveLength(3);
  await open().ready();
  expect(times[3]! - times[0]!).toBeGreaterThan(400);
  expect(written()).not.toContain('a console was lost');
});

test.each([
  ['error', 'our mistake', 404, 'console is not available'],
  ['info', 'the state of the server', 409, 'the server is not available'],
])('a refusal is logged as %s if the reason is %s', async (level, _, status, reason) => {
  const { upstream, open, lines } = await preparePanel();
  upstream.fail(failure(status, 'AnyException', 'words of the panel'), isTokenCall);
  expect(await open().ended()).toBe(reason);
  const refusals = lines().filter((line) => JSON.stringify(line).includes('a console was refused'));
  expect(refusals.map((line) => line['level'])).toEqual([level]);
});

test('an oversized message ends the connection, not the process', async () => {
  const { wings, record, authorized } = await followPanel();
  wings.sendRaw('x'.repeat(2_000_000));
  await until('the gap is reported', () => record.gaps.length === 1);
  await authorized(2);
  expect(record.ends).toEqual([]);
});

test('closing leaves no socket open', async () => {
  const { provider, wings, open, record, authorized } = await followPanel();
  record.source.close();
  await until('the socket is closed', () => wings.sockets() === 0);
  open();
  await authorized(2);
  await provider.close();
  await until('it is closed too', () => wings.sockets() === 0);
  expect(record.gaps).toEqual([]);
});

const always = Number.POSITIVE_INFINITY;

/** Follows a console, with a clock that only the provider uses. */
async function followState() {
  const { upstream, wings, game, clock, ...panel } = await preparePanel();
  const record = await followConsole(game, wings.uuid);
  await until('statistics were requested', () => wings.statsSent() === 1);
  wings.publish('daemon error', 'after the statistics');
  await until('the statistics came', () => record.events.some((event) => event.startsWith('error')));
  const stateAfter = (maxAgeMs: number) => game.state(wings.uuid, maxAgeMs);
  const reads = () => upstream.seen.filter(({ path }) => path.endsWith('/resources')).length;
  /** Prints a line, which is a sign of life. */
  const print = (line: string) => panel.print(record, line);
  return { wings, game, clock, record, stateAfter, reads, print };
}

test('an open console provides the state, and each line confirms it', async () => {
  const { clock, stateAfter, reads, print } = await followState();
  clock.pass(30_000);
  const before = Date.now();
  await print('a line');
  const { state, checkedAt } = await stateAfter(always);
  expect(state).toBe('running');
  expect(checkedAt).toBeGreaterThanOrEqual(before);
  clock.pass(30_000);
  expect((await stateAfter(always)).checkedAt).toBe(checkedAt);
  expect(reads()).toBe(0);
});

test('a console that is silent for more than 35 s does not provide the state', async () => {
  const { clock, stateAfter, reads, print } = await followState();
  await print('a line');
  clock.pass(35_000);
  await stateAfter(always);
  expect(reads()).toBe(0);
  clock.pass(1);
  await stateAfter(always);
  expect(reads()).toBe(1);
});

test('a lost console does not provide the state', async () => {
  const { wings, record, stateAfter, reads } = await followState();
  wings.refuse(503);
  wings.cut();
  await until('the console was lost', () => record.gaps.length > 0);
  await stateAfter(always);
  expect(reads()).toBe(1);
});

test('after a gap, only a later state counts', async () => {
  const { wings, record, stateAfter, reads } = await followState();
  wings.answerStats(false);
  wings.publish('token expired');
  await until('the gap is reported', () => record.gaps.length === 1);
  await stateAfter(always);
  expect(reads()).toBe(1);
  wings.become('offline');
  await until('the status came', () => record.states.at(-1) === 'offline');
  expect((await stateAfter(always)).state).toBe('offline');
  expect(reads()).toBe(1);
});

test('the state is requested once, a second after the answer to an action without a status', async () => {
  const { wings, clock, stateAfter, reads } = await followState();
  clock.pass(20_000);
  expect((await stateAfter(1000)).state).toBe('unknown');
  expect(wings.statsSent()).toBe(1);
  clock.pass(1);
  const states = await Promise.all([stateAfter(1001), stateAfter(1001)]);
  expect(states.map(({ state }) => state)).toEqual(['running', 'running']);
  expect([wings.statsSent(), reads()]).toEqual([2, 0]);
});

test.for<[string, object, string]>([
  ['a status since the action was sent', { sentMs: 150, answeredMs: 50 }, 'stopping'],
  ['no status from before', { sentMs: 50, answeredMs: 50 }, 'unknown'],
])('the state after an action is known from %s', async ([, times, expected]) => {
  const { wings, record, clock, game } = await followState();
  clock.pass(20_000);
  wings.become('stopping');
  await until('the status came', () => record.states.at(-1) === 'stopping');
  clock.pass(100);
  expect((await game.state(wings.uuid, 50, times as ActionAge)).state).toBe(expected);
});

test.for<[string, object, string]>([
  ['since the answer', { sentMs: 250, answeredMs: 150 }, 'offline'],
  ['from before the answer do not count', { sentMs: 150, answeredMs: 50 }, 'unknown'],
])('the state after an action is known from statistics %s', async ([, times, expected]) => {
  const { wings, record, clock, game } = await followState();
  clock.pass(20_000);
  wings.publish('stats', '{"state":"offline"}');
  await expect.poll(async () => (await game.state(wings.uuid, always)).state).toBe('offline');
  clock.pass(100);
  expect(record.states).toEqual(['running']);
  expect((await game.state(wings.uuid, 50, times as ActionAge)).state).toBe(expected);
});

test.for([
  ['not sooner', 20_000, 1],
  ['without a read', 20_001, 0],
] as const)('a status from before an action counts if it holds 20 s later: %s', async ([, ms, count]) => {
  const { wings, clock, stateAfter, reads, print } = await followState();
  wings.answerStats(false);
  clock.pass(1000 + ms);
  await print('a line');
  expect((await stateAfter(ms)).state).toBe('running');
  expect(reads()).toBe(count);
});
