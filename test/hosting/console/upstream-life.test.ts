import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { TestClient } from '../../helpers/console-client.ts';
import { createClockedRelay, openTestStream } from './harness.ts';
import type { FakeSource, TestRelay } from './harness.ts';

async function leave(relay: TestRelay, client: TestClient): Promise<void> {
  const { viewers } = relay.relay.stats();
  client.socket.close();
  await expect.poll(() => relay.relay.stats().viewers).toBe(viewers - 1);
}

/** A relay whose console opening is pending until `resolve` or `reject`. */
async function createOpening() {
  const { relay, clock } = await createClockedRelay();
  const opening = Promise.withResolvers<void>();
  relay.behaviour.open = () => opening.promise;
  return { clock, relay, ...opening };
}

test('one of two viewers who wait for a console may leave', async () => {
  const { clock, relay, resolve } = await createOpening();
  const first = await relay.open();
  const second = await relay.open();
  await leave(relay, first);
  await clock.advance(31);
  relay.sources[0]!.status('running');
  resolve();
  expect(await second.next()).toEqual(['status', 'running']);
  relay.sources[0]!.line('here');
  expect(await second.next()).toEqual(['console output', 'here']);
});

test('a viewer who comes back within 30 s keeps the console open', async () => {
  const { relay, clock } = await createClockedRelay();
  await leave(relay, await relay.open());
  await clock.advance(29);
  const viewer = await relay.open();
  await clock.advance(60);
  relay.sources[0]!.line('here');
  expect(await viewer.next()).toEqual(['console output', 'here']);
  expect(relay.sources).toMatchObject([{ closed: false }]);
});

test('a console that opens during shutdown is closed at once', async () => {
  const { clock, relay, resolve } = await createOpening();
  await relay.open();
  await relay.stop();
  resolve();
  await expect.poll(() => relay.sources[0]!.closed).toBe(true);
  expect(relay.relay.stats().upstreams).toBe(0);
  expect(clock.pending()).toBe(0);
});

test('a console that cannot be opened during shutdown is neither reported nor tried again', async () => {
  const { clock, relay, reject } = await createOpening();
  await relay.open();
  await relay.stop();
  reject(new Error('no'));
  await nextTurn();
  expect(relay.failures).toEqual([]);
  expect(clock.pending()).toBe(0);
});

test('viewers get the messages of an upstream that is reopening', async () => {
  const { relay, clock, client } = await openTestStream();
  relay.sources[0]!.ended('the server is suspended');
  const opening = Promise.withResolvers<void>();
  relay.behaviour.open = () => opening.promise;
  await clock.advance(60);
  const [, source] = relay.sources as [FakeSource, FakeSource];
  source.gap('a gap');
  source.error!('an error');
  source.ended('the server is gone');
  expect(await client.until('gap')).toHaveLength(2);
  expect(await client.next()).toEqual(['daemon error', 'an error']);
  expect(await client.next()).toEqual(['daemon error', 'the server is gone']);
  opening.resolve();
  await expect.poll(() => source.closed).toBe(true);
});

test.for([
  ['is tried again a minute later', 60, true],
  ['could not be opened, and is tried again a second later', 1, false],
] as const)(
  'a console that %s is not retried without viewers, and is discarded after 30 s',
  async ([, wait, opens]) => {
    const { clock, relay, resolve, reject } = await createOpening();
    const client = await relay.open();
    relay.sources[0]!.line('old');
    if (opens) {
      resolve();
      await clock.advance(0);
      relay.sources[0]!.ended('the server is suspended');
    } else reject(new Error('no'));
    await client.until('daemon error');
    await leave(relay, client);
    await clock.advance(29.9);
    expect(relay.relay.history('game:mc')).toEqual(['old']);
    await clock.advance(0.2);
    expect(relay.relay.history('game:mc')).toEqual([]);
    expect(clock.pending()).toBe(0);
    await clock.advance(wait);
    expect(relay.sources).toHaveLength(1);
  },
);

test.for([
  ['open', 0, 0],
  ['to be tried again', 1, 0],
  ['without viewers', 1, 1],
])('a console that is %s leaves no timer after shutdown', async ([, failures, seconds]) => {
  const { clock, relay, resolve, reject } = await createOpening();
  const client = await relay.open();
  if (failures) reject(new Error('no'));
  else resolve();
  await clock.advance(0);
  await leave(relay, client);
  await clock.advance(Number(seconds));
  expect(clock.pending()).toBeGreaterThan(0);
  await relay.stop();
  expect(clock.pending()).toBe(0);
  expect(relay.sources[0]!.closed).toBe(!failures);
});
