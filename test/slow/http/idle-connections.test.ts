import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { TestContext } from 'vitest';
import { createTestApp } from '../../helpers/app.ts';
import { listenOn } from '../../../server/http/listen.ts';

const idleMs = 4_000;
/** The check interval of Node.js adds up to a second. */
const soonMs = idleMs + 2_500;
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** A connection to a server with a short idle timeout and a slow `/slow`. */
async function open({ onTestFinished }: TestContext): Promise<Socket> {
  const server = await listenOn(
    (request, response) => void setTimeout(() => response.end('done'), request.url === '/slow' ? soonMs : 0),
    { host: '127.0.0.1', port: 0, idleMs, stalledMs: 2 * soonMs },
  );
  server.http.on('upgrade', (_, socket: Socket) => {
    socket.on('end', () => socket.end()).resume();
    socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  });
  const client = connect(Number(new URL(server.url).port), '127.0.0.1');
  onTestFinished(() => {
    client.destroy();
    return server.drain(0);
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
  test('without traffic is closed after the timeout, not before', async (context) => {
    const client = await open(context);
    expect(await ask(client, '/')).toContain('done');
    const answered = performance.now();
    await once(client, 'close');
    expect(performance.now() - answered).toBeGreaterThan(idleMs - 100);
    expect(performance.now() - answered).toBeLessThan(5 * idleMs);
  });

  test('without any request is closed, too', async (context) => {
    const client = await open(context);
    await once(client, 'close');
    expect(client.bytesRead).toBe(0);
  });

  test('in regular use stays open', async (context) => {
    const client = await open(context);
    for (let time = 0; time < soonMs + 1_000; time += 1_000) {
      expect(await ask(client, '/')).toContain('done');
      await sleep(1_000);
    }
    expect(client.closed).toBe(false);
  });

  test('waiting for a slow answer stays open, then idle for the full timeout', async (context) => {
    const client = await open(context);
    expect(await ask(client, '/slow')).toContain('done');
    await sleep(idleMs / 2);
    expect(await ask(client, '/')).toContain('done');
  });

  test('upgraded to a websocket stays open', async (context) => {
    const client = await open(context);
    client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(answer.toString()).toContain('101');
    await sleep(soonMs);
    expect(client.closed).toBe(false);
  });
});

test('KEEP_ALIVE_SECONDS closes idle connections', async ({ onTestFinished }) => {
  const { port } = await createTestApp({ settings: { KEEP_ALIVE_SECONDS: '1' } });
  const client = connect(port, '127.0.0.1');
  onTestFinished(() => void client.destroy());
  expect(await ask(client, '/health')).toMatch(/^Keep-Alive: timeout=1\r$/m);
  await once(client, 'close');
});
