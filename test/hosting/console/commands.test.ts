import { expect, test } from 'vitest';
import { Problem } from '../../../server/problem.ts';
import { ProviderError } from '../../../server/upstream/client.ts';
import { createTestRelay, openTestStream } from './harness.ts';

test.for(['1', 'x'.repeat(64), '🎮'.repeat(64), ' "quoted" \\ \u2028 ', '__proto__', '[null]'])(
  'a command with the reference %j is answered with the same reference',
  async (reference) => {
    const { relay, client } = await openTestStream({ mode: 'read_write' });
    client.send('send command', 'list', reference);
    expect(await client.next()).toEqual(['command accepted', reference]);
    expect(relay.commands).toMatchObject([{ command: 'list' }]);
  },
);

test.for(['', 'x'.repeat(65), 'x'.repeat(15_000), 'a\nb', 'a\u0000', '\u0085', '\uD800'])(
  'a command with the invalid reference %j is refused and not sent',
  async (reference) => {
    const { relay, client } = await openTestStream({ mode: 'read_write' });
    client.send('send command', 'list', reference);
    expect(await client.next()).toEqual(['command refused', reference, 'invalid']);
    expect(relay.commands).toEqual([]);
  },
);

const secret = 'connect ECONNREFUSED 10.0.0.5 with token ptlc_secret';
const unknownOutcome = new ProviderError('The request could not be completed', { outcome: 'unknown' });
const denied = new ProviderError('No', { outcome: 'refused', code: 'provider_permission_denied' });
const offline = new ProviderError('The server must be online to receive commands', { outcome: 'refused' });

test.for<[string, string, Error]>([
  ['is sent to an offline server', 'offline', offline],
  ['exceeds the limit of the key', 'rate_limited', new Problem('rate_limited')],
  ['the panel denies', 'not_permitted', denied],
  ['is sent after the key lost its scope', 'not_permitted', new Problem('insufficient_scope')],
  ['comes from a revoked key', 'not_permitted', new Problem('unauthorized')],
  ['is sent to a suspended server', 'not_permitted', new Problem('forbidden')],
  ['fails with an unknown outcome', 'failed', unknownOutcome],
  ['fails unexpectedly', 'failed', new Error(secret)],
])('a command that %s is refused with the code %s, or in words without a reference', async ([, code, error]) => {
  const { relay, client } = await openTestStream({ mode: 'read_write' });
  relay.behaviour.command = () => Promise.reject(error);
  client.send('send command', 'list', 'ref');
  expect(await client.next()).toEqual(['command refused', 'ref', code]);
  client.send('send command', 'list');
  const isOurs = error.message === secret;
  expect(await client.next()).toEqual(['daemon error', isOurs ? 'Something went wrong on our side' : error.message]);
  expect(relay.failures).toEqual(isOurs ? [error, error] : []);
});

test('a command whose key cannot be checked fails and is not sent', async () => {
  const { relay, client } = await openTestStream({ mode: 'read_write' });
  relay.behaviour.access = () => Promise.reject(new Error('database is locked'));
  client.send('send command', 'list', 'ref');
  client.send('send command', 'list');
  expect(await client.next()).toEqual(['command refused', 'ref', 'failed']);
  expect(await client.next()).toEqual(['daemon error', 'Something went wrong on our side']);
  expect(relay.commands).toEqual([]);
});

test.for<[string, 'read' | 'read_write', 'read_only' | 'ok', 'read_only' | 'ok']>([
  ['with a token for reading', 'read', 'ok', 'ok'],
  ['of a key that had lost its scope', 'read_write', 'read_only', 'read_only'],
  ['of a key that has just lost its scope', 'read_write', 'ok', 'read_only'],
])('a read-only stream %s refuses a command with an event, and with its reference', async ([, mode, first, access]) => {
  const relay = await createTestRelay();
  relay.behaviour.access = () => first;
  const client = await relay.open({ mode });
  relay.behaviour.access = () => access;
  client.send('send command', 'stop', 'ref');
  expect(await client.next()).toEqual(['permission denied', 'send command']);
  expect(await client.next()).toEqual(['command refused', 'ref', 'not_permitted']);
  expect(relay.commands).toEqual([]);
});

test('commands in flight are answered in order, each with its reference', async () => {
  const { relay, client } = await openTestStream({ mode: 'read_write' });
  const { promise, resolve } = Promise.withResolvers<void>();
  relay.behaviour.command = async ({ command }) => {
    await promise;
    if (command === 'second') throw offline;
  };
  client.send('send command', 'first', 'a');
  client.send('send command', 'second', 'b');
  client.send('send command', 'without');
  client.send('send command', 'first', 'a');
  await client.roundTrip();
  expect(client.messages).toEqual([['auth success']]);
  resolve();
  expect([await client.next(), await client.next(), await client.next()]).toEqual([
    ['command accepted', 'a'],
    ['command refused', 'b', 'offline'],
    ['command accepted', 'a'],
  ]);
});

test('each command with a reference is answered, even if it is dropped', async () => {
  const { relay, client } = await openTestStream({ mode: 'read_write' });
  const references = Array.from({ length: 60 }, (_, number) => `ref ${number}`);
  for (const reference of references) client.send('send command', 'list', reference);
  const answers = () => client.messages.filter(([event]) => event.startsWith('command '));
  await expect.poll(() => answers().length).toBe(60);
  expect(new Set(answers().map(([, reference]) => reference))).toEqual(new Set(references));
  // The token was the first of 20 messages.
  expect(relay.commands).toHaveLength(19);
  expect(answers().filter(([, , code]) => code === 'rate_limited')).toHaveLength(41);
  expect(client.messages.filter(([event]) => event === 'daemon error')).toHaveLength(1);
});

test('a command beyond the queue of a slow provider is refused with its reference', async () => {
  const { relay, clock, client } = await openTestStream({ mode: 'read_write' });
  relay.behaviour.command = () => new Promise(() => undefined);
  for (let sent = 0; sent < 18; sent += 1) client.send('send command', 'list');
  await client.roundTrip();
  await clock.advance(4);
  for (let sent = 0; sent < 15; sent += 1) client.send('send command', 'list', `ref ${sent}`);
  expect(await client.next()).toEqual(['command refused', 'ref 14', 'rate_limited']);
});
