import { describe, expect, onTestFinished, test } from 'vitest';
import { createPanelUpstream, failure } from '../../../helpers/upstream-panel.ts';
import { until } from '../../../helpers/upstream.ts';
import { isTokenCall, preparePanel } from '../../../hosting/providers/console-harness.ts';

describe('a lost connection', () => {
  test('is reported at once, and the reconnect sends no second history', async () => {
    const { wings, follow } = await preparePanel();
    wings.print('before');
    const record = await follow();
    await record.received('before');
    wings.cut();
    await until('the gap is reported', () => record.gaps.length === 1);
    await until('a second token was used', () => wings.auths.length === 2);
    wings.print('after');
    await record.received('after');
    expect(record.events).toEqual([
      'status: running',
      'line: before',
      'gap: the connection to the console was lost',
      'line: after',
    ]);
    expect(wings.logsSent()).toBe(1);
  });

  test('is reported once for all failed attempts', async () => {
    const { upstream, wings, follow, times } = await preparePanel({ windowMs: 100 });
    const record = await follow();
    upstream.fail('drop', isTokenCall);
    wings.cut();
    await until('five attempts failed', () => times.length >= 6);
    upstream.fail(undefined);
    await until('a second token was used', () => wings.auths.length === 2);
    wings.print('after');
    await record.received('after');
    expect(record.gaps).toHaveLength(1);
  });

  test('uses at most four of the five tokens per minute, over all readers', async () => {
    const windowMs = 1200;
    const { upstream, wings, open, times } = await preparePanel({ windowMs, backoffMs: 1 });
    upstream.tokensPerMinute = Number.POSITIVE_INFINITY;
    const cutter = setInterval(() => wings.cut(), 5);
    onTestFinished(() => clearInterval(cutter));
    const closing = setInterval(() => open().source.close(), 10);
    onTestFinished(() => clearInterval(closing));
    const begun = performance.now();
    open();
    open();
    await until('twelve tokens were requested', () => times.length >= 12);
    // Three at once, then two in each window. A busy machine only makes them later.
    for (const [index, time] of times.entries()) {
      expect(time - begun).toBeGreaterThan(((index - 2) * windowMs) / 2 - 100);
    }
  });

  test.each([400, 404, 429, 502])('a handshake answered with %i is retried with a new token', async (status) => {
    const { wings, open, times } = await preparePanel();
    wings.refuse(status);
    const record = open();
    await until('it was tried again', () => times.length >= 2);
    wings.refuse(undefined);
    wings.print('hello');
    await record.received('hello');
    expect(record.gaps).toHaveLength(1);
  });

  test('a Retry-After of the panel is respected', async () => {
    const { upstream, wings, open, times } = await preparePanel();
    upstream.fail({ status: 429, headers: { 'retry-after': '1' } }, isTokenCall);
    const record = open();
    await until('it was requested', () => times.length === 1);
    await until('the gap is reported', () => record.gaps.length === 1);
    upstream.fail(undefined);
    wings.print('hello');
    await record.received('hello');
    expect(times[1]! - times[0]!).toBeGreaterThan(950);
  });

  test('a connection that answers no ping is closed', async () => {
    const { wings, follow } = await preparePanel({ pingMs: 100 }, { autoPong: false });
    const record = await follow();
    await until('the gap is reported', () => record.gaps.length > 0);
    expect(wings.pings()).toBeGreaterThan(0);
  });

  test('pings keep an idle connection open', async () => {
    // Long enough that a busy machine answers in time.
    const { wings, follow } = await preparePanel({ pingMs: 1000 });
    const record = await follow();
    await until('it was pinged a few times', () => wings.pings() > 2);
    expect(record.gaps).toEqual([]);
    expect(wings.sockets()).toBe(1);
  });

  test('a server that moved to another node is followed', async () => {
    const { upstream, wings, follow } = await preparePanel();
    const record = await follow();
    const other = await createPanelUpstream();
    other.wings.become('running');
    const socket = `${other.url.replace('http', 'ws')}/api/servers/${other.wings.uuid}/ws`;
    const data = { token: other.wings.issue(['websocket.connect'], 600), socket };
    upstream.fail({ status: 200, body: JSON.stringify({ data }) }, isTokenCall);
    other.wings.expectOrigin(upstream.url);
    wings.publish('token expiring');
    await until('the other node has the reader', () => other.wings.auths.length === 1);
    other.wings.print('from the other node');
    await record.received('from the other node');
    expect(record.gaps).toHaveLength(1);
    await until('the first node has lost it', () => wings.sockets() === 0);
  });
});

describe('a console ends permanently', () => {
  test.each([
    [4409, 'the server is suspended'],
    [4400, 'the server is suspended'],
  ])('when Wings closes it with %i', async (code, reason) => {
    const { wings, follow, times } = await preparePanel({ backoffMs: 1 });
    const record = await follow();
    wings.close(code, 'server is suspended');
    expect(await record.ended()).toBe(reason);
    await until('the socket is closed', () => wings.sockets() === 0);
    expect(record.gaps).toEqual([]);
    expect(times).toHaveLength(1);
  });

  test.each([
    [409, 'ServerStateConflictException', 'the server is not available'],
    [403, 'HttpForbiddenException', 'console is not available'],
    [404, 'NotFoundHttpException', 'console is not available'],
    [401, 'AuthenticationException', 'console is not available'],
  ])('when the panel answers %i %s', async (status, code, reason) => {
    const { upstream, wings, open, times } = await preparePanel({ backoffMs: 1 });
    upstream.fail(failure(status, code, 'words of the panel'), isTokenCall);
    const record = open();
    expect(await record.ended()).toBe(reason);
    expect(record.events).toHaveLength(1);
    expect(times).toHaveLength(1);
    expect(wings.sockets()).toBe(0);
  });

  test.each([
    [403, 'console is not available'],
    [409, 'the server is not available'],
  ])('when the handshake is answered with %i', async (status, reason) => {
    const { wings, open, times } = await preparePanel({ backoffMs: 1 });
    wings.refuse(status);
    expect(await open().ended()).toBe(reason);
    expect(times).toHaveLength(1);
  });

  test('when the panel refuses a renewal', async () => {
    const { upstream, wings, follow } = await preparePanel();
    const record = await follow();
    upstream.conflict = 'This server is currently suspended';
    wings.publish('token expiring');
    expect(await record.ended()).toBe('the server is not available');
    await until('the socket is closed', () => wings.sockets() === 0);
  });

  test('when the server is deleted', async () => {
    const { wings, follow } = await preparePanel();
    const record = await follow();
    wings.publish('deleted', '');
    expect(await record.ended()).toBe('the server was deleted');
  });

  test.each(['ws://192.0.2.1/ws', 'https://192.0.2.1/ws', 'wss://user@192.0.2.1/ws', 'nonsense'])(
    'when its socket address is %s',
    async (socket) => {
      const { upstream, open } = await preparePanel();
      upstream.fail({ status: 200, body: JSON.stringify({ data: { token: 'a.b.c', socket } }) }, isTokenCall);
      expect(await open().ended()).toBe('console is not available');
    },
  );
});
