import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ConsoleStats } from '#contract/console-stream.ts';
import { stopTimeouts } from '../helpers/clock.ts';
import { linesOf, openClient } from '../helpers/console-client.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { panelKeys } from '../helpers/upstream-panel.ts';
import { until } from '../helpers/upstream.ts';
import { ask, askEndpoint } from '../server/ask.ts';
import { serveHosting, sharedApp } from '../server/shared.ts';
import { bootstrap, createInstances, openStream } from './instances.ts';
import { createHmac, randomUUID } from 'node:crypto';
import { describePostgres } from '../helpers/postgres.ts';

/** Starts the service with a panel that runs one server, and issues a key. */
async function serve(settings: Record<string, string> = {}, fields: { scopes?: ['game-console:read'] } = {}) {
  const { app, world } = await serveHosting(settings, { fields });
  const outcomes = async (): Promise<(string | null)[]> => {
    const entries = await Array.fromAsync(world.store.audit.entries({}));
    return entries.filter(({ phase }) => phase === 'finished').map(({ detail, outcome }) => `${detail}: ${outcome}`);
  };
  return { world, panel: world.panel, wings: world.panel.wings, app, outcomes };
}

test('the first viewer gets the backlog of the panel once, then `logs end`', async () => {
  const { wings, app } = await serve();
  const lines = Array.from({ length: 150 }, (_, number) => `line ${number}`);
  for (const line of lines) wings.print(line);
  const { socket_url: url, token } = await bootstrap(app);
  const first = await openClient(url);
  first.send('auth', token);
  first.send('send logs');
  await first.until('logs end');
  wings.print('new');
  expect((await first.until('console output')).at(-1)).toEqual(['console output', 'new']);
  expect(linesOf(first.messages)).toEqual([...lines, 'new']);

  const second = await openStream(app);
  second.send('send logs');
  expect(linesOf(await second.until('logs end'))).toEqual([...lines.slice(1), 'new']);
});

test('after a lost connection to the panel, viewers get a gap, then new lines on the same stream', async () => {
  const { wings, app } = await serve();
  wings.print('before');
  const client = await openStream(app);
  client.send('send logs');
  await client.until('logs end');
  wings.cut();
  expect((await client.until('gap')).at(-1)).toEqual(['gap', 'the connection to the console was lost']);
  await until('the console is followed again', () => wings.auths.length === 2);
  wings.print('after');
  await client.until('console output');
  expect(linesOf(client.messages)).toEqual(['before', 'after']);
  expect(wings.logsSent()).toBe(1);
});

test('a command is answered with its reference, and audited', async () => {
  const { panel, wings, app, outcomes } = await serve();
  const client = await openStream(app);
  client.send('send command', 'say one', 'a');
  client.send('send command', 'say two', 'b');
  expect((await client.until('command accepted')).at(-1)).toEqual(['command accepted', 'a']);
  expect((await client.until('command accepted')).at(-1)).toEqual(['command accepted', 'b']);
  expect(panel.commands).toEqual(['say one', 'say two']);
  wings.become('offline');
  client.send('send command', 'say three', 'c');
  expect((await client.until('command refused')).at(-1)).toEqual(['command refused', 'c', 'offline']);
  panel.users.get(panelKeys.write)!.permissions = ['websocket.connect'];
  client.send('send command', 'say four', 'd');
  expect((await client.until('command refused')).at(-1)).toEqual(['command refused', 'd', 'not_permitted']);
  expect(await outcomes()).toEqual([
    'say one: ok',
    'say two: ok',
    'say three: provider_error',
    'say four: provider_permission_denied',
  ]);
});

test('a command with unknown outcome is refused as failed, and sent once', async () => {
  const { panel, app, outcomes } = await serve();
  const client = await openStream(app);
  const advance = stopTimeouts();
  const isCommand = ({ path }: { path: string }): boolean => path.endsWith('/command');
  const arrived = panel.hold(isCommand);
  client.send('send command', 'say one', 'a');
  await arrived;
  advance(20_000);
  expect((await client.until('command refused')).at(-1)).toEqual(['command refused', 'a', 'failed']);
  expect(panel.seen.filter(isCommand)).toHaveLength(1);
  expect(await outcomes()).toEqual(['say one: unknown']);
});

test('commands of streams and of HTTP share one limit', async () => {
  const { app } = await serve({ POWER_RATELIMIT_RPS: '1', POWER_RATELIMIT_BURST: '10' });
  const client = await openStream(app);
  const asked = await Promise.all(Array.from({ length: 10 }, () => askEndpoint(app, 'sendGameCommand')));
  expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([200]));
  const references = Array.from({ length: 9 }, (_, number) => String(number));
  for (const reference of references) client.send('send command', 'list', reference);
  const answers = () => client.messages.filter(([event]) => event.startsWith('command '));
  await until('each command is answered', () => answers().length === references.length);
  expect(answers().map(([, reference]) => reference)).toEqual(references);
  expect(answers()).toContainEqual(['command refused', '8', 'rate_limited']);
});

