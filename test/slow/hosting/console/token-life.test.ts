import { expect, test } from 'vitest';
import { linesOf } from '../../../helpers/console-client.ts';
import type { TestClient } from '../../../helpers/console-client.ts';
import { createClockedRelay, openTestStream } from '../../../hosting/console/harness.ts';
import type { TestRelay } from '../../../hosting/console/harness.ts';

/** Prints a line on the console and waits until a viewer receives it; other viewers were sent it before. */
async function print(relay: TestRelay, viewer: TestClient, line: string): Promise<void> {
  relay.sources[0]!.line(line);
  while ((await viewer.until('console output')).at(-1)![1] !== line);
}

/** The seconds until an event, to the second. */
async function secondsUntil(event: string, ttlSeconds: number): Promise<number> {
  const { clock, client } = await openTestStream({}, { ttlSeconds });
  for (let seconds = 0; ; seconds += 1) {
    if (client.messages.at(-1)?.[0] === event) return seconds;
    await clock.advance(1);
    await client.roundTrip();
  }
}

test.for([
  [600, 540],
  [300, 240],
  [240, 180],
  [100, 75],
  [4, 3],
])('a token of %i s is reported as expiring after %i s', async ([ttl, expected]) => {
  expect(await secondsUntil('token expiring', ttl!)).toBe(expected);
  expect(await secondsUntil('token expired', ttl!)).toBe(ttl);
});

test('a token that is sent late keeps its expiry', async () => {
  const { clock, relay } = await createClockedRelay({ ttlSeconds: 100 });
  const token = await relay.token();
  await clock.advance(90);
  const client = await relay.connect();
  await client.auth(token);
  await clock.advance(0);
  expect(await client.next()).toEqual(['token expiring']);
  await clock.advance(10);
  expect(await client.next()).toEqual(['token expired']);
});

test('an expired stream gets no output and no permissions, and is closed 30 s later', async () => {
  const { clock, relay, client } = await openTestStream({ mode: 'read_write' });
  await clock.advance(300);
  const viewer = await relay.open({ keyId: 'viewer' });
  await print(relay, viewer, 'in time');
  await clock.advance(300);
  await print(relay, viewer, 'too late');
  client.send('send logs');
  client.send('send command', 'stop');
  expect(await client.until('permission denied')).toEqual([
    ['console output', 'in time'],
    ['token expiring'],
    ['token expired'],
    ['permission denied', 'send logs'],
  ]);
  expect(await client.next()).toEqual(['permission denied', 'send command']);
  await clock.advance(29);
  await client.roundTrip();
  expect(client.socket.readyState).toBe(client.socket.OPEN);
  await clock.advance(1);
  expect(await client.ended).toEqual({ code: 4001, reason: 'the token expired' });
  expect(linesOf(client.messages)).toEqual(['in time']);
  expect(relay.commands).toEqual([]);
});

test('a stream that is renewed after its expiry gets the missed lines', async () => {
  const { clock, relay, client } = await openTestStream();
  await clock.advance(590);
  const viewer = await relay.open({ keyId: 'viewer' });
  await clock.advance(10);
  await print(relay, viewer, 'missed');
  await client.until('token expired');
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
