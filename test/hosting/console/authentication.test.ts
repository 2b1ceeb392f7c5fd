import { createHmac } from 'node:crypto';
import { SignJWT, UnsecuredJWT } from 'jose';
import { expect, test } from 'vitest';
import { createTestClock } from './clock.ts';
import { createTestRelay, secret } from './harness.ts';

/** The claims of a stream token, for tests that forge one. */
function claims(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  return {
    iss: 'hosting-api',
    aud: 'game-console-stream',
    sub: 'key',
    jti: 'id',
    iat: now,
    exp: now + 600,
    server: 'game:mc',
    mode: 'read_write',
    ...changes,
  };
}

const sign = (payload: Record<string, unknown>, key = secret): Promise<string> =>
  new SignJWT(payload).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(key));

test("a valid token opens a stream: auth success, then the console's messages", async () => {
  const relay = await createTestRelay();
  const client = await relay.connect();
  expect(await client.auth(await relay.token())).toEqual(['auth success']);
  relay.sources[0]!.status('running');
  relay.sources[0]!.line('\u001B[32mDone\u001B[0m');
  expect(await client.next()).toEqual(['status', 'running']);
  expect(await client.next()).toEqual(['console output', '\u001B[32mDone\u001B[0m']);
  expect(relay.relay.stats()).toEqual({ connections: 1, viewers: 1, upstreams: 1 });
});

test('a forged token with the correct secret is accepted, so the other forgeries fail for their own defect', async () => {
  const relay = await createTestRelay();
  const client = await relay.connect();
  expect(await client.auth(await sign(claims()))).toEqual(['auth success']);
});

const tampered = async (change: (parts: string[]) => string[]): Promise<string> =>
  change((await sign(claims({ mode: 'read' }))).split('.')).join('.');
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

test.for<[string, () => unknown]>([
  ['is missing', () => undefined],
  ['is not text', () => ({ toString: 'x' })],
  ['is no JWT', () => 'hk_something'],
  ['has a claim changed', () => tampered(([head, , signature]) => [head!, encode(claims()), signature!])],
  ['lost its signature', () => tampered(([head, body]) => [head!, body!, ''])],
  ['is signed with another secret', () => sign(claims(), `${secret}!`)],
  ['is unsigned, alg none', () => new UnsecuredJWT(claims()).encode()],
  [
    'says alg none with a valid signature',
    () => {
      const signed = `${encode({ alg: 'none' })}.${encode(claims())}`;
      return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
    },
  ],
  [
    'is signed with our secret by another algorithm',
    () => {
      const signed = `${encode({ alg: 'HS512' })}.${encode(claims())}`;
      return `${signed}.${createHmac('sha512', secret).update(signed).digest('base64url')}`;
    },
  ],
  ['comes from another issuer', () => sign(claims({ iss: 'someone' }))],
  ['is meant for another audience', () => sign(claims({ aud: 'website' }))],
  ['never ends', () => sign(claims({ exp: undefined }))],
  ['has an unknown mode', () => sign(claims({ mode: 'admin' }))],
  ['names no key', () => sign(claims({ sub: undefined }))],
])('a token that %s is a jwt error and opens no stream', async ([, make]) => {
  const relay = await createTestRelay();
  const client = await relay.connect();
  client.send('auth', await make());
  expect(await client.next()).toEqual(['jwt error', 'The token is not valid']);
  expect(relay.sources).toEqual([]);
});

test('an expired token gets its own error', async () => {
  const relay = await createTestRelay();
  const client = await relay.connect();
  const expired = await sign(claims({ iat: 1_000_000, exp: 1_000_600 }));
  expect(await client.auth(expired)).toEqual(['jwt error', 'The token has expired']);
});

test('a token of another server opens no stream', async () => {
  const relay = await createTestRelay();
  const client = await relay.connect('mc');
  const other = await relay.token({ server: 'mc2' });
  expect(await client.auth(other)).toEqual(['jwt error', 'The token is for another server']);
  expect(await client.auth(await sign(claims({ server: 'vps:mc' })))).toEqual([
    'jwt error',
    'The token is for another server',
  ]);
  expect(relay.sources).toEqual([]);
});

test('five bad tokens close the connection', async () => {
  const relay = await createTestRelay();
  const client = await relay.connect();
  for (let tries = 0; tries < 5; tries += 1) client.send('auth', 'nonsense');
  expect(await client.ended).toEqual({ code: 4000, reason: 'too many tokens were refused' });
  expect(client.messages).toEqual(Array.from({ length: 5 }, () => ['jwt error', 'The token is not valid']));
});

test('a valid token resets the count of bad tokens', async () => {
  const relay = await createTestRelay();
  const client = await relay.connect();
  for (let round = 0; round < 2; round += 1) {
    for (let tries = 0; tries < 4; tries += 1) client.send('auth', 'nonsense');
    client.send('auth', await relay.token());
    // oxlint-disable-next-line no-await-in-loop
    expect(await client.until('auth success')).toHaveLength(5);
  }
});

test('a client that sends no token within 10 s is disconnected', async () => {
  const clock = createTestClock();
  const relay = await createTestRelay({ clock });
  const client = await relay.connect();
  await clock.advance(9.9);
  await client.roundTrip();
  expect(client.socket.readyState).toBe(client.socket.OPEN);
  await clock.advance(0.2);
  expect(await client.ended).toEqual({ code: 4000, reason: 'no token came in time' });
  expect(relay.relay.stats().connections).toBe(0);
});

test('without a token there is no output, no history and no command', async () => {
  const relay = await createTestRelay();
  const viewer = await relay.open();
  const unauthenticated = await relay.connect();
  relay.sources[0]!.line('a secret');
  await viewer.until('console output');
  unauthenticated.send('send logs');
  unauthenticated.send('send command', 'stop');
  expect(await unauthenticated.next()).toEqual(['permission denied', 'send logs']);
  expect(await unauthenticated.next()).toEqual(['permission denied', 'send command']);
  expect(unauthenticated.messages).toHaveLength(2);
  expect(relay.commands).toEqual([]);
});

test('messages that follow the token wait until the token is verified', async () => {
  const relay = await createTestRelay();
  await relay.open({ keyId: 'first' });
  relay.sources[0]!.line('before');
  const client = await relay.connect();
  client.send('auth', await relay.token({ mode: 'read_write' }));
  client.send('send logs');
  client.send('send command', 'list');
  expect(await client.next()).toEqual(['auth success']);
  expect(await client.next()).toEqual(['console output', 'before']);
  await client.roundTrip();
  expect(relay.commands).toMatchObject([{ command: 'list' }]);
});

test('a key has a limit of streams, independent of other keys', async () => {
  const relay = await createTestRelay({ limits: { viewersPerKey: 2 } });
  const first = await relay.open();
  await relay.open();
  const third = await relay.connect();
  expect(await third.auth(await relay.token())).toEqual([
    'daemon error',
    'This API key has too many open console streams',
  ]);
  expect(await third.ended).toEqual({ code: 1013, reason: 'too many streams' });
  await relay.open({ keyId: 'another' });
  first.socket.close();
  await first.ended;
  await relay.open();
});
