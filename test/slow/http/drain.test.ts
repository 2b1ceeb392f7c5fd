import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openRaw } from '../../helpers/app.ts';
import { createHostingWorld } from '../../helpers/hosting.ts';
import type { HostingWorld } from '../../helpers/hosting.ts';
import { buildProject, temporaryFolder, writeFiles } from '../../helpers/project.ts';
import { ask } from '../../server/ask.ts';
import { createServable, serveProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';

/** The maximum wait of a server, and a much shorter time that means "at once" on a busy machine. */
const graceSeconds = 120;
const soonMs = 40_000;
const largeBytes = 24 * 1024 * 1024;

const start = (settings: Readonly<Record<string, string>> = {}) =>
  serveProcess({ SHUTDOWN_GRACE_SECONDS: String(graceSeconds), ...settings });

type Client = Awaited<ReturnType<typeof openRaw>>;

/** Waits until the server has read all earlier bytes, by the answer to a later request. */
async function settle(port: number): Promise<void> {
  for (let time = 0; time < 3; time += 1) await ask({ port }, '/health');
}

async function askOn({ socket }: Client, target: string): Promise<void> {
  socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(socket, 'data');
}

/** Idle connections by their history. */
const idle: Readonly<Record<string, (client: Client) => Promise<void> | void>> = {
  'that was used and is kept alive': (client) => askOn(client, '/health'),
  'that was never used': () => undefined,
  'with half a request line': ({ socket }) => void socket.write('GET /v1/pl'),
  'with half of the headers': ({ socket }) => void socket.write('GET /v1/plans HTTP/1.1\r\nHost: x\r\nX-Half: '),
  'with all headers but the last line end': ({ socket }) => void socket.write('GET /v1/plans HTTP/1.1\r\nHost: x\r\n'),
  'that sent a CRLF before any request': ({ socket }) => void socket.write('\r\n'),
  'that sent a CRLF after an answer': async (client) => {
    await askOn(client, '/v1/plans');
    client.socket.write('\r\n');
  },
  'that sent half a request line after an answer': async (client) => {
    await askOn(client, '/v1/plans');
    client.socket.write('GET /v1/pl');
  },
};

test.each(Object.entries(idle))('a connection %s does not delay the shutdown', async (_, prepare) => {
  const server = await start();
  const client = await openRaw(server.port);
  await prepare(client);
  await settle(server.port);
  const before = client.received();
  const began = performance.now();
  server.child.kill('SIGTERM');
  expect(await server.ended()).toBe(0);
  expect(performance.now() - began).toBeLessThan(soonMs);
  await client.closed;
  expect(client.received()).toBe(before);
  expect(server.stderr()).toBe('');
});

/** Makes the panel answer a power action when `finish` is called. */
function holdActions({ panel }: HostingWorld) {
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const [answer] = panel.server.listeners('request') as [RequestListener];
  panel.server.removeAllListeners('request').on('request', ((request, response) => {
    if (!request.url!.endsWith('/power')) return answer(request, response);
    void finished.then(() => answer(request, response));
  }) satisfies RequestListener);
  return finish;
}

/** Starts a server with a power action that runs until `finish`. */
async function beginAction(settings: Readonly<Record<string, string>> = {}) {
  const world = await createHostingWorld(temporaryFolder());
  const finish = holdActions(world);
  const key = await world.issueKey();
  const server = await start({ ...world.settings, ...settings });
  const isPower = new Promise<void>((resolve) => {
    world.panel.server.on('request', ({ url }) => url?.endsWith('/power') && resolve());
  });
  const client = await openRaw(server.port);
  const lines = ['POST /v1/hosting/game/power/mine/start HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`];
  client.socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  await isPower;
  return { world, server, client, finish };
}

function expectAction(received: string): void {
  expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(received).toMatch(/\r\n\r\n\{"success":true,"action":"start".*\}\n$/);
}

describe('a running action', () => {
  test('is answered completely with Connection: close, then the server exits', async () => {
    const { world, server, client, finish } = await beginAction();
    server.child.kill('SIGTERM');
    await server.logged('draining');
    await sleep(500);
    expect(server.child.exitCode).toBeNull();
    finish();
    expect(await server.ended()).toBe(0);
    const ended = performance.now();
    expectAction(client.received());
    expect(client.received()).toMatch(/^Connection: close\r$/im);
    expect(ended - (await client.closed)).toBeLessThan(soonMs);
    expect(world.panel.signals).toEqual(['start']);
    expect((await Array.fromAsync(world.store.audit.entries({}))).map(({ outcome }) => outcome)).toEqual([null, 'ok']);
  });

  test('is answered, like a request behind it on the same connection', async () => {
    const { server, client, finish } = await beginAction();
    client.socket.write('GET /v1/info HTTP/1.1\r\nHost: x\r\n\r\n');
    await settle(server.port);
    server.child.kill('SIGTERM');
    await server.logged('draining');
    finish();
    expect(await server.ended()).toBe(0);
    await client.closed;
    expect(client.received()).toMatch(/"action":"start"[^]*HTTP\/1\.1 200 OK\r\n[^]*"version":/);
  });

  test('is awaited while idle connections are closed', async () => {
    const { server, client, finish } = await beginAction();
    const others = await Promise.all(
      Object.values(idle).map(async (prepare) => {
        const other = await openRaw(server.port);
        await prepare(other);
        return other;
      }),
    );
    await settle(server.port);
    server.child.kill('SIGTERM');
    await Promise.all(others.map((other) => other.closed));
    expect(client.received()).toBe('');
    finish();
    const answered = await client.closed;
    expect(await server.ended()).toBe(0);
    expect(performance.now() - answered).toBeLessThan(soonMs);
    expectAction(client.received());
  });
});

/** Reads an answer in small steps; returns the size of its body. */
async function readSlowly(socket: Socket): Promise<number> {
  let bytes = 0;
  let headBytes = -1;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    // The headers arrive in the first chunk.
    if (headBytes < 0) headBytes = chunk.indexOf('\r\n\r\n') + 4;
    bytes += chunk.length;
    await sleep(5);
  }
  return bytes - headBytes;
}

test('a slow reader gets every byte during a running action, then the server exits', async () => {
  const { root, settings } = await createServable();
  writeFiles(root, { 'content/media/large.mp4': Buffer.alloc(largeBytes, 'media ') });
  await buildProject(root);
  const { server, client, finish } = await beginAction({
    DIST_DIR: settings.DIST_DIR!,
    SHUTDOWN_GRACE_SECONDS: '600',
  });
  const slow = connect(server.port, '127.0.0.1');
  onTestFinished(() => void slow.destroy());
  slow.write('GET /media/large.mp4 HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(slow, 'readable');
  const received = readSlowly(slow);
  server.child.kill('SIGTERM');
  await server.logged('draining');
  expect(await received).toBe(largeBytes);
  finish();
  expect(await server.ended()).toBe(0);
  expectAction(client.received());
});

test('a keep-alive connection is answered until SIGTERM, and the last answer is complete', async () => {
  const server = await start();
  const client = await openRaw(server.port);
  const { text } = await ask(server, '/v1/plans');
  client.socket.write('GET /v1/plans HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(50));
  await expect.poll(() => client.received().split(text).length, eventually).toBeGreaterThan(1);
  server.child.kill('SIGTERM');
  expect(await server.ended()).toBe(0);
  await client.closed;
  // The number of answers varies, but each is complete.
  const answers = client.received().split(/(?=HTTP\/1\.1 )/);
  expect(answers.filter((answer) => !answer.endsWith(text))).toEqual([]);
});
