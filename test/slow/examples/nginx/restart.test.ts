import { Agent, request } from 'node:http';
import type { RequestOptions } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../../../helpers/free-port.ts';
import { describeNginx, runExample } from '../../../helpers/nginx.ts';
import { createServable, startProcess } from '../../../server/process.ts';
import type { ServerProcess } from '../../../server/process.ts';

const connections = 500;
/** Pause of a client between requests: without it, 500 clients would use all CPUs. */
const pauseMs = 250;

const repeatable = { method: 'POST', headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'restart-1' } };

/** Requests of clients with the expected status. The number makes some requests miss the cache. */
const requests: readonly ((count: number) => readonly [target: string, status: number, options?: RequestOptions])[] = [
  () => ['/v1/info', 200],
  () => ['/v1/blog/article?path=/blog/news/first', 200],
  (count) => [`/v1/plans?count=${count}`, 200],
  () => ['/v1/hosting/cloud/vps-custom/mine', 401],
  () => ['/v1/hosting/game/power/mine/start', 401, repeatable],
];

/** Starts clients: each sends requests one after the other on one connection. */
function startClients(port: number) {
  const lost: string[] = [];
  const times: number[] = [];
  let opened = 0;
  const over = new AbortController();
  const send = (agent: Agent, count: number): Promise<void> => {
    const [path, expected, options] = requests[count % requests.length]!(count);
    const sentAt = performance.now();
    const fail = (text: string) => lost.push(`${path}: ${text}`);
    return new Promise((done) => {
      const sent = request({ ...options, host: '127.0.0.1', port, path, agent }, (response) => {
        response.resume();
        response.on('error', ({ message }) => fail(message));
        response.on('close', () => {
          times.push(performance.now() - sentAt);
          if (response.statusCode !== expected || !response.complete) fail(`status ${response.statusCode}`);
          done();
        });
      });
      sent.on('error', ({ message }) => {
        fail(message);
        done();
      });
      sent.on('socket', () => (opened += sent.reusedSocket ? 0 : 1));
      sent.end(options && '{}');
    });
  };
  const run = async (client: number): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await sleep((client / connections) * pauseMs);
    for (let count = client; !over.signal.aborted; count += 1) {
      await send(agent, count);
      await sleep(pauseMs);
    }
    agent.destroy();
  };
  const clients = Array.from({ length: connections }, (_, client) => run(client));
  return {
    lost,
    times,
    opened: () => opened,
    async stop() {
      over.abort();
      await Promise.all(clients);
    },
  };
}

describeNginx((run) => {
  test('a rolling restart of both instances loses no request of 500 clients', async () => {
    const { root, settings } = await createServable();
    const limits = { RATELIMIT_RPS: '100000', RATELIMIT_BURST: '100000', LOG_LEVEL: 'warn' };
    const usual = { ...settings, ...limits, TRUSTED_PROXIES: '127.0.0.1', DATA_DIR: join(root, 'data') };
    const ports = [await findFreePort(), await findFreePort()];
    const start = async (port: number): Promise<ServerProcess> => {
      const instance = startProcess({ ...usual, PORT: String(port), SHUTDOWN_DELAY_SECONDS: '5' });
      await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status).toBe(200);
      return instance;
    };
    const instances = [await start(ports[0]!), await start(ports[1]!)];
    const limit = { rate: '100000r/s', burst: 100_000 };
    const nginx = await runExample(run(), { instances: ports, limit });
    const clients = startClients(nginx.port);
    onTestFinished(() => clients.stop());
    await expect.poll(() => clients.times.length).toBeGreaterThan(2 * connections);
    for (const [at, port] of ports.entries()) {
      instances[at]!.child.kill('SIGTERM');
      expect(await instances[at]!.ended()).toBe(0);
      instances[at] = await start(port);
      // nginx's fail_timeout: then the instance is used again.
      await sleep(2000);
    }
    const during = clients.times.length;
    await expect.poll(() => clients.times.length).toBeGreaterThan(during + 2 * connections);
    await clients.stop();
    expect(clients.lost).toEqual([]);
    // nginx closes a connection after a thousand requests, which takes four minutes.
    expect(clients.opened()).toBe(connections);
    const sorted = clients.times.toSorted((one, other) => one - other);
    const [p50, p99] = [0.5, 0.99].map((part) => sorted[Math.floor(sorted.length * part)]!.toFixed(1));
    process.stderr.write(`${sorted.length} requests, lost 0, p50 ${p50} ms, p99 ${p99} ms\n`);
  });
});
