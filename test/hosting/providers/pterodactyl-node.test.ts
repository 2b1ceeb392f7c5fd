import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { onTestFinished, describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { listen } from '../../helpers/free-port.ts';
import { openProvider } from '../../helpers/provider.ts';
import { panelKeys } from '../../helpers/upstream-panel.ts';
import { createCertificates } from '../../helpers/upstream-tls.ts';
import { createUpstream, json, until } from '../../helpers/upstream.ts';
import { followPanel, preparePanel } from './console-harness.ts';
import { recordConsole, recordViewer } from './console-recorder.ts';

const lost = 'the connection to the console was lost';
const unreachable = 'the node of the server is not reachable';
const refused = 'the node of the server refuses the connection';

/** Starts a node that counts handshakes, and refuses them. */
async function createNode() {
  const server = createServer();
  let handshakes = 0;
  server.on('upgrade', (_: IncomingMessage, stream: Duplex) => {
    handshakes += 1;
    stream.on('error', () => undefined);
    stream.end('HTTP/1.1 500 No\r\nconnection: close\r\n\r\n');
  });
  const port = await listen(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `ws://127.0.0.1:${port}/api/servers/any/ws`, handshakes: () => handshakes };
}

describe('a node that does not accept sockets', () => {
  test.each([500, 400, 403])('answers %i: handshakes are repeated without a token', async (status) => {
    const { wings, record, times, print, authorized } = await followPanel();
    wings.refuse(status);
    wings.cut();
    await until('the handshake was repeated', () => wings.origins.length > 4);
    expect(times).toHaveLength(1);
    wings.refuse(undefined);
    await authorized(2);
    await print(record, 'back');
    expect(times).toHaveLength(2);
    expect(record.gaps).toEqual([lost, refused]);
  });

  test('has moved the server: the next token has the address of the other node', async () => {
    const { upstream, wings, times } = await followPanel();
    const other = await createNode();
    upstream.socket = other.url;
    wings.refuse(404);
    wings.cut();
    await until('the other node was asked', () => other.handshakes() > 1);
    expect(times).toHaveLength(2);
    expect(wings.auths).toHaveLength(1);
  });

  test('is not asked with a token for another node', async () => {
    const { upstream, wings, times } = await followPanel();
    const other = await createNode();
    upstream.socket = other.url;
    wings.cut();
    await until('the other node was asked', () => other.handshakes() > 0);
    expect([times.length, wings.auths.length]).toEqual([2, 1]);
    await until('the socket of the first node is closed', () => wings.sockets() === 0);
  });

  test('a token is fetched first after a minute of failures, then every five minutes', async () => {
    const { wings, times, clock } = await followPanel();
    wings.refuse(500);
    wings.cut();
    const afterNext = async (ms: number, tokens: number): Promise<void> => {
      clock.pass(ms);
      const asked = wings.origins.length;
      await until('the handshake was repeated twice', () => wings.origins.length > asked + 1);
      expect(times).toHaveLength(tokens);
    };
    await until('the first handshake has failed', () => wings.origins.length > 2);
    await afterNext(59_000, 1);
    await afterNext(1000, 2);
    await afterNext(299_000, 2);
    await afterNext(1000, 3);
  });

  test.each([
    ['a closed port', 'ws://127.0.0.1:9', 'ECONNREFUSED'],
    ['an unknown name', 'wss://node.invalid:8080', 'ENOTFOUND|EAI_AGAIN'],
    ['an untrusted certificate', 'wss://tls', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['TLS on a plain port', 'wss://plain', 'EPROTO|WRONG_VERSION_NUMBER'],
  ])('is logged with its host and the reason: %s', async (_, written, code) => {
    const { upstream, open, lines, clock } = await preparePanel();
    const secure = await createUpstream(() => json(200, {}), { tls: createCertificates() });
    const hosts = { 'wss://tls': secure.url, 'wss://plain': upstream.url };
    const url = hosts[written as keyof typeof hosts]?.replace(/^https?/, 'wss') ?? written;
    upstream.socket = `${url}/api/servers/any/ws`;
    const viewers = [open(), open()];
    for (const viewer of viewers) await until('the reason is reported', () => viewer.gaps.length > 0);
    expect(viewers[0]!.gaps).toEqual([unreachable]);
    expect(lines()).toMatchObject([{ level: 'warn', node: new URL(url).host, detail: expect.stringMatching(code) }]);
    clock.pass(60_000);
    await until('it is logged again', () => lines().length > 1);
    expect(lines()[1]).toMatchObject({ consoles: 1 });
  });

  test('is a warning of the check, with the host and the reason', async () => {
    const { upstream, wings, provider, clock, times } = await preparePanel();
    const warnings = async () => (await provider.check()).filter(({ level }) => level !== 'info');
    expect(await warnings()).toEqual([]);
    expect(wings.auths).toEqual([]);
    expect(await warnings()).toEqual([]);
    expect(times).toHaveLength(1);
    wings.refuse(400);
    expect(await warnings()).toMatchObject([{ message: expect.stringContaining('answered with 400') }]);
    clock.pass(60_000);
    upstream.socket = 'wss://127.0.0.1:9/api/servers/any/ws';
    expect(await warnings()).toMatchObject([
      { level: 'warn', message: expect.stringMatching(/127\.0\.0\.1:9: .*ECONNREFUSED/) },
    ]);
  });

  test('gets at most five handshakes at a time', async () => {
    const { wings, game, record } = await followPanel();
    wings.refuse('hang');
    record.source.close();
    const consoles = Array.from({ length: 8 }, () => recordConsole(game, wings.uuid));
    const asked = () => wings.origins.length - 1;
    await until('five wait', () => asked() === 5);
    consoles.slice(0, 2).forEach(({ source }) => source.close());
    await until('two more wait', () => asked() === 7);
    expect(wings.auths).toHaveLength(1);
  });
});

describe('the Origin of a handshake', () => {
  const name = 'https://panel.example.com';
  test.each([
    ['is the panel in the token', name, name, 1],
    ['has no slash at its end if the node refuses one', `${name}/`, name, 2],
    ['has a slash at its end if the node needs one', name, `${name}/`, 2],
    ['is the url of the provider if the node refuses the others', name, undefined, 3],
  ])('%s', async (_, issuer, expected, handshakes) => {
    const { upstream, wings, open, authorized, print } = await preparePanel();
    upstream.issuer = issuer;
    wings.expectOrigin(expected ?? upstream.url);
    const record = open();
    await record.ready();
    expect(wings.origins).toHaveLength(handshakes);
    // The accepted one is remembered.
    wings.cut();
    await authorized(2);
    expect(wings.origins).toHaveLength(handshakes + 1);
    await print(record, 'hello');
  });

  test('is logged with every spelling if the node refuses all', async () => {
    const { upstream, wings, open, lines } = await preparePanel();
    upstream.issuer = name;
    wings.expectOrigin('https://elsewhere.example.com');
    open();
    await until('the refusal is logged', () => lines().length > 0);
    expect(lines()[0]).toMatchObject({ detail: expect.stringContaining(`${name}, ${name}/, ${upstream.url}`) });
  });
});

describe('lines that come before the backlog', () => {
  const show = async (before: string[], backlog: string[], after: string[] = []) => {
    const { wings, open } = await preparePanel({ loadMs: 5000, loadQuietMs: 50 });
    for (const line of backlog) wings.print(line);
    wings.beforeLogs(() => before.forEach((line) => wings.publish('console output', line)));
    const record = open();
    await until('the backlog was requested', () => wings.logsSent() > 0);
    for (const line of after) wings.print(line);
    await until('the backlog is complete', () => record.loads > 0);
    await until('the lines came', () => record.lines.length >= new Set([...before, ...backlog, ...after]).size);
    return record.lines;
  };
  test.each([
    ['a line', ['3'], ['1', '2', '3'], ['1', '2', '3']],
    ['several lines', ['3', '4'], ['1', '2', '3', '4'], ['1', '2', '3', '4']],
    ['a line that does not come again', ['4', '5'], ['1', '2', '3', '4'], ['5', '1', '2', '3', '4']],
    ['only lines that do not come again', ['x'], ['1', '2'], ['x', '1', '2']],
    ['none', [], ['1', '2'], ['1', '2']],
  ])('stand where they belong: %s', async (_, before, backlog, expected) => {
    expect(await show(before, backlog)).toEqual(expected);
  });

  test('and go on while a slow node still reads it stand where they belong', async () => {
    // On a busy machine, neither the lines nor the history come on time; the lines after it end the wait.
    const { wings, open } = await preparePanel({ loadMs: 60_000, loadQuietMs: 60_000, loadMaxMs: 60_000 });
    for (const line of ['1', '2', '3']) wings.print(line);
    wings.delayLogs(1000);
    let number = 3;
    const ticks = setInterval(() => wings.print(`${(number += 1)}`), 50);
    onTestFinished(() => clearInterval(ticks));
    wings.beforeLogs(() => ['2', '3'].forEach((line) => wings.publish('console output', line)));
    const record = open();
    await until('the backlog is complete', () => record.loads > 0);
    const last = number;
    await record.received(`${last + 1}`);
    const lines = record.lines.slice(0, last + 1).map(Number);
    expect(new Set(lines)).toEqual(new Set(Array.from({ length: last + 1 }, (_, index) => index + 1)));
    expect(lines).toHaveLength(new Set(lines).size);
  });

  test('do not delay the lines after the backlog', async () => {
    expect(await show(['2'], ['1', '2'], ['3'])).toEqual(['1', '2', '3']);
  });
});

test('200 consoles of one node open, and open again after it was away, with 5 handshakes at a time', async () => {
  const claims = Buffer.from(JSON.stringify({ permissions: ['websocket.connect'] })).toString('base64url');
  const node = new WebSocketServer({ noServer: true });
  let isAway = false;
  let running = 0;
  let most = 0;
  const upstream = await createUpstream(({ path }) => {
    const socket = `${upstream.url.replace('http', 'ws')}${path}`;
    return json(200, { data: { token: `x.${claims}.x`, socket } });
  });
  upstream.server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    running += 1;
    most = Math.max(most, running);
    stream.on('error', () => undefined);
    setTimeout(() => {
      running -= 1;
      if (isAway) stream.end('HTTP/1.1 502 No\r\nconnection: close\r\n\r\n');
      else node.handleUpgrade(request, stream, head, (socket) => node.emit('connection', socket));
    }, 5);
  });
  node.on('connection', (socket: WebSocket) =>
    socket.on('message', (data: Buffer) => {
      if (!data.toString().includes('"auth"')) return;
      for (const message of ['{"event":"auth success"}', '{"event":"status","args":["running"]}']) socket.send(message);
    }),
  );
  const keys = { token: panelKeys.write, read_only_token: panelKeys.read };
  const { game, lines } = openProvider({ type: 'pterodactyl', url: upstream.url, ...keys });
  const open = (_: unknown, index: number) =>
    recordViewer(game, (0x10000000 + index).toString(16), { firstMs: 20, maxMs: 100 });
  const viewers = Array.from({ length: 200 }, open);
  await until('all are open', () => viewers.every(({ states }) => states.length === 1));
  isAway = true;
  node.clients.forEach((socket) => socket.terminate());
  await until('all have lost the node', () => viewers.every(({ gaps }) => gaps.includes(refused)));
  isAway = false;
  await until('all are open again', () => node.clients.size === 200);
  await until('all have a new token', () => upstream.seen.length === 400);
  expect(most).toBe(5);
  expect(lines().filter(({ msg }) => msg === 'the console of a node cannot be opened')).toHaveLength(1);
});
