import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ProviderError } from '../../../server/upstream/client.ts';
import { createCounter, linesOf } from '../../helpers/console-client.ts';
import { createTestRelay, openTestStream } from './harness.ts';
import type { FakeSource } from './harness.ts';

test('all viewers of a server share one upstream and get the same lines', async () => {
  const relay = await createTestRelay();
  const viewers = await Promise.all(
    Array.from({ length: 5 }, (_, number) => relay.open({ keyId: `key${number}`, mode: 'read' })),
  );
  const other = await relay.open({ server: 'other' });
  expect(relay.sources.map(({ server }) => server)).toEqual(['game:mc', 'game:other']);
  for (let number = 0; number < 100; number += 1) relay.sources[0]!.line(`line ${number}`);
  relay.sources[0]!.status('stopping');
  relay.sources[1]!.status('offline');
  for (const viewer of viewers) {
    expect(linesOf(await viewer.until('status'))).toEqual(Array.from({ length: 100 }, (_, number) => `line ${number}`));
  }
  expect(await other.next()).toEqual(['status', 'offline']);
  expect(relay.relay.stats()).toEqual({ connections: 6, viewers: 6, upstreams: 2 });
});

test('a viewer who joins later gets the status, and earlier lines on request only', async () => {
  const relay = await createTestRelay();
  const first = await relay.open();
  relay.sources[0]!.status('starting');
  relay.sources[0]!.line('early');
  relay.sources[0]!.status('running');
  relay.sources[0]!.status('running');
  await first.until('console output');
  expect(await first.next()).toEqual(['status', 'running']);
  const second = await relay.open();
  expect(await second.next()).toEqual(['status', 'running']);
  relay.sources[0]!.line('late');
  expect(await second.next()).toEqual(['console output', 'late']);
  expect(await first.next()).toEqual(['console output', 'late']);
});

test.for(['while it is being opened', 'right after'])(
  'upstream output %s is history, and each viewer gets it once',
  async (when) => {
    const relay = await createTestRelay();
    const { promise, resolve } = Promise.withResolvers<void>();
    relay.behaviour.open = async (source) => {
      const emitHistory = () => {
        source.line('old 1');
        source.line('old 2');
        source.status('running');
      };
      if (when === 'while it is being opened') emitHistory();
      await promise;
      if (when === 'right after') setImmediate(emitHistory);
    };
    const client = await relay.open();
    client.send('send logs');
    await client.roundTrip();
    expect(client.messages).toEqual([['auth success']]);
    resolve();
    await client.until('logs end');
    relay.sources[0]!.line('new');
    expect(await client.next()).toEqual(['console output', 'new']);
    expect(client.messages).toEqual([
      ['auth success'],
      ['status', 'running'],
      ['console output', 'old 1'],
      ['console output', 'old 2'],
      ['logs end'],
      ['console output', 'new'],
    ]);
  },
);

test('the backlog of the upstream is the answer to an early send logs', async () => {
  const relay = await createTestRelay();
  relay.behaviour.isLoaded = false;
  const { resolve } = relay.holdOpening();
  const early = await relay.open();
  early.send('send logs');
  await early.roundTrip();
  const [source] = relay.sources;
  source!.line('old 1');
  resolve();
  await expect.poll(() => early.messages.length).toBe(1);
  const live = await relay.open();
  source!.line('old 2');
  source!.status('running');
  expect(await live.until('status')).toEqual([
    ['console output', 'old 2'],
    ['status', 'running'],
  ]);
  await early.roundTrip();
  expect(early.messages).toEqual([['auth success']]);
  source!.loaded();
  source!.line('new');
  expect(await early.until('logs end')).toEqual([
    ['console output', 'old 1'],
    ['console output', 'old 2'],
    ['status', 'running'],
    ['logs end'],
  ]);
  expect(await early.next()).toEqual(['console output', 'new']);
  live.send('send logs');
  expect(linesOf(await live.until('logs end'))).toEqual(['new', 'old 1', 'old 2', 'new']);
});