test('a read-only key gets lines and statistics, but cannot send commands', async () => {
  const { panel, wings, app } = await serve({}, { scopes: ['game-console:read'] });
  const sizes = { memory_bytes: 1_610_612_736, disk_bytes: 5_368_709_120 };
  const usage = { ...sizes, cpu_absolute: 37.5, network: { rx_bytes: 81_920, tx_bytes: 245_760 } };
  const client = await openStream(app);
  await client.until('status');
  await until('statistics were requested', () => wings.statsSent() === 1);
  wings.use(usage);
  wings.print('a line');
  await client.until('console output');
  client.send('send stats');
  const [, text] = (await client.until('stats')).at(-1)!;
  const sent = { ...sizes, cpu: 37.5, network_rx_bytes: 81_920, network_tx_bytes: 245_760 };
  expect(JSON.parse(text!)).toEqual(sent);
  client.send('send command', 'stop', 'ref');
  expect(await client.next()).toEqual(['permission denied', 'send command']);
  expect(await client.next()).toEqual(['command refused', 'ref', 'not_permitted']);
  expect(panel.commands).toEqual([]);
  expect(wings.forbidden).toEqual([]);
});

test('a stream has the address of PUBLIC_URL and an opaque token', async () => {
  const { app } = await serve({ PUBLIC_URL: 'https://api.example.com/hosting/' });
  const { socket_url: url, token } = await bootstrap(app);
  expect(url).toBe('wss://api.example.com/hosting/v1/hosting/game/console/mine/stream');
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
});

test('a stream provides the log content if the panel serves no log file', async () => {
  const { panel, wings, app } = await serve();
  panel.files.clear();
  const client = await openStream(app);
  await client.until('status');
  for (const line of ['\u001B[32mfirst\u001B[0m', '', 'the "last" \u2028']) wings.print(line);
  await expect.poll(() => linesOf(client.messages)).toHaveLength(3);
  const { text } = await askEndpoint(app, 'getLatestGameLog');
  expect(JSON.parse(text)).toMatchObject({ empty: false, content: 'first\n\nthe "last" \u2028\n' });
});

test('the console of a reassigned server is closed within 5 s', async () => {
  const { world, wings, app } = await serve();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const client = await openStream(app);
  await client.until('status');
  await world.store.servers.put({ server: 'game:mine', provider: 'panel', ref: 'another', logFile: null });
  vi.advanceTimersByTime(5000);
  expect(await client.next()).toEqual(['daemon error', 'the server has moved']);
  wings.print('a secret of the next customer');
  await expect.poll(() => wings.sockets()).toBe(0);
  await client.roundTrip();
  expect(linesOf(client.messages)).toEqual([]);
});

test('the stream of a local server has the same events', async () => {
  const { world } = await serve();
  const folder = temporaryFolder();
  const providers = join(folder, 'providers.yaml');
  const program = 'process.stdin.on("data", (text) => process.stdout.write("got " + text))';
  const server = { kind: 'game', command: [process.execPath, '-e', program] };
  writeFileSync(providers, JSON.stringify({ providers: { here: { type: 'local', servers: { one: server } } } }));
  await world.store.servers.put({ server: 'game:mine', provider: 'here', ref: 'one', logFile: null });
  const { app } = await serveHosting({ PROVIDERS_FILE: providers }, { world });
  const client = await openStream(app);
  client.send('send command', 'early', 'a');
  expect((await client.until('command refused')).at(-1)).toEqual(['command refused', 'a', 'offline']);
  expect(await askEndpoint(app, 'startGameServer')).toMatchObject({ status: 200 });
  client.send('send command', 'hello', 'b');
  await client.until('command accepted');
  await expect.poll(() => linesOf(client.messages)).toEqual(['got hello']);
  client.send('send stats');
  const stats = ConsoleStats.parse(JSON.parse((await client.until('stats')).at(-1)![1]!));
  expect(stats.memory_bytes).toBeGreaterThan(10_000_000);
  expect(stats).toMatchObject({ cpu: expect.any(Number), disk_bytes: null, network_rx_bytes: null });
  client.send('send logs');
  await client.until('logs end');
  expect(linesOf(client.messages)).toEqual(['got hello', 'got hello']);
});

const stream = '/v1/hosting/game/console/mine/stream';
const message = 'This address is a websocket: send a websocket handshake';

