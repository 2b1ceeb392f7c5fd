import { once } from 'node:events';
import { expect, test } from 'vitest';
import { closeCodes, describeStream, streamEvents } from '#contract/console-stream.ts';
import type { CloseName, ServiceEvent } from '#contract/console-stream.ts';
import { parseMessage } from '../../../server/hosting/console/session.ts';
import { ProviderError } from '../../../server/upstream/client.ts';
import { findProblem } from '../../server/described-frames.ts';
import type { TestClient } from '../../helpers/console-client.ts';
import { denied, openTestStream, pollOptions } from './harness.ts';

/** A stream that may send commands, whose first message is already read. */
const openStream = () => openTestStream({ mode: 'read_write' });
type Stream = Awaited<ReturnType<typeof openStream>>;

/** How each event of the service comes about. */
const eventTests: { readonly [Event in ServiceEvent]: (stream: Stream) => unknown } = {
  'auth success': async ({ client, relay }) => client.send('auth', await relay.token()),
  'console output': ({ relay }) => relay.sources[0]!.line('a line'),
  'logs end': ({ client }) => client.send('send logs'),
  status: ({ relay }) => relay.sources[0]!.status('running'),
  stats: ({ client }) => client.send('send stats'),
  'command accepted': ({ client }) => client.send('send command', 'list', 'ref'),
  'command refused': ({ client }) => client.send('send command', '', 'ref'),
  'token expiring': ({ clock }) => clock.advance(540),
  'token expired': ({ clock }) => clock.advance(600),
  'jwt error': ({ client }) => client.send('auth', 'nonsense'),
  'permission denied': ({ client }) => client.send('set state', 'kill'),
  gap: ({ relay }) => relay.sources[0]!.gap('the connection to the console was lost'),
  'daemon error': ({ client }) => client.send('send command', ''),
};

test.for(Object.entries(eventTests))('the service sends %s', async ([event, cause]) => {
  const stream = await openStream();
  await cause(stream);
  const [name, ...args] = (await stream.client.until(event)).at(-1)!;
  expect(name).toBe(event);
  expect(findProblem(JSON.stringify({ event: name, args }))).toBeUndefined();
});

/** The values of arguments that have only some. */
const valueTests: { readonly [value: string]: (stream: Stream) => unknown } = {
  ...Object.fromEntries(
    (['running', 'starting', 'stopping', 'offline'] as const).map((state) => [
      `status ${state}`,
      ({ relay }: Stream) => relay.sources[0]!.status(state),
    ]),
  ),
  'command refused offline': refuseWith(
    new ProviderError('The server must be online to receive commands', { outcome: 'refused' }),
  ),
  'command refused rate_limited': ({ client }) => {
    for (let sent = 0; sent < 20; sent += 1) client.send('send command', 'list', 'ref');
  },
  'command refused not_permitted': ({ relay, client }) => {
    relay.behaviour.access = () => 'read_only';
    client.send('send command', 'list', 'ref');
  },
  'command refused invalid': ({ client }) => client.send('send command', 'two\nlines', 'ref'),
  'command refused failed': refuseWith(new ProviderError('No answer', { outcome: 'unknown' })),
};

function refuseWith(failure: Error) {
  return ({ relay, client }: Stream): void => {
    relay.behaviour.command = () => Promise.reject(failure);
    client.send('send command', 'list', 'ref');
  };
}

test.for(Object.entries(valueTests))('the service sends %s', async ([name, cause]) => {
  const stream = await openStream();
  await cause(stream);
  const [event, value] = [name.slice(0, name.lastIndexOf(' ')), name.split(' ').at(-1)];
  expect((await stream.client.until(event)).at(-1)!.at(-1)).toBe(value);
});

test('each value of the table has a test', () => {
  const values = describeStream().events.flatMap(({ event, args }) =>
    args.flatMap((argument) => argument.values.map(({ value }) => `${event} ${value}`)),
  );
  expect(Object.keys(valueTests).toSorted()).toEqual(values.toSorted());
});