test('send logs is answered after 5 s if the upstream has no backlog', async () => {
  const { clock, ...relay } = await createTestRelay();
  relay.behaviour.isLoaded = false;
  const client = await relay.open();
  client.send('send logs');
  await client.roundTrip();
  await clock.advance(4.9);
  await client.roundTrip();
  expect(client.messages).toEqual([['auth success']]);
  await clock.advance(0.1);
  expect(await client.next()).toEqual(['logs end']);
});

test.for<[string, (source: FakeSource) => void]>([
  ['reports a gap', (source) => source.gap('the connection to the console was lost')],
  ['is lost', (source) => source.ended('the connection to the console was lost', 0)],
  ['ends', (source) => source.ended('the server is suspended')],
])('send logs is answered immediately if the upstream %s', async ([, fail]) => {
  const relay = await createTestRelay();
  relay.behaviour.isLoaded = false;
  const client = await relay.open();
  client.send('send logs');
  await client.roundTrip();
  fail(relay.sources[0]!);
  expect((await client.until('logs end')).map(([event]) => event)).toEqual([
    expect.stringMatching(/gap|error/),
    'logs end',
  ]);
});

test('a client that is too slow for the history gets a gap before logs end', async () => {
  const { relay, clock, client } = await openTestStream();
  const [source] = relay.sources;
  const text = 'x'.repeat(10_000);
  for (let number = 0; number < 60; number += 1) source!.line(`${number} ${text}`);
  client.send('send logs');
  await client.until('logs end');
  client.socket.pause();
  for (let number = 60; number < 2000; number += 1) source!.line(`${number} ${text}`);
  await expect.poll(() => relay.relay.history('game:mc').length).toBeLessThan(110);
  await clock.advance(1);
  client.send('send logs');
  source!.status('running');
  client.socket.resume();
  const answer = await client.until('logs end');
  expect(answer.filter(([event]) => event === 'logs end')).toHaveLength(1);
  const events = answer.map(([event]) => event);
  expect(events.indexOf('gap')).toBeGreaterThan(-1);
  expect(linesOf(answer).at(-1)).toBe(`1999 ${text}`);
});

test('a viewer who is more than 1 MiB behind gets a gap with the exact count, and the last status', async () => {
  const { relay, client } = await openTestStream();
  const [source] = relay.sources;
  source!.status('starting');
  for (let number = 0; number < 3000; number += 1) {
    if (number === 1000) source!.status('running');
    source!.line(`${number} ${'x'.repeat(1000)}`);
  }
  source!.error!('the end');
  const messages = await client.until('daemon error');
  expect(messages.slice(0, 2)).toEqual([
    ['gap', expect.stringMatching(/^\d+ lines were dropped: read too slowly$/)],
    ['status', 'running'],
  ]);
  const counter = createCounter();
  for (const message of messages) counter.see(message);
  const { received, dropped, wrong } = counter.count();
  expect([received + dropped, wrong]).toEqual([3000, 0]);
  expect(received).toBeGreaterThan(500);
});

test('a gap of a single line is in the singular', async () => {
  const { relay, client } = await openTestStream();
  // Each is 384 KiB as JSON.
  for (let number = 0; number < 3; number += 1) relay.sources[0]!.line('\u0000'.repeat(65_536));
  expect(await client.next()).toEqual(['gap', '1 line was dropped: read too slowly']);
  expect(linesOf([await client.next(), await client.next()])).toHaveLength(2);
});

