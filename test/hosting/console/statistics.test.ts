import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import { ProviderError } from '../../../server/upstream/client.ts';
import type { TestClient } from '../../helpers/console-client.ts';
import { createTestRelay, openTestStream } from './harness.ts';

/** Creates a relay whose statistics have the number of reads so far as `cpu`. */
async function createCounted() {
  const { clock, ...relay } = await createTestRelay();
  const counted = { relay, clock, reads: 0 };
  relay.behaviour.stats = () => ({ ...unknownStats, cpu: (counted.reads += 1) });
  return counted;
}

const toStats = ([, text]: readonly string[]) => JSON.parse(text!) as ConsoleStats;

async function askFor(client: TestClient): Promise<ConsoleStats> {
  client.send('send stats');
  return toStats((await client.until('stats')).at(-1)!);
}

test('statistics are sent at most once in 2 s, and early requests wait', async () => {
  const counted = await createCounted();
  const client = await counted.relay.open();
  for (let sent = 0; sent < 5; sent += 1) client.send('send stats', null);
  expect(toStats(await client.next())).toEqual({ ...unknownStats, cpu: 1 });
  client.send('send stats');
  client.send('send stats');
  await counted.clock.advance(1.9);
  await client.roundTrip();
  expect(client.messages).toHaveLength(2);
  await counted.clock.advance(0.1);
  expect(toStats(await client.next())).toMatchObject({ cpu: 2 });
  await counted.clock.advance(10);
  await client.roundTrip();
  expect(client.messages).toHaveLength(3);
  expect(await askFor(client)).toMatchObject({ cpu: 3 });
});

test('viewers share a read of statistics for 2 s', async () => {
  const counted = await createCounted();
  const viewers = await Promise.all(Array.from({ length: 5 }, () => counted.relay.open()));
  const other = await counted.relay.open({ server: 'other' });
  expect(await Promise.all(viewers.map(askFor))).toEqual(viewers.map(() => ({ ...unknownStats, cpu: 1 })));
  expect(await askFor(other)).toMatchObject({ cpu: 2 });
  vi.mocked(Date.now).mockReturnValue(counted.clock.now() - 3_600_000);
  await counted.clock.advance(2);
  expect(await Promise.all(viewers.map(askFor))).toEqual(viewers.map(() => ({ ...unknownStats, cpu: 3 })));
});

test('a request for statistics waits for a console that is being opened', async () => {
  const counted = await createCounted();
  const { resolve } = counted.relay.holdOpening();
  const client = await counted.relay.open();
  client.send('send stats');
  await client.roundTrip();
  expect(client.messages).toHaveLength(1);
  resolve();
  expect(toStats(await client.next())).toMatchObject({ cpu: 1 });
});

test('the statistics of a console that cannot be opened are unknown', async () => {
  const counted = await createCounted();
  const { reject } = counted.relay.holdOpening();
  const client = await counted.relay.open();
  client.send('send stats');
  await client.roundTrip();
  reject(new ProviderError('The panel is not available', { outcome: 'refused' }));
  expect(toStats((await client.until('stats')).at(-1)!)).toEqual(unknownStats);
  expect(counted.reads).toBe(0);
});

test('slow statistics delay neither renewals nor commands', async () => {
  const { relay, client } = await openTestStream({ mode: 'read_write' });
  relay.behaviour.stats = () => new Promise(() => undefined);
  client.send('send stats');
  client.send('send command', 'list', 'ref');
  expect(await client.next()).toEqual(['command accepted', 'ref']);
  expect(await client.auth(await relay.token({ mode: 'read_write' }))).toEqual(['auth success']);
});

test('statistics are not sent after the end of a stream or its token', async () => {
  const counted = await createCounted();
  const { promise, resolve } = Promise.withResolvers<ConsoleStats>();
  counted.relay.behaviour.stats = () => promise;
  const gone = await counted.relay.open();
  const client = await counted.relay.open();
  gone.send('send stats');
  client.send('send stats');
  await gone.roundTrip();
  await client.roundTrip();
  gone.socket.close();
  await gone.ended;
  await counted.clock.advance(600);
  await client.until('token expired');
  resolve(unknownStats);
  await sleep(10);
  await client.roundTrip();
  expect(client.messages.at(-1)).toEqual(['token expired']);
  expect(await client.auth(await counted.relay.token())).toEqual(['auth success']);
  counted.relay.behaviour.stats = () => ({ ...unknownStats, cpu: 7 });
  expect(await askFor(client)).toMatchObject({ cpu: 7 });
});