/** How each close code comes about; the last one cannot be sent: it stands for a connection without a close frame. */
const closeTests: { readonly [Name in CloseName]: (stream: Stream) => unknown } = {
  protocol: ({ client }) => write(client, Buffer.from([0x81, 0x02, 0x68, 0x69])),
  encoding: ({ client }) => write(client, Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28])),
  abuse({ client }) {
    for (let sent = 0; sent < 1100; sent += 1) client.send('x');
  },
  size: ({ client }) => client.send('send command', 'x'.repeat(16 * 1024)),
  restart: ({ relay }) => relay.stop(),
  overload({ relay, clock }) {
    relay.behaviour.access = () => Promise.reject(new Error('database is locked'));
    return clock.advance(40);
  },
  unauthenticated({ client }) {
    for (let tries = 0; tries < 5; tries += 1) client.send('auth', 'nonsense');
  },
  expired: ({ clock }) => clock.advance(630),
  revoked({ relay, clock }) {
    relay.behaviour.access = () => denied;
    return clock.advance(2);
  },
  lost: ({ relay }) => relay.terminate(),
};

/** Writes a raw frame to the connection of a client. */
function write({ socket }: TestClient, frame: Buffer): void {
  // The client has no way to send a wrong frame.
  // oxlint-disable-next-line no-underscore-dangle
  (socket as unknown as { _socket: { write(data: Buffer): void } })._socket.write(frame);
}

test.for(Object.entries(closeTests))('a stream is closed: %s', async ([name, cause]) => {
  const stream = await openStream();
  const closed = once(stream.client.socket, 'close');
  await cause(stream);
  const [code] = (await closed) as [number];
  expect(code).toBe(closeCodes[name as CloseName].code);
  await expect.poll(() => stream.relay.relay.stats().connections, pollOptions).toBe(0);
});

test('the close codes that clients rely on stay the same', () => {
  const codes = Object.fromEntries(Object.entries(closeCodes).map(([name, { code }]) => [name, code]));
  expect(codes).toMatchObject({ restart: 1012, overload: 1013, unauthenticated: 4000, expired: 4001, revoked: 4003 });
  expect(new Set(Object.values(codes)).size).toBe(Object.keys(codes).length);
});

test.for(describeStream().events)('the example of $event is as its row says', ({ event, from, example, args }) => {
  const text = JSON.stringify({ event, args: example });
  if (from === 'service') expect(findProblem(text)).toBeUndefined();
  else {
    expect(example).toHaveLength(args.length);
    const message = parseMessage(text, 0);
    expect(message).toMatchObject({ type: event });
    expect(Object.values(message!)).not.toContain(undefined);
  }
});

test.for([
  ['{"event":"auth","args":["x"]}', 'there is no such event'],
  ['{"event":"toString","args":[]}', 'there is no such event'],
  ['{"event":"logs end","args":["x"]}', 'it has 1 arguments'],
  ['{"event":"status","args":["missing"]}', 'status has another value'],
  ['{"event":"console output","args":[7]}', 'line is not a text'],
  ['{"event":"stats","args":["{}"]}', 'stats has another shape'],
  ['{"event":"logs end","args":[],"more":1}', 'it has other fields than event and args'],
])('%s is not in the table', ([text, problem]) => {
  expect(findProblem(text!)).toBe(problem);
});

test('each event has a description, a scope if a client sends it after auth, and described arguments', () => {
  const { events } = describeStream();
  expect(events.map(({ event }) => event)).toEqual(Object.keys(streamEvents));
  for (const { event, from, scope, description, args } of events) {
    expect(scope !== null, event).toBe(from === 'client' && event !== 'auth');
    for (const { description: text } of [{ description }, ...args]) expect(text).toMatch(/^[A-Z].*\.$/);
  }
});