test('the upstream stays open for 30 s without viewers, for page reloads', async () => {
  const { clock, ...relay } = await createTestRelay();
  const visit = async () => relay.leave(await relay.open());
  await visit();
  relay.sources[0]!.line('without viewers');
  await clock.advance(29);
  await visit();
  await clock.advance(29);
  expect(relay.sources).toHaveLength(1);
  expect(relay.sources[0]!.closed).toBe(false);
  expect(relay.relay.history('game:mc')).toEqual(['without viewers']);
  await clock.advance(2);
  expect(relay.sources[0]!.closed).toBe(true);
  expect(relay.relay.stats()).toEqual({ connections: 0, viewers: 0, upstreams: 0 });
  expect(relay.relay.history('game:mc')).toEqual([]);
  expect(clock.pending()).toBe(0);

  relay.sources[0]!.line('too late');
  const again = await relay.open();
  expect(relay.sources).toHaveLength(2);
  relay.sources[1]!.line('new');
  expect(await again.next()).toEqual(['console output', 'new']);
  expect(relay.relay.history('game:mc')).toEqual(['new']);
});

test('an upstream that opens after its last viewer has left is closed immediately', async () => {
  const { clock, relay, resolve } = await createOpening();
  await relay.leave(await relay.open());
  await clock.advance(30);
  resolve();
  await expect.poll(() => relay.sources[0]!.closed).toBe(true);
  expect(relay.relay.stats().upstreams).toBe(0);
});

test('gaps and errors of the upstream keep their position between the lines', async () => {
  const { relay, client } = await openTestStream();
  const [source] = relay.sources;
  source!.line('before');
  source!.gap('the connection to the console was lost');
  source!.error!('the game panel reported an error');
  source!.line('after');
  source!.status('running');
  expect(await client.until('status')).toEqual([
    ['console output', 'before'],
    ['gap', 'the connection to the console was lost'],
    ['daemon error', 'the game panel reported an error'],
    ['console output', 'after'],
    ['status', 'running'],
  ]);
});

test('a failed opening is reported and retried with increasing delays while there are viewers', async () => {
  const { clock, ...relay } = await createTestRelay();
  relay.behaviour.open = () => Promise.reject(new ProviderError('The panel is not available', { outcome: 'refused' }));
  const first = await relay.open();
  expect(await first.next()).toEqual(['daemon error', 'The panel is not available']);
  const tries = async (seconds: number): Promise<number> => {
    await clock.advance(seconds);
    await first.roundTrip();
    return relay.sources.length;
  };
  expect(await tries(0.9)).toBe(1);
  expect(await tries(0.2)).toBe(2);
  expect(await tries(1.8)).toBe(2);
  expect(await tries(0.2)).toBe(3);

  const second = await relay.open();
  expect(await second.next()).toEqual(['daemon error', 'The panel is not available']);
  relay.behaviour.open = () => undefined;
  expect(await tries(3.8)).toBe(3);
  expect(await tries(0.2)).toBe(4);
  relay.sources[3]!.line('back');
  expect(await second.until('console output')).toEqual([
    ['gap', 'The console was opened again: lines may be missing here'],
    ['console output', 'back'],
  ]);
  expect(first.messages.filter(([event]) => event === 'daemon error')).toHaveLength(1);
  expect(relay.failures).toHaveLength(3);
});

test('viewers do not see the internal reason of an upstream failure', async () => {
  const relay = await createTestRelay();
  relay.behaviour.open = () => Promise.reject(new Error('getaddrinfo ENOTFOUND panel.internal'));
  const client = await relay.open();
  expect(await client.next()).toEqual(['daemon error', 'Something went wrong on our side']);
  expect(relay.failures).toMatchObject([{ message: /ENOTFOUND/ }]);
});

test('a failed opening is not retried without viewers, and not earlier for short visits', async () => {
  const { clock, ...relay } = await createTestRelay();
  relay.behaviour.open = () => Promise.reject(new ProviderError('no', { outcome: 'refused' }));
  const comeAndGo = async () => {
    const viewer = await relay.open();
    await viewer.until('daemon error');
    await relay.leave(viewer);
  };
  await comeAndGo();
  await comeAndGo();
  await comeAndGo();
  expect(relay.sources).toHaveLength(1);
  await clock.advance(29);
  expect(relay.sources).toHaveLength(1);
  await comeAndGo();
  expect(relay.sources).toHaveLength(2);
});

