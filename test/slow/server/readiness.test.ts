import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { TestApp } from '../../helpers/app.ts';
import { stopClock } from '../../helpers/clock.ts';
import { createHostingWorld } from '../../helpers/hosting.ts';
import { mountSmall } from '../../helpers/permitted.ts';
import { describePostgres, setReadOnly, withClient } from '../../helpers/postgres.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { openStream } from '../../hosting/instances.ts';
import { ask, askEndpoint } from '../../server/ask.ts';
import { serveProcess } from '../../server/process.ts';
import { eventually, serveHosting } from '../../server/shared.ts';
import type { SharedApp } from '../../server/shared.ts';

const ready = { status: 200, text: '{"status":"ready"}\n' };
const unready = { status: 503, text: '{"status":"unready"}\n' };
const draining = { status: 503, text: '{"status":"draining"}\n' };

async function askReady(app: { readonly port: number }) {
  const { status, text } = await ask(app, '/ready');
  return { status, text };
}

/** The lines of a log about failures. */
const failures = (log: ReturnType<TestApp['log']>) => log.filter(({ level }) => level === 'error' || level === 'warn');

describePostgres((server) => {
  test('with an unreachable store the server is unready, and logs the outage once', async () => {
    const databaseUrl = await server().createDatabase();
    const { app } = await serveHosting({ FEEDBACK_RATELIMIT_BURST: '1000' }, { databaseUrl });
    expect(await askReady(app)).toEqual(ready);
    expect((await askEndpoint(app, 'startGameServer')).status).toBe(200);

    const [admin, name] = [databaseUrl.replace(/\w+$/, 'postgres'), /\w+$/.exec(databaseUrl)![0]];
    await withClient(admin, async (client) => {
      await client.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
      await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
    });
    await expect.poll(() => askReady(app), eventually).toEqual(unready);
    for (let count = 0; count < 10; count += 1) {
      const { status, headers, text } = await askEndpoint(app, 'startGameServer');
      expect({ status, text }).toMatchObject({ status: 500, text: expect.stringContaining('"internal_error"') });
      expect(headers['retry-after']).toBe('5');
      // A vote is accepted even if the count fails.
      await ask(app, '/v1/kb/feedback', { method: 'POST', body: '{"helpful":true}' });
    }
    expect((await ask(app, '/v1/plans')).status).toBe(200);
    expect((await ask(app, '/health')).status).toBe(200);
    // On a busy machine, slow rate limits may be logged, too.
    const log = app.log().filter(({ msg }) => !String(msg).includes('database too slow for rate limits'));
    expect(failures(log)).toEqual([
      expect.objectContaining({ level: 'error', msg: 'the store does not answer', reason: expect.any(String) }),
    ]);
    expect(JSON.stringify(log)).not.toContain('"stack"');

    await withClient(admin, (client) => client.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`));
    await expect.poll(() => askReady(app), eventually).toEqual(ready);
    expect((await askEndpoint(app, 'startGameServer')).status).toBe(200);
    await expect.poll(() => app.log().some(({ msg }) => msg === 'the store answers again'), eventually).toBe(true);
  });

  test('the end of an action is in the store, although PostgreSQL restarted while it ran', async () => {
    const databaseUrl = await server().createDatabase();
    const { app, world } = await serveHosting({}, { databaseUrl });
    const arrived = world.panel.hold(({ path }) => path.endsWith('/power'));
    const answer = askEndpoint(app, 'startGameServer');
    const free = await arrived;
    await server().end('SIGINT');
    free();
    const { status, headers } = await answer;
    expect(status).toBe(200);
    await server().start();
    await expect.poll(() => askReady(app), eventually).toEqual(ready);
    // The end waits for the store, which takes it up to a second after it is ready.
    const readEntries = async () => {
      const entries = await Array.fromAsync(world.store.audit.entries({}));
      return entries.filter(({ requestId }) => requestId === headers['x-request-id']);
    };
    await expect
      .poll(readEntries, eventually)
      .toMatchObject([{ phase: 'requested' }, { phase: 'finished', outcome: 'ok' }]);
  });

  test('with a read-only PostgreSQL the server is unready', async () => {
    const databaseUrl = await server().createDatabase();
    const { app } = await serveHosting({ METRICS_PORT: '0' }, { databaseUrl });
    expect(await askReady(app)).toEqual(ready);
    const countWrites = async () =>
      (
        await withClient(databaseUrl, (client) =>
          client.query('SELECT 1 FROM hosting_health WHERE counter IS NOT NULL'),
        )
      ).rowCount;
    await expect.poll(countWrites, eventually).toBe(1);
    await setReadOnly(databaseUrl, 'on');
    onTestFinished(() => setReadOnly(databaseUrl, 'off'));
    const advance = stopClock();
    advance(10_000);
    await expect.poll(() => askReady(app), eventually).toEqual(unready);
    expect(await app.metrics()).toContain('store_answers 0');
    for (const target of ['/health', '/v1/plans']) expect((await ask(app, target)).status).toBe(200);
    await setReadOnly(databaseUrl, 'off');
    await expect.poll(() => askReady(app), eventually).toEqual(ready);
    expect((await askEndpoint(app, 'startGameServer')).status).toBe(200);
    // A failed write is retried at once, not after 10 s.
    await setReadOnly(databaseUrl, 'on');
    await expect.poll(async () => (await askEndpoint(app, 'startGameServer')).status, eventually).toBe(500);
    await expect.poll(() => askReady(app), eventually).toEqual(unready);
  });
});

test('with a full disk a server with SQLite is unready until there is room', async (context) => {
  const folder = mountSmall(context, 'size=4m');
  const { app } = await serveHosting({}, { world: await createHostingWorld(folder) });
  expect(await askReady(app)).toEqual(ready);
  const ballast = join(folder, 'ballast');
  expect(() => writeFileSync(ballast, Buffer.alloc(8 * 1024 * 1024))).toThrow('ENOSPC');
  await expect.poll(() => askReady(app), eventually).toEqual(unready);
  expect((await ask(app, '/v1/plans')).status).toBe(200);
  rmSync(ballast);
  await expect.poll(() => askReady(app), eventually).toEqual(ready);
  expect((await askEndpoint(app, 'startGameServer')).status).toBe(200);
});

test('after the database file is deleted the server is unready and serves no request from it', async () => {
  const folder = temporaryFolder();
  const { app, world } = await serveHosting({}, { world: await createHostingWorld(folder) });
  expect((await askEndpoint(app, 'startGameServer')).status).toBe(200);
  const file = join(folder, 'data', 'hosting.sqlite');
  for (const end of ['', '-wal', '-shm']) rmSync(file + end);
  const { status, headers } = await askEndpoint(app, 'startGameServer');
  expect({ status, retryAfter: headers['retry-after'] }).toEqual({ status: 500, retryAfter: '5' });
  expect(world.panel.signals).toEqual(['start']);
  await expect.poll(() => askReady(app), eventually).toEqual(unready);
  expect((await ask(app, '/v1/plans')).status).toBe(200);
  expect(failures(app.log())).toEqual([
    expect.objectContaining({ msg: 'the store does not answer', reason: expect.stringContaining(file) }),
  ]);
  expect(existsSync(file)).toBe(false);
});

test('after SIGTERM the port and streams stay open for SHUTDOWN_DELAY_SECONDS', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const key = await world.issueKey();
  const server = await serveProcess({ ...world.settings, SHUTDOWN_DELAY_SECONDS: '5' });
  const app = { port: server.port, key } as SharedApp;
  expect(await askReady(app)).toEqual(ready);
  const stream = await openStream(app);
  let streamEnded = 0;
  const closed = stream.ended.then((end) => {
    streamEnded = performance.now();
    return end;
  });
  const began = performance.now();
  server.child.kill('SIGTERM');
  await server.logged('draining');
  const answer = await ask(app, '/ready');
  expect({ status: answer.status, text: answer.text }).toEqual(draining);
  expect(answer.headers.connection).toBe('close');
  expect((await ask(app, '/v1/plans')).status).toBe(200);
  expect((await askEndpoint(app, 'startGameServer')).status).toBe(200);
  expect(await server.ended()).toBe(0);
  expect(await closed).toMatchObject({ code: 1012 });
  expect(streamEnded - began).toBeGreaterThan(4900);
});

test('a signal more than a second later skips SHUTDOWN_DELAY_SECONDS', async () => {
  const server = await serveProcess({ SHUTDOWN_DELAY_SECONDS: '600' });
  // At once: a busy machine may take a second until it logs the first.
  server.child.kill('SIGTERM');
  server.child.kill('SIGINT');
  await server.logged('draining');
  await sleep(1100);
  expect(await askReady(server)).toEqual(draining);
  server.child.kill('SIGTERM');
  expect(await server.ended()).toBe(0);
  await server.logged('stopped');
});
