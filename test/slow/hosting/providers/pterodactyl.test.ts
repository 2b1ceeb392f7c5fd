import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { toRenewal } from '../../../../server/hosting/providers/pterodactyl/session.ts';
import { createPanelUpstream, failure } from '../../../helpers/upstream-panel.ts';
import { json, until } from '../../../helpers/upstream.ts';
import { followPanel, isTokenCall, preparePanel } from '../../../hosting/providers/console-harness.ts';

type Panel = Awaited<ReturnType<typeof preparePanel>>;

/** Makes a panel answer with another token or socket address. */
const answerToken = (upstream: Panel['upstream'], token: string, socket: string): void =>
  upstream.fail(json(200, { data: { token, socket } }), isTokenCall);

describe('tokens', () => {
  test('are renewed 2 minutes before their expiry, or after half of a short lifetime', () => {
    expect(toRenewal(600_000)).toBe(480_000);
    expect(toRenewal(200_000)).toBe(100_000);
    expect(toRenewal(10_000)).toBe(5000);
    expect(toRenewal(0)).toBe(250);
  });

  test('are not requested again while Wings repeats the expiry event', async () => {
    const { wings, times, record } = await followPanel({ quietMs: 15_000 });
    for (let count = 1; count <= 20; count += 1) {
      wings.publish('token expiring');
      wings.print(`line ${count}`);
    }
    await record.received('line 20');
    expect(times).toHaveLength(1);
  });

  test.each([
    ['token expired', []],
    ['jwt error', ['jwt: exp claim is invalid']],
  ])('that are expired (%s) are renewed on the same socket, and the gap is reported once', async (event, args) => {
    const { wings, times, record, print, authorized } = await followPanel();
    for (let lost = 0; lost < 10; lost += 1) wings.publish(event, ...args);
    await authorized(2);
    await print(record, 'back');
    expect(record.gaps).toHaveLength(1);
    expect(times).toHaveLength(2);
    expect(wings.sockets()).toBe(1);
  });

  test('denied by Wings after its restart are replaced', async () => {
    const { wings, record, print, authorized } = await followPanel();
    wings.denyOldTokens();
    wings.publish('jwt error', 'jwt: created too far in past (denylist)');
    await authorized(2);
    await print(record, 'back');
    expect(record.gaps).toHaveLength(1);
  });

  test('are requested again after a failed renewal, without losing a line', async () => {
    const { upstream, wings, follow, print, authorized } = await preparePanel();
    // Half of it is left after the first attempt.
    upstream.tokenSeconds = 10;
    upstream.tokensPerMinute = Number.POSITIVE_INFINITY;
    const record = await follow();
    upstream.fail({ status: 502 }, isTokenCall);
    const before = upstream.seen.length;
    await until('a renewal failed', () => upstream.seen.length > before);
    upstream.fail(undefined);
    await authorized(2);
    await print(record, 'still there');
    expect(record.gaps).toEqual([]);
    expect(wings.sockets()).toBe(1);
  });

  test('are not requested faster while lines are lost', async () => {
    const { upstream, wings, times, record } = await followPanel();
    upstream.fail({ status: 429, headers: { 'retry-after': '1' } }, isTokenCall);
    const flood = setInterval(() => wings.publish('jwt error', 'jwt: exp claim is invalid'), 5);
    onTestFinished(() => clearInterval(flood));
    await until('the renewal failed twice', () => times.length >= 3);
    expect(times[2]! - times[1]!).toBeGreaterThan(950);
    // The third refusal may already have been reported as a busy panel.
    expect(record.gaps.slice(0, 2)).toEqual([
      'the credential of the console had to be renewed',
      'the connection to the console was lost',
    ]);
  });

  test('with a bad signature, which Wings reports as a daemon error, are replaced', async () => {
    const { upstream, wings, open, times, print } = await preparePanel();
    const [header, claims] = wings.issue(['websocket.connect'], 600).split('.');
    answerToken(upstream, `${header}.${claims}.c`, upstream.socketUrl());
    const record = open();
    await until('it was tried again', () => times.length > 1);
    upstream.fail(undefined);
    await print(record, 'hello');
    expect(record.gaps).toHaveLength(1);
  });

  test('dropped by the limit of Wings are resent until accepted, also later on the same socket', async () => {
    const { wings, open, times, print, authorized } = await preparePanel({ throttleMs: 100 });
    wings.throttleAuth(0);
    const record = open();
    // Wings reports only the first drop.
    await until('the first token was dropped three times', () => wings.authsDropped() >= 3);
    wings.throttleAuth(5);
    await authorized(1);
    expect(times).toHaveLength(1);
    const dropped = wings.authsDropped();
    wings.throttleAuth(0);
    wings.publish('token expired');
    await until('the second token was dropped', () => wings.authsDropped() > dropped);
    wings.throttleAuth(5);
    await authorized(2);
    await print(record, 'still there');
    expect(record.events).toEqual([
      'status: running',
      'gap: the credential of the console had to be renewed',
      'line: still there',
    ]);
    expect(times).toHaveLength(2);
    expect(wings.sockets()).toBe(1);
  });

  test('without an answer cause a new attempt', async () => {
    const { wings, open, print } = await preparePanel({ authMs: 2000, throttleMs: 10_000 });
    wings.throttleAuth(0);
    const record = open();
    await until('the gap is reported', () => record.gaps.length === 1);
    wings.throttleAuth(5);
    await print(record, 'hello');
    expect(wings.auths).toHaveLength(1);
  });

  test('that expire during their renewal lose lines, and the gap is reported', async () => {
    const { upstream, wings, times, record } = await followPanel();
    upstream.fail('hang', isTokenCall);
    wings.publish('token expiring');
    await until('a new one was requested', () => times.length === 2);
    wings.publish('token expired');
    await until('the gap is reported', () => record.gaps.length === 1);
    expect(wings.sockets()).toBe(1);
  });

  test('that expire while their renewal waits for a retry cause a new attempt', async () => {
    const { upstream, wings, times, record, authorized } = await followPanel();
    upstream.fail({ status: 502 }, isTokenCall);
    wings.publish('token expiring');
    await until('a new one was requested', () => times.length === 2);
    await sleep(200);
    upstream.fail(undefined);
    wings.publish('token expired');
    await authorized(2);
    expect(record.gaps).toEqual(['the credential of the console had to be renewed']);
  });

  test('that expire before Wings accepts the next token lose lines but keep the connection', async () => {
    const { wings, record, authorized } = await followPanel({ throttleMs: 100 });
    wings.throttleAuth(0);
    wings.publish('token expiring');
    await until('the second token was dropped', () => wings.authsDropped() > 0);
    wings.publish('token expired');
    await until('the gap is reported', () => record.gaps.length === 1);
    wings.throttleAuth(5);
    await authorized(2);
    expect(wings.sockets()).toBe(1);
  });

  test('that are expired at their first use are replaced', async () => {
    const { wings, open, times, print } = await preparePanel({ throttleMs: 10_000 });
    wings.throttleAuth(0);
    const record = open();
    await until('the token was dropped', () => wings.authsDropped() > 0);
    wings.throttleAuth(5);
    wings.sendRaw('{"event":"jwt error","args":["jwt: exp claim is invalid"]}');
    await print(record, 'hello');
    expect(record.gaps).toHaveLength(1);
    expect(times).toHaveLength(2);
  });
});

