import { expect, test } from 'vitest';
import { linesOf } from '../../helpers/console-client.ts';
import type { TestClient } from '../../helpers/console-client.ts';
import { createTestClock } from './clock.ts';
import { createTestRelay } from './harness.ts';
import type { TestRelay } from './harness.ts';

/** Lets the console say something, and waits until a witness has heard it: all others were sent it before. */
async function say(relay: TestRelay, witness: TestClient, line: string): Promise<void> {
  relay.sources[0]!.line(line);
  while ((await witness.until('console output')).at(-1)![1] !== line);
}

/** The seconds after which an event came, to the second. */
async function secondsUntil(event: string, ttlSeconds: number): Promise<number> {
  const clock = createTestClock();
  const relay = await createTestRelay({ clock, ttlSeconds });
  const client = await relay.open();
  for (let seconds = 0; ; seconds += 1) {
    if (client.messages.at(-1)?.[0] === event) return seconds;
    await clock.turn(1);
    // oxlint-disable-next-line no-await-in-loop
    await client.roundTrip();
  }
}

test.for([
  [600, 540],
  [300, 240],
  [240, 180],
  [100, 75],
  [4, 3],
])('a token of %i s is said to be expiring after %i s', async ([ttl, expected]) => {
  expect(await secondsUntil('token expiring', ttl!)).toBe(expected);
  expect(await secondsUntil('token expired', ttl!)).toBe(ttl);
});

test('a token that comes late has its end where it always had', async () => {
  const clock = createTestClock();
  const relay = await createTestRelay({ clock, ttlSeconds: 100 });
  const token = await relay.token();
  await clock.turn(90);
  const client = await relay.connect();
  await client.auth(token);
  await clock.turn(0);
  expect(await client.next()).toEqual(['token expiring']);
  await clock.turn(10);
  expect(await client.next()).toEqual(['token expired']);
});

test('an expired stream gets no output, may do nothing, and is closed 30 s later', async () => {
  const clock = createTestClock();
  const relay = await createTestRelay({ clock });
  const client = await relay.open({ mode: 'read_write' });
  await clock.turn(300);
  const witness = await relay.open({ keyId: 'witness' });
  await say(relay, witness, 'in time');
  await clock.turn(300);
  await say(relay, witness, 'too late');
  client.send('send logs');
  client.send('send command', 'stop');
  expect(await client.until('permission denied')).toEqual([
    ['console output', 'in time'],
    ['token expiring'],
    ['token expired'],
    ['permission denied', 'send logs'],
  ]);
  expect(await client.next()).toEqual(['permission denied', 'send command']);
  await clock.turn(29);
  await client.roundTrip();
  expect(client.socket.readyState).toBe(client.socket.OPEN);
  await clock.turn(1);
  expect(await client.ended).toEqual({ code: 4001, reason: 'the token expired' });
  expect(linesOf(client.messages)).toEqual(['in time']);
  expect(relay.commands).toEqual([]);
});

test('a new token on the same socket renews the stream, and not a line is lost', async () => {
  const relay = await createTestRelay({ ttlSeconds: 4 });
  const client = await relay.open();
  const [source] = relay.sources;
  let said = 0;
  const speaking = setInterval(() => source!.line(`line ${(said += 1)}`), 1);
  for (let renewals = 0; renewals < 2; renewals += 1) {
    // oxlint-disable-next-line no-await-in-loop
    await client.until('token expiring');
    client.send('auth', await relay.token());
    // oxlint-disable-next-line no-await-in-loop
    await client.until('auth success');
  }
  clearInterval(speaking);
  source!.status('offline');
  await client.until('status');
  expect(said).toBeGreaterThan(500);
  expect(linesOf(client.messages)).toEqual(Array.from({ length: said }, (_, number) => `line ${number + 1}`));
  expect(client.messages.filter(([event]) => event === 'token expired')).toEqual([]);
});

test('a stream that is renewed after its end gets what it missed', async () => {
  const clock = createTestClock();
  const relay = await createTestRelay({ clock });
  const client = await relay.open();
  await clock.turn(590);
  const witness = await relay.open({ keyId: 'witness' });
  await clock.turn(10);
  await say(relay, witness, 'missed');
  await client.until('token expired');
  expect(await client.auth(await relay.token())).toEqual(['auth success']);
  expect(await client.next()).toEqual(['console output', 'missed']);
  await clock.turn(60);
  await client.roundTrip();
  expect(client.socket.readyState).toBe(client.socket.OPEN);
});

test('a token of another server, of another key or of no worth does not renew, and does not end the stream', async () => {
  const relay = await createTestRelay();
  const client = await relay.open();
  expect(await client.auth(await relay.token({ server: 'other' }))).toEqual([
    'jwt error',
    'The token is for another server',
  ]);
  expect(await client.auth(await relay.token({ keyId: 'other' }))).toEqual([
    'jwt error',
    'The token is for another API key',
  ]);
  expect(await client.auth('nonsense')).toEqual(['jwt error', 'The token is not valid']);
  relay.sources[0]!.line('still here');
  expect(await client.next()).toEqual(['console output', 'still here']);
});

test('a renewal may change what the stream may do, either way', async () => {
  const relay = await createTestRelay();
  const client = await relay.open({ mode: 'read' });
  await client.auth(await relay.token({ mode: 'read_write' }));
  client.send('send command', 'list');
  await client.auth(await relay.token({ mode: 'read' }));
  client.send('send command', 'stop');
  expect(await client.next()).toEqual(['permission denied', 'send command']);
  expect(relay.commands).toMatchObject([{ command: 'list' }]);
});
