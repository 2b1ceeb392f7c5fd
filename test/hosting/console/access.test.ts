import { expect, test } from 'vitest';
import { createTestClock } from './clock.ts';
import { createTestRelay } from './harness.ts';

test("a revoked key's streams are closed within 5 s, and those of other keys are not", async () => {
  const relay = await createTestRelay();
  const revoked = [await relay.open({ keyId: 'bad' }), await relay.open({ keyId: 'bad', server: 'other' })];
  const good = await relay.open({ keyId: 'good' });
  const started = performance.now();
  relay.behaviour.access = (keyId) => (keyId === 'bad' ? 'denied' : 'ok');
  for (const { ended } of revoked) {
    // oxlint-disable-next-line no-await-in-loop
    expect(await ended).toEqual({ code: 4003, reason: 'access was revoked' });
  }
  expect(performance.now() - started).toBeLessThan(5000);
  relay.sources[0]!.line('for the good');
  expect(await good.next()).toEqual(['console output', 'for the good']);
  expect(relay.relay.stats().viewers).toBe(1);
});

test('access is asked once in 2 s for a key and server, however many streams it has', async () => {
  const clock = createTestClock();
  const relay = await createTestRelay({ clock });
  await Promise.all(Array.from({ length: 20 }, () => relay.open()));
  const writer = await relay.open({ mode: 'read_write' });
  await relay.open({ keyId: 'other' });
  relay.asked.length = 0;
  for (let seconds = 0; seconds < 10; seconds += 2) {
    await clock.turn(2);
    // oxlint-disable-next-line no-await-in-loop
    await writer.roundTrip();
  }
  expect(relay.asked.filter((question) => question === 'key game:mc read_write')).toHaveLength(5);
  expect(relay.asked.filter((question) => question === 'other game:mc read')).toHaveLength(5);
  expect(relay.asked).toHaveLength(10);
});

test('a key that may only read from now on keeps its stream, and gets its commands back with its scope', async () => {
  const clock = createTestClock();
  const relay = await createTestRelay({ clock });
  const client = await relay.open({ mode: 'read_write' });
  relay.behaviour.access = () => 'read_only';
  await clock.turn(2);
  await client.roundTrip();
  client.send('send command', 'stop');
  expect(await client.next()).toEqual(['permission denied', 'send command']);
  relay.sources[0]!.line('still here');
  expect(await client.next()).toEqual(['console output', 'still here']);
  relay.behaviour.access = () => 'ok';
  await clock.turn(2);
  await client.roundTrip();
  client.send('send command', 'list');
  await client.roundTrip();
  expect(relay.commands).toMatchObject([{ command: 'list' }]);
});

test('a command is checked itself: between two looks nothing slips through', async () => {
  const clock = createTestClock();
  const relay = await createTestRelay({ clock });
  const reader = await relay.open({ mode: 'read_write' });
  relay.behaviour.access = () => 'read_only';
  reader.send('send command', 'stop');
  expect(await reader.next()).toEqual(['permission denied', 'send command']);
  relay.behaviour.access = () => 'denied';
  reader.send('send command', 'stop');
  expect(await reader.ended).toMatchObject({ code: 4003 });
  expect(relay.commands).toEqual([]);
});

test('a token that was issued before its key was revoked opens nothing', async () => {
  const relay = await createTestRelay();
  const token = await relay.token();
  relay.behaviour.access = () => 'denied';
  const client = await relay.connect();
  client.send('auth', token);
  expect(await client.ended).toEqual({ code: 4003, reason: 'access was revoked' });
  expect(client.messages).toEqual([]);
  expect(relay.sources).toEqual([]);
});

test('a token of a key that may only read by now opens a stream that only reads', async () => {
  const relay = await createTestRelay();
  relay.behaviour.access = () => 'read_only';
  const client = await relay.open({ mode: 'read_write' });
  client.send('send command', 'stop');
  expect(await client.next()).toEqual(['permission denied', 'send command']);
  expect(relay.commands).toEqual([]);
});

test.for<[string, () => Promise<never>, number]>([
  ['fails', () => Promise.reject(new Error('database is locked')), 15],
  ['does not answer', () => new Promise<never>(() => undefined), 1],
])('a store that %s leaves streams as they are for 30 s, and no longer', async ([, access, questions]) => {
  const clock = createTestClock();
  const relay = await createTestRelay({ clock });
  const client = await relay.open();
  relay.behaviour.access = access;
  for (let seconds = 0; seconds < 28; seconds += 2) await clock.turn(2);
  relay.sources[0]!.line('still here');
  expect(await client.next()).toEqual(['console output', 'still here']);
  await clock.turn(4);
  expect(await client.ended).toEqual({ code: 1013, reason: 'access could not be checked' });
  // One when the stream was opened, and after that one in 2 s, but for a question that is not answered yet.
  expect(relay.asked).toHaveLength(questions + 1);
});

test('a store that comes back in time is as if nothing had been', async () => {
  const clock = createTestClock();
  const relay = await createTestRelay({ clock });
  const client = await relay.open();
  const turn = async (seconds: number) => {
    for (let turned = 0; turned < seconds; turned += 2) {
      await clock.turn(2);
      // oxlint-disable-next-line no-await-in-loop
      await client.roundTrip();
    }
  };
  for (let outage = 0; outage < 3; outage += 1) {
    relay.behaviour.access = () => Promise.reject(new Error('gone'));
    // oxlint-disable-next-line no-await-in-loop
    await turn(24);
    relay.behaviour.access = () => 'ok';
    // oxlint-disable-next-line no-await-in-loop
    await turn(2);
  }
  expect(client.socket.readyState).toBe(client.socket.OPEN);
});

test('a store that is down is reported once in 2 s, and not for every key', async () => {
  const clock = createTestClock();
  const relay = await createTestRelay({ clock });
  await Promise.all(Array.from({ length: 10 }, (_, number) => relay.open({ keyId: `key${number}` })));
  relay.behaviour.access = () => Promise.reject(new Error('database is locked'));
  await clock.turn(6);
  expect(relay.asked).toHaveLength(40);
  expect(relay.failures).toHaveLength(3);
});

test('while the store is down no stream is opened and no command sent, and a token is not blamed for it', async () => {
  const relay = await createTestRelay();
  const open = await relay.open({ mode: 'read_write' });
  const client = await relay.connect();
  const token = await relay.token();
  relay.behaviour.access = () => Promise.reject(new Error('connect ECONNREFUSED'));
  for (let tries = 0; tries < 6; tries += 1) {
    // oxlint-disable-next-line no-await-in-loop
    expect(await client.auth(token)).toEqual(['daemon error', 'Something went wrong on our side']);
  }
  open.send('send command', 'stop');
  expect(await open.next()).toEqual(['daemon error', 'Something went wrong on our side']);
  expect(relay.commands).toEqual([]);
  relay.behaviour.access = () => 'ok';
  expect(await client.auth(token)).toEqual(['auth success']);
});