describe('a lost connection', () => {
  test('is reported once for all failed attempts', async () => {
    const { upstream, wings, times, record, print, authorized } = await followPanel({ windowMs: 100 });
    upstream.fail('drop', isTokenCall);
    wings.cut();
    await until('five attempts failed', () => times.length >= 6);
    upstream.fail(undefined);
    await authorized(2);
    await print(record, 'after');
    expect(record.gaps).toEqual(['the connection to the console was lost', 'the game panel is busy']);
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
    // Three at once, then two in each window. A busy machine only delays them.
    for (const [index, time] of times.entries()) {
      expect(time - begun).toBeGreaterThan(((index - 2) * windowMs) / 2 - 100);
    }
  });

  test('a handshake answered with 404 is retried with a new token', async () => {
    const { wings, open, times, print } = await preparePanel();
    wings.refuse(404);
    const record = open();
    await until('it was tried again', () => times.length >= 2);
    wings.refuse(undefined);
    await print(record, 'hello');
    expect(record.gaps).toHaveLength(1);
  });

  test('a Retry-After of the panel is respected', async () => {
    const { upstream, open, times, print } = await preparePanel();
    upstream.fail({ status: 429, headers: { 'retry-after': '1' } }, isTokenCall);
    const record = open();
    await until('it was requested', () => times.length === 1);
    await until('the gap is reported', () => record.gaps.length === 1);
    upstream.fail(undefined);
    await print(record, 'hello');
    expect(times[1]! - times[0]!).toBeGreaterThan(950);
  });

  test('a connection that answers no ping is closed', async () => {
    const { wings, record } = await followPanel({ pingMs: 100 }, { autoPong: false });
    await until('the gap is reported', () => record.gaps.length > 0);
    expect(wings.pings()).toBeGreaterThan(0);
  });

  test('pings keep an idle connection open', async () => {
    // Long enough for a busy machine to answer in time.
    const { wings, record } = await followPanel({ pingMs: 1000 });
    await until('it was pinged a few times', () => wings.pings() > 2);
    expect(record.gaps).toEqual([]);
    expect(wings.sockets()).toBe(1);
  });

  test('a server that moved to another node is followed', async () => {
    const { upstream, wings, record } = await followPanel();
    const other = await createPanelUpstream();
    other.wings.become('running');
    answerToken(upstream, other.wings.issue(['websocket.connect'], 600), other.socketUrl());
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
  test('when its token has no connect permission', async () => {
    const { wings, record } = await followPanel();
    wings.publish('jwt error', 'jwt: missing connect permission');
    expect(await record.ended()).toBe('console is not available');
  });

  const closeWith = (code: number) => (panel: Panel) => panel.wings.close(code, 'server is suspended');
  const suspend = ({ upstream, wings }: Panel): void => {
    upstream.conflict = 'This server is currently suspended';
    wings.publish('token expiring');
  };
  test.each<[string, (panel: Panel) => unknown, string, requests: number]>([
    ['Wings closes it with 4409', closeWith(4409), 'the server is suspended', 1],
    ['Wings closes it with 4400', closeWith(4400), 'the server is suspended', 1],
    ['the panel refuses a renewal', suspend, 'the server is not available', 2],
    ['the server is deleted', ({ wings }) => wings.publish('deleted', ''), 'the server was deleted', 1],
  ])('when %s', async (_, cause, reason, requests) => {
    const panel = await followPanel({ backoffMs: 1 });
    cause(panel);
    expect(await panel.record.ended()).toBe(reason);
    await until('the socket is closed', () => panel.wings.sockets() === 0);
    expect(panel.record.gaps).toEqual([]);
    expect(panel.times).toHaveLength(requests);
  });

  const answer = (status: number, code: string) => (panel: Panel) =>
    panel.upstream.fail(failure(status, code, 'words of the panel'), isTokenCall);
  const refuse = (status: number) => (panel: Panel) => panel.wings.refuse(status);
  const nameSocket = (socket: string) => (panel: Panel) => answerToken(panel.upstream, 'a.b.c', socket);
  test.each<[string, (panel: Panel) => void, string]>([
    ['the panel answers 409', answer(409, 'ServerStateConflictException'), 'the server is not available'],
    ['the panel answers 403', answer(403, 'HttpForbiddenException'), 'console is not available'],
    ['the panel answers 404', answer(404, 'NotFoundHttpException'), 'console is not available'],
    ['the panel answers 401', answer(401, 'AuthenticationException'), 'console is not available'],
    ['the handshake is answered with 409', refuse(409), 'the server is not available'],
    ['its socket is not encrypted', nameSocket('ws://192.0.2.1/ws'), 'console is not available'],
    ['its socket is a page', nameSocket('https://192.0.2.1/ws'), 'console is not available'],
    ['its socket has a user', nameSocket('wss://user@192.0.2.1/ws'), 'console is not available'],
    ['its socket is no address', nameSocket('nonsense'), 'console is not available'],
  ])('when %s at its opening', async (_, cause, reason) => {
    const panel = await preparePanel({ backoffMs: 1 });
    cause(panel);
    const record = panel.open();
    expect(await record.ended()).toBe(reason);
    expect(record.events).toHaveLength(1);
    expect(panel.times).toHaveLength(1);
    expect(panel.wings.sockets()).toBe(0);
  });
});
