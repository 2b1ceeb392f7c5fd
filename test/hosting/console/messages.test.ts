import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { linesOf } from '../../helpers/console-client.ts';
import { createTestRelay, openTestStream, secretHash } from './harness.ts';

const malformed = 'A message must be a JSON text of the form {"event": "...", "args": ["..."]}';
const noCommand =
  'A command has 1 to 1,024 characters, one of them visible, and no control characters; a reference has 1 to 64';

test('send logs returns the last 150 lines in order, at most once a second', async () => {
  const { clock, ...relay } = await createTestRelay();
  const first = await relay.open();
  const expected = Array.from({ length: 200 }, (_, number) => `line ${number}`);
  for (const line of expected) relay.sources[0]!.line(line);
  relay.sources[0]!.status('running');
  await first.until('status');
  expect(linesOf(first.messages)).toEqual(expected);

  const second = await relay.open();
  second.send('send logs', null);
  second.send('send logs');
  const answers = await second.until('daemon error');
  expect(answers[0]).toEqual(['status', 'running']);
  expect(linesOf(answers)).toEqual(expected.slice(50));
  expect(answers).toHaveLength(153);
  expect(answers.at(-2)).toEqual(['logs end']);
  expect(answers.at(-1)).toEqual(['daemon error', 'The history is sent at most once a second']);
  // A wall clock that is set back changes nothing.
  vi.mocked(Date.now).mockReturnValue(clock.now() - 3_600_000);
  await clock.advance(1);
  second.send('send logs');
  expect(linesOf(await second.until('logs end'))).toEqual(expected.slice(50));
});

test('a line is truncated at 64 Ki characters, and arrives unchanged otherwise', async () => {
  const { relay, client } = await openTestStream();
  const lines = ['ü'.repeat(100), '🎮'.repeat(20_000), '\uD800 alone', '\u0000'.repeat(100_000), ''];
  for (const line of lines) relay.sources[0]!.line(line);
  relay.sources[0]!.status('offline');
  expect(linesOf(await client.until('status'))).toEqual(lines.map((line) => line.slice(0, 65_536)));
});

test('messages of each length encoding (RFC 6455 5.2) arrive unchanged', async () => {
  const { relay, client } = await openTestStream();
  const others = JSON.stringify({ event: 'console output', args: [''] }).length;
  const lines = [125, 126, 65_535, 65_536].map((bytes) => 'x'.repeat(bytes - others));
  for (const line of lines) relay.sources[0]!.line(line);
  relay.sources[0]!.status('offline');
  expect(linesOf(await client.until('status'))).toEqual(lines);
});

test('a command of 1,024 characters, more in bytes, is sent once, with its sender', async () => {
  const relay = await createTestRelay();
  const client = await relay.connect('mc', { headers: { 'X-Request-Id': 'request-of-the-test' } });
  await client.auth(await relay.token({ mode: 'read_write' }));
  const command = `say "Grüße" ${'🎮'.repeat(1012)}`;
  client.send('send command', command);
  await client.roundTrip();
  const sender = { keyId: 'key', parentId: null, secretHash, requestId: 'request-of-the-test', ip: '127.0.0.1' };
  expect(relay.commands).toEqual([{ server: 'game:mc', command, ...sender }]);
  expect(client.messages).toEqual([['auth success']]);
});

test.for<[string, unknown[]]>([
  ['no arguments', []],
  ['an empty text', ['']],
  ['1,025 characters', ['x'.repeat(1025)]],
  ['two lines', ['say hi\nstop']],
  ['a number', [1]],
  ['three arguments', ['say', 'hi', 'there']],
  ['a number as its reference', ['list', 7]],
  ['a list', [['stop']]],
])('a command with %s is refused and not sent', async ([, args]) => {
  const { relay, client } = await openTestStream({ mode: 'read_write' });
  client.send('send command', ...args);
  const isReferenced = typeof args[1] === 'string';
  const answer = isReferenced ? ['command refused', args[1], 'invalid'] : ['daemon error', noCommand];
  expect(await client.next()).toEqual(answer);
  expect(relay.commands).toEqual([]);
});

/** Sends two commands; the provider answers the first when `resolve` is called. */
async function sendTwoCommands() {
  const { relay, client } = await openTestStream({ mode: 'read_write' });
  const { promise, resolve } = Promise.withResolvers<void>();
  relay.behaviour.command = () => promise;
  client.send('send command', 'first');
  client.send('send command', 'second');
  return { relay, client, resolve };
}

test('a slow provider keeps the order of commands, and blocks no other messages', async () => {
  const { relay, client, resolve } = await sendTwoCommands();
  expect(await client.auth(await relay.token({ mode: 'read_write' }))).toEqual(['auth success']);
  expect(relay.commands).toMatchObject([{ command: 'first' }]);
  resolve();
  await client.roundTrip();
  expect(relay.commands).toMatchObject([{ command: 'first' }, { command: 'second' }]);
});