test.each([
  ['GET', stream],
  ['GET', `${stream}?token=secret`],
  ['GET', '/v1/hosting/game/console/unknown/stream'],
  ['HEAD', stream],
])('%s %s without a handshake is 426 and names the protocol', async (method, target) => {
  const app = await sharedApp();
  for (const question of [{}, { headers: { Connection: 'Upgrade', Upgrade: 'h2c' } }, { key: app.key }]) {
    const answer = await ask(app, target, { method, ...question });
    const text = `{"success":false,"error":"upgrade_required","message":"${message}"}\n`;
    expect(answer).toMatchObject({ status: 426, text: method === 'HEAD' ? '' : text });
    expect(answer.headers).toMatchObject({
      upgrade: 'websocket',
      connection: 'Upgrade',
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
      ratelimit: expect.any(String),
    });
  }
});

test('the connection serves another request after a 426', async () => {
  const app = await sharedApp();
  const [get, end] = [`GET ${stream} HTTP/1.1\r\nHost: x\r\n`, '\r\n'];
  const received = await app.raw(`${get}${end}${get}Connection: close\r\n${end}`);
  expect(received.match(/^HTTP\/1\.1 426 Upgrade Required\r$/gm)).toHaveLength(2);
});

test('other methods of a stream are 405, other paths 404', async () => {
  const app = await sharedApp();
  for (const method of ['POST', 'DELETE', 'PROPFIND', 'OPTIONS']) {
    const { status, headers } = await ask(app, stream, { method });
    expect({ method, status, allow: headers.allow }).toEqual({ method, status: 405, allow: 'GET, HEAD' });
  }
  const others = ['not%20a%20server', 'vps:mine', ''].map((id) => `/v1/hosting/game/console/${id}/stream`);
  for (const target of [`${stream}/`, `${stream}/x`, ...others]) {
    expect(await ask(app, target)).toMatchObject({ status: 404 });
  }
});

test('a pipelined handshake waits for the previous request and opens no stream', async () => {
  const { app, world } = await serveHosting();
  world.panel.fail({ status: 204, ms: 300 }, ({ path }) => path.endsWith('/power'));
  const action = `POST /v1/hosting/game/power/mine/start HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n`;
  const handshake =
    'GET /v1/hosting/game/console/mine/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
  const answer = await app.raw(`${action}Content-Length: 0\r\n\r\n${handshake}`);
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 426']);
  expect(await app.raw(`GET /v1/info HTTP/1.1\r\nHost: x\r\n\r\n${handshake}`)).toMatch(
    /^HTTP\/1\.1 200[^]*HTTP\/1\.1 (?:101|426)/,
  );
  expect(await app.raw(handshake)).toMatch(/^HTTP\/1\.1 101/);
});

/** Tests with a store that two instances share. */
function tokenSuite(createDatabase: () => Promise<string | undefined>): void {
  test('no value of the database opens a stream or signs a token', async () => {
    const { apps, keyId, readDatabase } = await createInstances(await createDatabase());
    const { token } = await openStream(apps[0]);
    const values = await readDatabase();
    expect(values).not.toContain(token);
    const now = Math.floor(Date.now() / 1000);
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { iss: 'hosting-api', aud: 'game-console-stream', sub: keyId, jti: randomUUID() };
    const signed = [
      encode({ alg: 'HS256', typ: 'JWT' }),
      encode({ ...claims, server: 'game:mine', mode: 'read_write', iat: now, exp: now + 600 }),
    ].join('.');
    const { socket_url: url } = await bootstrap(apps[1]);
    const opened = [];
    for (const value of new Set(values.filter((text) => text.length >= 32))) {
      const signature = createHmac('sha256', value).update(signed).digest('base64url');
      for (const forged of [value, `${signed}.${signature}`]) {
        const client = await openClient(url);
        const [answer] = await client.auth(forged);
        client.socket.terminate();
        if (answer !== 'jwt error') opened.push(forged);
      }
    }
    expect(opened).toEqual([]);
  });

  test('a HEAD request issues no token, but has the Content-Length of GET', async () => {
    const { apps, readDatabase } = await createInstances(await createDatabase());
    const count = async () => (await readDatabase()).filter((value) => value === 'read_write').length;
    const head = await askEndpoint(apps[0], 'openGameConsole', { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(await count()).toBe(0);
    const { text } = await askEndpoint(apps[0], 'openGameConsole');
    expect(await count()).toBe(1);
    expect(Number(head.headers['content-length'])).toBe(Buffer.byteLength(text));
  });
}

describe('in a SQLite file', () => {
  tokenSuite(() => Promise.resolve(undefined));
});
describePostgres((postgres) => tokenSuite(() => postgres().createDatabase()));
