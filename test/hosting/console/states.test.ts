import { expect, test } from 'vitest';
import { linesOf } from '../../helpers/console-client.ts';
import { createTestRelay, denied, openTestStream } from './harness.ts';

type At = 'unauthenticated' | 'live' | 'expiring' | 'expired';

/** Opens a stream, advances it to a state, and reads its messages so far. */
async function openAt(at: At) {
  const { clock, ...relay } = await createTestRelay();
  if (at === 'unauthenticated') return { relay, clock, client: await relay.connect() };
  const client = await relay.open({ mode: 'read_write' });
  await clock.advance({ live: 0, expiring: 540, expired: 600 }[at]);
  if (at !== 'live') await client.until(`token ${at}`);
  return { relay, clock, client };
}

const all: At[] = ['unauthenticated', 'live', 'expiring', 'expired'];
const authenticated = all.slice(1);

test.for(all)('a stream that is %s answers unknown messages with an error', async (at) => {
  const { client } = await openAt(at);
  client.socket.send('nonsense');
  expect(await client.next()).toEqual(['daemon error', expect.stringMatching(/^A message must be/)]);
  client.send('set state', 'kill');
  expect(await client.next()).toEqual(['permission denied', 'set state']);
});

test.for<[At, boolean]>([
  ['unauthenticated', false],
  ['live', true],
  ['expiring', true],
  ['expired', false],
])('a stream that is %s gets lines, history and statistics, and may send commands: %s', async ([at, allowed]) => {
  const { relay, client, clock } = await openAt(at);
  const viewer = await relay.open({ keyId: 'viewer' });
  relay.sources[0]!.line('first');
  await viewer.until('console output');
  await clock.advance(0);
  await client.roundTrip();
  expect(linesOf(client.messages)).toEqual(allowed ? ['first'] : []);
  client.send('send logs');
  client.send('send stats');
  client.send('send command', 'list');
  client.send('send command', 'stop', 'ref');
  await client.until(allowed ? 'command accepted' : 'command refused');
  await client.roundTrip();
  expect(linesOf(client.messages)).toEqual(allowed ? ['first', 'first'] : []);
  expect(relay.commands).toHaveLength(allowed ? 2 : 0);
  const answers = client.messages.filter(([event]) => /^(?:stats|command)/.test(event)).map(([event]) => event);
  expect(answers.toSorted()).toEqual(allowed ? ['command accepted', 'stats'] : ['command refused']);
  const refused = client.messages.filter(([event]) => event === 'permission denied').map(([, event]) => event);
  expect(refused).toEqual(allowed ? [] : ['send logs', 'send stats', 'send command', 'send command']);
});

test.for(all)('a stream that is %s is closed after five bad tokens', async (at) => {
  const { client } = await openAt(at);
  for (let tries = 0; tries < 5; tries += 1) client.send('auth', 'nonsense');
  expect(await client.until('jwt error')).toEqual([['jwt error', 'Malformed token']]);
  expect(await client.ended).toEqual({ code: 4000, reason: 'too many tokens were refused' });
  expect(client.messages.filter(([event]) => event === 'jwt error')).toHaveLength(5);
});

test.for(authenticated)('a stream that is %s rejects a token of another key or server', async (at) => {
  const { relay, client } = await openAt(at);
  expect(await client.auth(await relay.token({ keyId: 'other' }))).toEqual([
    'jwt error',
    'The token is for another API key',
  ]);
  expect(await client.auth(await relay.token({ server: 'other' }))).toEqual([
    'jwt error',
    'The token is for another server',
  ]);
});

test.for(all)('a stream that is %s gets output after a valid token', async (at) => {
  const { relay, client } = await openAt(at);
  expect(await client.auth(await relay.token())).toEqual(['auth success']);
  relay.sources[0]!.line('here');
  expect(await client.next()).toEqual(['console output', 'here']);
});

test.for(all)('a stream that is %s ends if the key of its new token is revoked', async (at) => {
  const { relay, client } = await openAt(at);
  relay.behaviour.access = () => denied;
  const count = client.messages.length;
  client.send('auth', await relay.token());
  expect(await client.ended).toEqual({ code: 4003, reason: denied.message });
  expect(client.messages).toHaveLength(count);
  expect(relay.sources).toHaveLength(at === 'unauthenticated' ? 0 : 1);
});

