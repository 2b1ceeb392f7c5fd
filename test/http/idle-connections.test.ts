import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { TestContext } from 'vitest';
import { createConnections } from '../../server/http/drain.ts';

const idleMs = 1_500;
/** Until the second look after that. */
const soonMs = idleMs + 2_500;
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** A connection to a server of little patience, which takes its time for `/slow`. */
async function open({ onTestFinished }: TestContext): Promise<Socket> {
  const connections = createConnections((request, response) => {
    setTimeout(() => response.end('done'), request.url === '/slow' ? soonMs : 0);
    return () => undefined;
  });
  const server = createServer(connections.listener).listen(0, '127.0.0.1');
  server.on('upgrade', (_, socket: Socket) => {
    socket.on('end', () => socket.end()).resume();
    socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  });
  await once(server, 'listening');
  const stop = connections.watch(server, { stalledMs: 60_000, idleMs });
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    client.destroy();
    return stop(0);
  });
  await once(client, 'connect');
  return client.resume();
}

async function ask(client: Socket, path: string): Promise<string> {
  client.write(get(path));
  const [answer] = (await once(client, 'data')) as [Buffer];
  return answer.toString();
}

describe.concurrent('a connection', () => {
  test('on which everything was answered is closed after a while, and not before', async (context) => {
    const client = await open(context);
    expect(await ask(client, '/')).toContain('done');
    const answered = performance.now();
    await once(client, 'close');
    expect(performance.now() - answered).toBeGreaterThan(idleMs - 100);
    expect(performance.now() - answered).toBeLessThan(soonMs + 1_000);
  });

  test('on which nothing ever came is closed as well', async (context) => {
    const client = await open(context);
    await once(client, 'close');
    expect(client.bytesRead).toBe(0);
  });

  test('that is used now and then stays', async (context) => {
    const client = await open(context);
    for (let time = 0; time < 2 * soonMs; time += 1_000) {
      // oxlint-disable-next-line no-await-in-loop
      expect(await ask(client, '/')).toContain('done');
      // oxlint-disable-next-line no-await-in-loop
      await sleep(1_000);
    }
    expect(client.closed).toBe(false);
  });

  test('that waits long for an answer stays, and is as good as any when it has come', async (context) => {
    const client = await open(context);
    expect(await ask(client, '/slow')).toContain('done');
    await sleep(idleMs - 500);
    expect(await ask(client, '/')).toContain('done');
  });

  test('in the middle of a request is not idle', async (context) => {
    const client = await open(context);
    expect(await ask(client, '/')).toContain('done');
    client.write('GET / HTTP');
    await sleep(soonMs);
    client.write('/1.1\r\nHost: x\r\n\r\n');
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(answer.toString()).toContain('done');
  });

  test('that has become a websocket stays', async (context) => {
    const client = await open(context);
    client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(answer.toString()).toContain('101');
    await sleep(soonMs);
    expect(client.closed).toBe(false);
  });
});