test('an ended console is reported, and reopened after a minute with a new history', async () => {
  const { relay, clock, client } = await openTestStream();
  relay.sources[0]!.line('old');
  relay.sources[0]!.ended('the server is suspended');
  relay.sources[0]!.line('ignored');
  expect(await client.until('daemon error')).toEqual([
    ['console output', 'old'],
    ['daemon error', 'the server is suspended'],
  ]);
  expect(relay.relay.stats().upstreams).toBe(0);
  await clock.advance(59);
  expect(relay.sources).toHaveLength(1);
  await clock.advance(2);
  await client.roundTrip();
  relay.sources[1]!.ended('the server is suspended');
  await clock.advance(60);
  await client.roundTrip();
  relay.sources[2]!.line('old');
  relay.sources[2]!.line('new');
  relay.sources[2]!.status('running');
  expect(await client.until('status')).toEqual([
    ['gap', 'The console was opened again: lines may be missing here'],
    ['console output', 'old'],
    ['console output', 'new'],
    ['status', 'running'],
  ]);
  expect(relay.relay.history('game:mc')).toEqual(['old', 'new']);
});

/** Creates a relay whose console opens with `resolve`, and fails with `reject`. */
async function createOpening() {
  const { clock, ...relay } = await createTestRelay();
  return { clock, relay, ...relay.holdOpening() };
}

test('a console opens for its second viewer if the first leaves', async () => {
  const { clock, relay, resolve } = await createOpening();
  const first = await relay.open();
  const second = await relay.open();
  await relay.leave(first);
  await clock.advance(31);
  relay.sources[0]!.status('running');
  resolve();
  expect(await second.next()).toEqual(['status', 'running']);
  relay.sources[0]!.line('here');
  expect(await second.next()).toEqual(['console output', 'here']);
});

test('a console that opens during shutdown is closed immediately', async () => {
  const { clock, relay, resolve } = await createOpening();
  await relay.open();
  await relay.stop();
  resolve();
  await expect.poll(() => relay.sources[0]!.closed).toBe(true);
  expect(relay.relay.stats().upstreams).toBe(0);
  expect(clock.pending()).toBe(0);
});

test('a failed opening during shutdown is neither reported nor retried', async () => {
  const { clock, relay, reject } = await createOpening();
  await relay.open();
  await relay.stop();
  reject(new Error('no'));
  await nextTurn();
  expect(relay.failures).toEqual([]);
  expect(clock.pending()).toBe(0);
});

test('viewers get the messages of an upstream while it is reopened', async () => {
  const { relay, clock, client } = await openTestStream();
  relay.sources[0]!.ended('the server is suspended');
  const { resolve } = relay.holdOpening();
  await clock.advance(60);
  const [, source] = relay.sources as [FakeSource, FakeSource];
  source.gap('a gap');
  source.error!('an error');
  source.ended('the server is gone');
  expect(await client.until('gap')).toHaveLength(2);
  expect(await client.next()).toEqual(['daemon error', 'an error']);
  expect(await client.next()).toEqual(['daemon error', 'the server is gone']);
  resolve();
  await expect.poll(() => source.closed).toBe(true);
});

test.for([
  ['ended, and is due in a minute', 60, true],
  ['failed to open, and is due in a second', 1, false],
] as const)(
  'a console that %s is not reopened without viewers, and is discarded after 30 s',
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
    await relay.leave(client);
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
  ['due to be reopened', 1, 0],
  ['without viewers', 1, 1],
])('a console that is %s leaves no timer after shutdown', async ([, failures, seconds]) => {
  const { clock, relay, resolve, reject } = await createOpening();
  const client = await relay.open();
  if (failures) reject(new Error('no'));
  else resolve();
  await clock.advance(0);
  await relay.leave(client);
  await clock.advance(Number(seconds));
  expect(clock.pending()).toBeGreaterThan(0);
  await relay.stop();
  expect(clock.pending()).toBe(0);
  expect(relay.sources[0]!.closed).toBe(!failures);
});
