import { expect, test, vi } from 'vitest';
import { unknownStats } from '#contract/console-stream.ts';
import { ProviderError } from '../../../server/upstream/client.ts';
import { openTestStream } from './harness.ts';

const lost = 'the connection to the console was lost';
const opened = 'The console was opened again: lines may be missing here';

/** Opens a console with a line and a viewer. */
async function follow() {
  const { relay, clock, client } = await openTestStream();
  const last = () => relay.sources.at(-1)!;
  last().status('running');
  last().line('before');
  await client.until('console output');
  /** Advances the clock, and counts all openings of the console so far. */
  const tries = async (seconds: number): Promise<number> => {
    await clock.advance(seconds);
    await client.roundTrip();
    return relay.sources.length;
  };
  return { clock, relay, client, last, tries };
}

test('a lost upstream is one immediate gap for each reason, and is reopened without its backlog', async () => {
  const { relay, client, last, tries } = await follow();
  last().ended(lost, 0);
  last().line('too late');
  expect(await client.next()).toEqual(['gap', lost]);
  expect(relay.relay.stats().upstreams).toBe(0);
  expect(await tries(1)).toBe(2);
  last().ended(lost, 0);
  expect(await tries(2)).toBe(3);
  last().ended('another reason', 0);
  expect(await client.next()).toEqual(['gap', 'another reason']);
  expect(await tries(4)).toBe(4);
  last().status('running');
  last().line('after');
  expect(await client.next()).toEqual(['console output', 'after']);
  expect(relay.relay.history('game:mc')).toEqual(['before', 'after']);
  expect(relay.sources.map(({ isResumed }) => isResumed)).toEqual([false, true, true, true]);
  expect(relay.failures).toEqual([]);

  // After new output, the next loss is reported again.
  last().ended(lost, 0);
  expect(await client.next()).toEqual(['gap', lost]);
  expect(await tries(1.1)).toBe(5);
});

test('a lost upstream is not reopened before its retry time', async () => {
  const { last, tries } = await follow();
  last().ended(lost, 5000);
  expect(await tries(4.9)).toBe(1);
  expect(await tries(0.2)).toBe(2);
});

test('half of the delay is jitter', async () => {
  const { last, tries } = await follow();
  vi.mocked(Math.random).mockReturnValue(0);
  last().ended(lost, 0);
  expect(await tries(0.4)).toBe(1);
  expect(await tries(0.2)).toBe(2);
});

test('a lost upstream is retried with increasing delays of up to a minute', async () => {
  const { last, tries } = await follow();
  for (const wait of [1, 2, 4, 8, 16, 32, 60, 60]) {
    last().ended(lost, 0);
    const before = await tries(wait - 0.1);
    expect(await tries(0.2)).toBe(before + 1);
  }
});

test.each([
  [0, [0.8, 1.6, 3.2, 4, 4]],
  [0.5, [1, 2, 4, 5, 5]],
] as const)('with a maximum delay, a fifth of the delay is jitter: Math.random() is %d', async (random, waits) => {
  const { last, tries } = await follow();
  vi.mocked(Math.random).mockReturnValue(random);
  for (const wait of waits) {
    last().ended(lost, 0, 5000);
    const before = await tries(wait - 0.1);
    expect(await tries(0.2)).toBe(before + 1);
  }
});

test('a viewer who joins before the first output of a console hears why there is none', async () => {
  const { relay, clock } = await openTestStream();
  relay.sources[0]!.ended('the game panel is busy', 0);
  const viewer = await relay.open();
  expect(await viewer.next()).toEqual(['gap', 'the game panel is busy']);
  await clock.advance(1);
  relay.sources[1]!.line('hello');
  expect(await viewer.next()).toEqual(['console output', 'hello']);
});

test('a gap that was reported before the loss is not repeated', async () => {
  const { client, last, tries } = await follow();
  last().gap('the credential had to be renewed');
  last().ended('the credential had to be renewed', 0);
  await tries(1);
  last().line('after');
  expect(await client.until('console output')).toEqual([
    ['gap', 'the credential had to be renewed'],
    ['console output', 'after'],
  ]);
});

test('a lost upstream without viewers is not reopened until the next viewer', async () => {
  const { clock, relay, client, last } = await follow();
  last().ended(lost, 0);
  await relay.leave(client);
  await clock.advance(20);
  expect(relay.sources).toHaveLength(1);
  const next = await relay.open();
  expect(await next.roundTrip()).toBeUndefined();
  expect(relay.sources.map(({ isResumed }) => isResumed)).toEqual([false, true]);
  last().line('after');
  expect((await next.until('console output')).at(-1)).toEqual(['console output', 'after']);
  next.send('send logs');
  expect((await next.until('logs end')).map(([, line]) => line)).toEqual(['before', 'after', undefined]);
});

test('a viewer who joins after a loss gets the last status, the gap and unknown statistics', async () => {
  const { relay, last } = await follow();
  last().ended(lost, 0);
  last().ended('too late', 0);
  const viewer = await relay.open();
  viewer.send('send stats');
  expect(await viewer.next()).toEqual(['status', 'running']);
  expect(await viewer.next()).toEqual(['gap', lost]);
  expect(await viewer.next()).toEqual(['stats', JSON.stringify(unknownStats)]);
});

test('a console that is refused after a loss starts a new history', async () => {
  const { relay, client, last, tries } = await follow();
  last().ended(lost, 0);
  await tries(1);
  last().ended('the server is suspended');
  expect(await tries(59.9)).toBe(2);
  expect(await tries(0.2)).toBe(3);
  expect(last().isResumed).toBe(false);
  last().line('new');
  expect(await client.until('console output')).toEqual([
    ['gap', lost],
    ['daemon error', 'the server is suspended'],
    ['gap', opened],
    ['console output', 'new'],
  ]);
  expect(relay.relay.history('game:mc')).toEqual(['new']);
});

test('a console that cannot be opened after a loss keeps its history', async () => {
  const { relay, client, last, tries } = await follow();
  relay.behaviour.open = () => Promise.reject(new ProviderError('no', { outcome: 'refused' }));
  last().ended(lost, 0);
  await tries(1);
  relay.behaviour.open = () => undefined;
  expect(await tries(2.1)).toBe(3);
  expect(last().isResumed).toBe(true);
  last().line('after');
  expect((await client.until('console output')).map(([, text]) => text)).toEqual([lost, 'no', opened, 'after']);
  expect(relay.relay.history('game:mc')).toEqual(['before', 'after']);
});