test.for(all)('a stream that is %s is closed if its client floods it', async (at) => {
  const { client } = await openAt(at);
  for (let sent = 0; sent < 1100; sent += 1) client.send('x');
  expect(await client.ended).toEqual({ code: 1008, reason: 'too many messages' });
});

test.for(all)('a stream that is %s leaves nothing behind when its client disconnects', async (at) => {
  const { relay, clock, client } = await openAt(at);
  client.socket.terminate();
  await expect.poll(() => relay.relay.stats()).toMatchObject({ connections: 0, viewers: 0 });
  await clock.advance(30);
  expect(clock.pending()).toBe(0);
});

test.for(authenticated)('a stream that is %s ends when its key is revoked', async (at) => {
  const { relay, clock, client } = await openAt(at);
  relay.behaviour.access = () => denied;
  await clock.advance(2);
  expect(await client.ended).toEqual({ code: 4003, reason: denied.message });
});

test.for<[At, string, string[][]]>([
  ['live', 'is sent', []],
  ['expiring', 'is sent', []],
  ['expired', 'is refused', [['permission denied', 'send command']]],
])('a queued command of a stream that is %s %s', async ([at, , answers]) => {
  const { relay, clock, client } = await openAt('live');
  const { promise, resolve } = Promise.withResolvers<void>();
  await clock.advance(539);
  relay.behaviour.command = () => promise;
  client.send('send command', 'first');
  client.send('send command', 'second');
  await client.roundTrip();
  await clock.advance({ unauthenticated: 0, live: 0, expiring: 1, expired: 61 }[at]);
  await client.roundTrip();
  const before = client.messages.length;
  resolve();
  await expect.poll(() => relay.commands.length + client.messages.length - before).toBe(2);
  expect(relay.commands).toHaveLength(2 - answers.length);
  expect(client.messages.slice(before)).toEqual(answers);
});

test.for<[At, number, object]>([
  ['unauthenticated', 10, { code: 4000, reason: 'no token came in time' }],
  ['expired', 30, { code: 4001, reason: 'the token expired' }],
])('a stream that is %s is closed after %i s', async ([at, seconds, close]) => {
  const { clock, client } = await openAt(at);
  const count = client.messages.length;
  await clock.advance(seconds - 0.1);
  await client.roundTrip();
  expect(client.messages).toHaveLength(count);
  await clock.advance(0.1);
  expect(await client.ended).toEqual(close);
});

test.for([
  [600, 540],
  [300, 240],
  [240, 180],
  [100, 75],
  [4, 3],
])('a token of %i s is reported as expiring after %i s', async ([ttl, expiring]) => {
  const { clock, client } = await openTestStream({}, { ttlSeconds: ttl! });
  for (const [event, seconds] of [
    ['token expiring', expiring!],
    ['token expired', ttl! - expiring!],
  ] as const) {
    const count = client.messages.length;
    await clock.advance(seconds - 0.1);
    await client.roundTrip();
    expect(client.messages).toHaveLength(count);
    await clock.advance(0.1);
    expect(await client.next()).toEqual([event]);
  }
});

test('a token keeps its expiry, even if it is sent late', async () => {
  const { clock, ...relay } = await createTestRelay({ ttlSeconds: 100 });
  const token = await relay.token();
  await clock.advance(90);
  const client = await relay.connect();
  await client.auth(token);
  await clock.advance(0);
  expect(await client.next()).toEqual(['token expiring']);
  await clock.advance(10);
  expect(await client.next()).toEqual(['token expired']);
});

test('a stream that is renewed after its expiry gets the lines in between', async () => {
  const { clock, relay, client } = await openAt('expired');
  const viewer = await relay.open({ keyId: 'viewer' });
  relay.sources[0]!.line('missed');
  await viewer.until('console output');
  expect(await client.auth(await relay.token())).toEqual(['auth success']);
  expect(await client.next()).toEqual(['console output', 'missed']);
  await clock.advance(60);
  await client.roundTrip();
  expect(client.socket.readyState).toBe(client.socket.OPEN);
});

test('a renewal can add or remove the write permission', async () => {
  const { relay, client } = await openTestStream();
  await client.auth(await relay.token({ mode: 'read_write' }));
  client.send('send command', 'list');
  await client.auth(await relay.token({ mode: 'read' }));
  client.send('send command', 'stop');
  expect(await client.next()).toEqual(['permission denied', 'send command']);
  expect(relay.commands).toMatchObject([{ command: 'list' }]);
});