test('the end of a stream discards its waiting commands', async () => {
  const { relay, client, resolve } = await sendTwoCommands();
  await client.roundTrip();
  client.socket.close();
  await client.ended;
  resolve();
  await relay.stop();
  expect(relay.commands).toMatchObject([{ command: 'first' }]);
});

test.for<[string, string | Buffer, [string, string]]>([
  ['a power action', '{"event":"set state","args":["kill"]}', ['permission denied', 'set state']],
  ['an unknown event', '{"event":"whatever"}', ['permission denied', 'whatever']],
  ['a server event', '{"event":"console output","args":["x"]}', ['permission denied', 'console output']],
  ['a long event', `{"event":"${'e'.repeat(5000)}"}`, ['permission denied', 'e'.repeat(64)]],
  ['an inherited name', '{"event":"__proto__","args":[]}', ['permission denied', '__proto__']],
  ['text that is not JSON', 'stop', ['daemon error', malformed]],
  ['JSON without an object', '"send command"', ['daemon error', malformed]],
  ['null', 'null', ['daemon error', malformed]],
  ['an event of the wrong type', '{"event":7,"args":[]}', ['daemon error', malformed]],
  ['arguments of the wrong type', '{"event":"send command","args":"stop"}', ['daemon error', malformed]],
  ['deep nesting', '['.repeat(16_000), ['daemon error', malformed]],
  ['a binary frame', Buffer.from('{"event":"send command","args":["stop"]}'), ['daemon error', malformed]],
])('%s is answered and never forwarded', async ([, frame, answer]) => {
  const { relay, client } = await openTestStream({ mode: 'read_write' });
  client.socket.send(frame);
  expect(await client.next()).toEqual(answer);
  expect(relay.commands).toEqual([]);
  client.send('send command', 'still open');
  await client.roundTrip();
  expect(relay.commands).toMatchObject([{ command: 'still open' }]);
});

test('after a burst of 20 messages, messages beyond 5 a second are dropped with one error', async () => {
  const { clock, ...relay } = await createTestRelay();
  const client = await relay.connect();
  const denied = (): number => client.messages.filter(([event]) => event === 'permission denied').length;
  for (let sent = 0; sent < 60; sent += 1) client.send('x');
  // Poll instead of a ping: ws may answer a ping before the messages are handled.
  await expect.poll(denied).toBe(20);
  await client.roundTrip();
  expect(denied()).toBe(20);
  expect(client.messages.filter(([event]) => event === 'daemon error')).toEqual([
    ['daemon error', 'Too many messages: some were dropped'],
  ]);
  await clock.advance(2);
  for (let sent = 0; sent < 60; sent += 1) client.send('y');
  await expect.poll(denied).toBe(30);
  await client.roundTrip();
  expect(denied()).toBe(30);
});

test('a slow store makes at most 32 messages wait', async () => {
  const { clock, ...relay } = await createTestRelay();
  relay.behaviour.access = () => new Promise(() => undefined);
  const client = await relay.connect();
  client.send('auth', await relay.token());
  for (let sent = 0; sent < 18; sent += 1) client.send('x');
  await client.roundTrip();
  await clock.advance(4);
  for (let sent = 0; sent < 19; sent += 1) client.send('x');
  await client.roundTrip();
  expect(client.messages).toEqual(
    Array.from({ length: 6 }, () => ['daemon error', 'Too many messages are waiting: one was dropped']),
  );
});

test.for(['ping', 'pong'] as const)('a client that keeps sending %ss is closed', async (kind) => {
  const { client } = await openTestStream();
  for (let sent = 0; sent < 2000; sent += 1) client.socket[kind]();
  expect(await client.ended).toEqual({ code: 1008, reason: 'too many messages' });
});

test('a client that sends but never reads is disconnected before its replies fill the memory', async () => {
  const { relay, clock, client } = await openTestStream({}, { ttlSeconds: 1_000_000 });
  client.socket.pause();
  const gone = once(client.socket, 'close');
  // As long as its reply: a longer message would only keep both sides busy.
  const event = '\u0001'.repeat(64);
  const { _socket: connection } = client.socket as unknown as { _socket: Socket };
  const isConnected = (): boolean => relay.relay.stats().connections > 0;
  while (isConnected()) {
    await clock.advance(4);
    for (let sent = 0; sent < 20; sent += 1) client.send(event);
    // Advance the clock of the rate limit only as fast as the server reads.
    while (isConnected() && relay.bytesRead() < connection.bytesWritten) await nextTurn();
  }
  expect(relay.log()).toMatchObject([{ msg: 'console stream closed', code: 1006 }]);
  client.socket.resume();
  await gone;
});
