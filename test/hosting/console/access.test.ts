import { expect, test } from 'vitest';
import { createTestRelay, denied, openTestStream, newSecretHash } from './harness.ts';

test('only the streams of a revoked key are closed, within 5 s', async () => {
  const { clock, ...relay } = await createTestRelay();
  const revoked = [await relay.open({ keyId: 'bad' }), await relay.open({ keyId: 'bad', server: 'other' })];
  const good = await relay.open({ keyId: 'good' });
  relay.behaviour.access = (keyId) => (keyId === 'bad' ? denied : 'ok');
  await clock.advance(5);
  for (const { ended } of revoked) {
    expect(await ended).toEqual({ code: 4003, reason: denied.message });
  }
  relay.sources[0]!.line('for the good');
  expect(await good.next()).toEqual(['console output', 'for the good']);
  expect(relay.relay.stats().viewers).toBe(1);
});

test('a new secret closes the streams of the old secret, unless they were renewed', async () => {
  const { clock, relay, client: old } = await openTestStream();
  const renewed = await relay.open();
  const current = await relay.open({ secretHash: newSecretHash });
  expect(await renewed.auth(await relay.token({ secretHash: newSecretHash }))).toEqual(['auth success']);
  relay.behaviour.access = (_keyId, secret) => (secret === newSecretHash ? 'ok' : denied);
  await clock.advance(2);
  expect(await old.ended).toEqual({ code: 4003, reason: denied.message });
  relay.sources[0]!.line('for the new secret');
  for (const client of [renewed, current])
    expect(await client.next()).toEqual(['console output', 'for the new secret']);
});

test('a stream that is renewed with a new secret during a check of the old secret stays open', async () => {
  const { relay, clock, client } = await openTestStream();
  const answer = Promise.withResolvers<typeof denied>();
  relay.behaviour.access = (_keyId, secret) => (secret === newSecretHash ? 'ok' : answer.promise);
  await clock.advance(2);
  expect(await client.auth(await relay.token({ secretHash: newSecretHash }))).toEqual(['auth success']);
  answer.resolve(denied);
  await client.roundTrip();
  expect(client.socket.readyState).toBe(client.socket.OPEN);
});

test('access is checked once in 2 s for each key and server, however many streams are open', async () => {
  const { clock, ...relay } = await createTestRelay();
  await Promise.all(Array.from({ length: 20 }, () => relay.open()));
  const writer = await relay.open({ mode: 'read_write' });
  await relay.open({ keyId: 'other' });
  relay.accessChecks.length = 0;
  for (let seconds = 0; seconds < 10; seconds += 2) {
    await clock.advance(2);
    await writer.roundTrip();
  }
  expect(relay.accessChecks.filter((check) => check === 'key game:mc read_write')).toHaveLength(5);
  expect(relay.accessChecks.filter((check) => check === 'other game:mc read')).toHaveLength(5);
  expect(relay.accessChecks).toHaveLength(10);
});

test('a key without write scope keeps its stream, and sends commands again when the scope returns', async () => {
  const { relay, clock, client } = await openTestStream({ mode: 'read_write' });
  relay.behaviour.access = () => 'read_only';
  await clock.advance(2);
  await client.roundTrip();
  client.send('send command', 'stop');
  expect(await client.next()).toEqual(['permission denied', 'send command']);
  relay.sources[0]!.line('still here');
  expect(await client.next()).toEqual(['console output', 'still here']);
  relay.behaviour.access = () => 'ok';
  await clock.advance(2);
  await client.roundTrip();
  client.send('send command', 'list');
  await client.roundTrip();
  expect(relay.commands).toMatchObject([{ command: 'list' }]);
});

test('a command of a revoked key ends its stream before the next periodic check', async () => {
  const { relay, client } = await openTestStream({ mode: 'read_write' });
  relay.behaviour.access = () => denied;
  client.send('send command', 'stop');
  expect(await client.ended).toMatchObject({ code: 4003 });
  expect(relay.commands).toEqual([]);
});

test.for<[string, () => Promise<never>, number]>([
  ['fails', () => Promise.reject(new Error('database is locked')), 15],
  ['does not answer', () => new Promise<never>(() => undefined), 1],
])('a store that %s leaves streams open for at most 30 s', async ([, access, checks]) => {
  const { relay, clock, client } = await openTestStream();
  relay.behaviour.access = access;
  for (let seconds = 0; seconds < 28; seconds += 2) await clock.advance(2);
  relay.sources[0]!.line('still here');
  expect(await client.next()).toEqual(['console output', 'still here']);
  await clock.advance(4);
  expect(await client.ended).toEqual({ code: 1013, reason: 'access could not be checked' });
  // The first check is for the token. A pending check delays the next periodic check.
  expect(relay.accessChecks).toHaveLength(checks + 1);
});

test('a store outage shorter than 30 s has no effect on streams', async () => {
  const { relay, clock, client } = await openTestStream();
  const advance = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 2) {
      await clock.advance(2);
      await client.roundTrip();
    }
  };
  for (let outage = 0; outage < 3; outage += 1) {
    relay.behaviour.access = () => Promise.reject(new Error('gone'));
    await advance(24);
    relay.behaviour.access = () => 'ok';
    await advance(2);
  }
  expect(client.socket.readyState).toBe(client.socket.OPEN);
});

test('a store outage is logged once in 2 s, not once a key', async () => {
  const { clock, ...relay } = await createTestRelay();
  await Promise.all(Array.from({ length: 10 }, (_, number) => relay.open({ keyId: `key${number}` })));
  relay.behaviour.access = () => Promise.reject(new Error('database is locked'));
  await clock.advance(6);
  expect(relay.accessChecks).toHaveLength(40);
  expect(relay.failures).toHaveLength(3);
});

test('a store outage opens no stream, and counts no token as bad', async () => {
  const relay = await createTestRelay();
  const client = await relay.connect();
  const token = await relay.token();
  relay.behaviour.access = () => Promise.reject(new Error('connect ECONNREFUSED'));
  for (let tries = 0; tries < 6; tries += 1) {
    expect(await client.auth(token)).toEqual(['daemon error', 'Something went wrong on our side']);
  }
  relay.behaviour.access = () => 'ok';
  expect(await client.auth(token)).toEqual(['auth success']);
});
