import { once } from 'node:events';
import { expect, test } from 'vitest';
import { closeCodes, streamEvents } from '#contract/console-stream.ts';
import type { CloseName, EventRow } from '#contract/console-stream.ts';
import { parseMessage } from '../../../server/hosting/console/stream.ts';
import { findProblem } from '../../server/described-frames.ts';
import type { TestClient } from '../../helpers/console-client.ts';
import { openTestStream } from './harness.ts';

// Every test compares each message and close code with the table. The other files of this folder cause all of them but
// the close codes below.

/** Writes a raw frame to the connection of a client. */
function write({ socket }: TestClient, frame: Buffer): void {
  // The client has no method for invalid frames.
  // oxlint-disable-next-line no-underscore-dangle
  (socket as unknown as { _socket: { write(data: Buffer): void } })._socket.write(frame);
}

type Stream = Awaited<ReturnType<typeof openTestStream>>;

/** `lost` is never sent: it stands for a connection without a close frame. */
test.for<[CloseName, (stream: Stream) => unknown]>([
  ['protocol', ({ client }) => write(client, Buffer.from([0x81, 0x02, 0x68, 0x69]))],
  ['encoding', ({ client }) => write(client, Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28]))],
  ['size', ({ client }) => client.send('send command', 'x'.repeat(16 * 1024))],
  ['lost', ({ relay }) => relay.terminate()],
])('a stream is closed with the code for: %s', async ([name, cause]) => {
  const stream = await openTestStream();
  const closed = once(stream.client.socket, 'close');
  cause(stream);
  expect((await closed)[0]).toBe(closeCodes[name].code);
  await expect.poll(() => stream.relay.relay.stats().connections).toBe(0);
});

test('the close codes that clients rely on stay the same', () => {
  const codes = Object.fromEntries(Object.entries(closeCodes).map(([name, { code }]) => [name, code]));
  expect(codes).toMatchObject({ restart: 1012, overload: 1013, unauthenticated: 4000, expired: 4001, revoked: 4003 });
  expect(new Set(Object.values(codes)).size).toBe(Object.keys(codes).length);
});

const events = Object.entries<EventRow>(streamEvents);

test.for(events)('the example of %s matches its row', ([event, { from, args }]) => {
  const example = args.map((argument) => argument.example);
  const text = JSON.stringify({ event, args: example });
  if (from === 'service') expect(findProblem(text)).toBeUndefined();
  else {
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
])('%s does not match the table', ([text, problem]) => {
  expect(findProblem(text!)).toBe(problem);
});

test('each event and argument has a description, and each client event but auth has a scope', () => {
  for (const [event, { from, scope, description, args }] of events) {
    expect(scope !== null, event).toBe(from === 'client' && event !== 'auth');
    for (const { description: text } of [{ description }, ...args]) expect(text).toMatch(/^[A-Z].*\.$/);
  }
});
