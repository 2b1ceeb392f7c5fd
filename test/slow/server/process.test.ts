import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openRaw } from '../../helpers/app.ts';
import { buildProject } from '../../helpers/project.ts';
import { ask, askJson } from '../../server/ask.ts';
import { createServable, serveProcess, startProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';
import { readManifest } from '../../server/targets.ts';

const vote = '{"helpful":true}';

/** Opens a connection with a vote without its last byte. */
async function beginVote(port: number) {
  const client = await openRaw(port);
  const head = `POST /v1/kb/feedback HTTP/1.1\r\nHost: x\r\nContent-Length: ${vote.length}\r\n\r\n`;
  await new Promise((sent) => client.socket.write(head + vote.slice(0, -1), sent));
  // An answer to a later request proves that the server has read the earlier bytes.
  await ask({ port }, '/health');
  await ask({ port }, '/health');
  return client;
}

describe('the start', () => {
  test('is logged in one line of JSON with the address, the release and the version', async () => {
    const server = await serveProcess({ SERVICE_VERSION: '7.8.9' });
    const line = await server.logged('listening');
    expect(line).toEqual({
      level: 'info',
      time: expect.any(String),
      msg: 'listening',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/),
      release: readManifest(server.root).id,
      version: '7.8.9',
    });
    expect(Date.parse(line.time as string)).toBeGreaterThan(Date.now() - 60_000);
    const { json } = await askJson(server, '/v1/info');
    expect(json).toEqual({ version: '7.8.9' });
    expect(server.stderr()).toBe('');
  });

  test('listens on the loopback interface by default', async () => {
    const { port } = await serveProcess();
    await expect(reach(port, '127.0.0.2')).rejects.toThrow('ECONNREFUSED');
    await expect(reach(port, '127.0.0.1')).resolves.toBeUndefined();
  });

  test('listens on all interfaces with HOST=0.0.0.0', async () => {
    const server = await serveProcess({ HOST: '0.0.0.0' });
    await expect(reach(server.port, '127.0.0.1')).resolves.toBeUndefined();
    await expect(reach(server.port, '127.0.0.2')).resolves.toBeUndefined();
    expect(server.stderr()).toBe('');
  });

  test('listens on the IPv6 loopback interface with HOST=::1', async () => {
    const { port } = await serveProcess({ HOST: '::1' });
    await expect(reach(port, '::1')).resolves.toBeUndefined();
    await expect(reach(port, '127.0.0.1')).rejects.toThrow('ECONNREFUSED');
  });
});

async function reach(port: number, host: string): Promise<void> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  test('ends an idle server with status 0 and a log line', async () => {
    const server = await serveProcess();
    server.child.kill(signal);
    expect(await server.ended()).toBe(0);
    expect(await server.logged('draining')).toMatchObject({ level: 'info', signal });
    expect(await server.logged('stopped')).toMatchObject({ level: 'info' });
    expect(server.stderr()).toBe('');
  });

  test('completes a running request, accepts no new connection and exits with 0', async () => {
    const server = await serveProcess();
    const { socket, received } = await beginVote(server.port);
    server.child.kill(signal);
    await server.logged('draining');
    const connectAgain = () => reach(server.port, '127.0.0.1').catch((error: Error) => error.message);
    await expect.poll(connectAgain, eventually).toContain('ECONNREFUSED');
    socket.write(vote.slice(-1));
    expect(await server.ended()).toBe(0);
    expect(received()).toMatch(/^HTTP\/1\.1 202 Accepted\r\n/);
    expect(received()).toMatch(/^Connection: close\r$/im);
    expect(received()).toMatch(/\r\n\r\n\{"success":true\}\n$/);
    await server.logged('stopped');
  });
});

test('a request beyond SHUTDOWN_GRACE_SECONDS is aborted, then the server exits', async () => {
  const server = await serveProcess({ SHUTDOWN_GRACE_SECONDS: '1' });
  const { received, closed } = await beginVote(server.port);
  const began = performance.now();
  server.child.kill('SIGTERM');
  expect(await server.ended()).toBe(0);
  await closed;
  expect(received()).toBe('');
  expect(performance.now() - began).toBeGreaterThan(900);
  await server.logged('stopped');
});

test('a second signal after more than a second ends a waiting server at once', async () => {
  const server = await serveProcess({ SHUTDOWN_GRACE_SECONDS: '600' });
  await beginVote(server.port);
  // At once: a busy machine may take a second until it logs the first.
  server.child.kill('SIGTERM');
  server.child.kill('SIGINT');
  await server.logged('draining');
  await sleep(1100);
  expect(server.child.exitCode).toBeNull();
  server.child.kill('SIGTERM');
  expect(await server.ended()).toBe(1);
});

test('SIGHUP does not end a server after its start', async () => {
  const server = await serveProcess();
  server.child.kill('SIGHUP');
  for (let time = 0; time < 5; time += 1) expect((await ask(server, '/health')).status).toBe(200);
  expect(server.child.exitCode).toBeNull();
  expect(server.child.signalCode).toBeNull();
});

test.each(['json', 'pretty'])('a closed log pipe (%s) does not end a server', async (format) => {
  const { root, settings } = await createServable();
  const server = startProcess({ ...settings, LOG_FORMAT: format });
  const url = /http:\/\/127\.0\.0\.1:(\d+)/;
  while (!url.test(server.stdout())) await once(server.child.stdout, 'data');
  const port = Number(url.exec(server.stdout())![1]);
  server.child.stdout.destroy();
  server.child.stderr.destroy();
  for (let time = 0; time < 20; time += 1) expect((await ask({ port }, '/v1/plans')).status).toBe(200);
  // The release watcher also writes to the log and continues.
  await buildProject(root, { now: '2026-02-01' });
  await expect
    .poll(async () => (await ask({ port }, '/v1/blog/article?path=/blog/news/second')).status, eventually)
    .toBe(404);
  server.child.kill('SIGTERM');
  expect(await server.ended()).toBe(0);
});
