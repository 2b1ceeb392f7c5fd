import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { createTestApp, openRaw } from '../../helpers/app.ts';
import { createHostingWorld } from '../../helpers/hosting.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import type { Seen } from '../../helpers/upstream.ts';
import { createToken } from '../../operators/operators.ts';
import { ask, askEndpoint, askJson } from '../../server/ask.ts';
import { createServable, startProcess } from '../../server/process.ts';
import { eventually, serveHosting, sharedProject } from '../../server/shared.ts';
import type { SharedApp } from '../../server/shared.ts';

const isPower = ({ path }: Seen): boolean => path.endsWith('/power');

test.each([
  { when: 'the start', timeout: '1', faults: 2 },
  { when: 'a stop during their check, which logs no fault', timeout: '60', faults: 0 },
])('unresponsive upstreams do not block $when', async ({ timeout, faults }) => {
  const world = await createHostingWorld(temporaryFolder());
  world.panel.fail('hang');
  world.hetzner.fail('hang');
  const settings = { ...world.settings, UPSTREAM_TIMEOUT_SECONDS: timeout };
  const app = await createTestApp({ root: await sharedProject(), settings });
  expect((await ask(app, '/health')).status).toBe(200);
  expect((await ask(app, '/v1/plans')).status).toBe(200);
  await expect.poll(() => world.panel.seen.length + world.hetzner.seen.length, eventually).toBeGreaterThan(1);
  const lines = () => app.log().filter(({ msg }) => /cannot be reached/.test(String(msg)));
  const unreachable = () => new Set(lines().map(({ check }) => check)).size;
  await expect.poll(unreachable, eventually).toBe(faults);
  await app.stop();
  expect(unreachable()).toBe(faults);
});

test('actions on a server run one after the other, and a long wait is refused', async () => {
  // The second action waits for half of this time, which is over long before the first one ends.
  const { app, world } = await serveHosting({ UPSTREAM_TIMEOUT_SECONDS: '6' });
  world.panel.fail('hang', isPower);
  const first = askEndpoint(app, 'startGameServer');
  await expect.poll(() => world.panel.seen.filter(isPower).length, eventually).toBe(1);
  const second = askEndpoint(app, 'stopGameServer');
  // Other servers are not blocked.
  expect((await askEndpoint(app, 'startVps')).status).toBe(200);
  const message = 'Another action on this server is still running';
  expect(await second).toMatchObject({ status: 502, text: renderProblem('json', 'provider_error', message) });
  expect((await first).status).toBe(502);
  expect(world.panel.seen.filter(isPower)).toHaveLength(1);

  world.panel.fail(undefined);
  const answers = await Promise.all([1, 2, 3, 4].map(() => askEndpoint(app, 'startGameServer')));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(world.panel.seen.filter(isPower)).toHaveLength(5);
});

test('Ctrl-C in the terminal of npm completes the running action, keeps the delay and exits 0', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const { settings } = await createServable();
  const all = { ...settings, ...world.settings, SHUTDOWN_DELAY_SECONDS: '3', LOG_FORMAT: 'json' };
  // script is a terminal: it sends SIGINT to the whole group for this character, and npm signals the server again.
  const child = spawn('script', ['-qfec', 'exec npm run --silent serve', '/dev/null'], {
    cwd: resolve(import.meta.dirname, '../../..'),
    env: { PATH: process.env.PATH, HOME: temporaryFolder(), ...all },
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const closed = once(child, 'close');
  onTestFinished(() => void child.kill('SIGKILL'));
  await expect.poll(() => printed, eventually).toMatch(/"msg":"listening"/);
  const port = Number(/"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(printed)![1]);
  const app = { port, key: await world.issueKey() } as SharedApp;
  world.panel.fail({ status: 204, ms: 2000 }, isPower);
  const running = askEndpoint(app, 'startGameServer').then(
    ({ status }) => status,
    () => 'cut',
  );
  await expect.poll(() => world.panel.seen.filter(isPower).length, eventually).toBe(1);
  const began = performance.now();
  child.stdin.write('\u0003');
  await expect.poll(() => printed, eventually).toMatch(/"msg":"draining"/);
  await sleep(500);
  expect((await askJson(app, '/ready')).json).toEqual({ status: 'draining' });
  expect(await running).toBe(200);
  expect(await closed).toEqual([0, null]);
  expect(performance.now() - began).toBeGreaterThan(2900);
  expect(printed).toMatch(/"msg":"stopped"/);
});

test('SIGTERM during an action ends the server within the grace, and the outcome is audited', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const key = await world.issueKey();
  const { settings } = await createServable();
  // The server must not wait for the upstream, beyond the timeout of this test.
  const all = { ...settings, ...world.settings, SHUTDOWN_GRACE_SECONDS: '1', UPSTREAM_TIMEOUT_SECONDS: '600' };
  const first = startProcess(all);
  const app = { port: await first.listening(), key } as SharedApp;
  world.panel.fail('hang', isPower);
  const headers = { 'Idempotency-Key': 'order-4711' };
  const lost = askEndpoint(app, 'startGameServer', { headers }).catch(() => 'cut');
  await expect.poll(() => world.panel.seen.filter(isPower).length, eventually).toBe(1);
  first.child.kill('SIGTERM');
  expect(await first.ended()).toBe(0);
  expect(await lost).toBe('cut');
  expect((await Array.fromAsync(world.store.audit.entries({}))).map(({ outcome }) => outcome)).toEqual([
    null,
    'unknown',
  ]);

  world.panel.fail(undefined);
  const second = startProcess(all);
  const again = { port: await second.listening(), key } as SharedApp;
  const replayed = await askEndpoint(again, 'startGameServer', { headers });
  expect(replayed).toMatchObject({ status: 502, headers: { 'idempotent-replayed': 'true' } });
  expect(world.panel.seen.filter(isPower)).toHaveLength(1);
});

/** Stops a server until its port is closed. */
async function closePort(app: SharedApp & { readonly stop: () => Promise<void> }) {
  const stopped = app.stop();
  const askHealth = () => ask(app, '/health').then(String, (error: NodeJS.ErrnoException) => error.code);
  await expect.poll(askHealth, eventually).toBe('ECONNREFUSED');
  return { stopped };
}

test('an action whose client has left completes within the grace period of a stop', async () => {
  const { app, world } = await serveHosting({ SHUTDOWN_GRACE_SECONDS: '60' });
  const arrived = world.panel.hold(isPower);
  const { socket } = await openRaw(app.port);
  const head = `POST /v1/hosting/game/power/mine/start HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}`;
  socket.write(`${head}\r\nContent-Length: 0\r\n\r\n`);
  const release = await arrived;
  socket.resetAndDestroy();
  await expect.poll(() => app.log().some(({ status }) => status === 499), eventually).toBe(true);
  const { stopped } = await closePort(app);
  release();
  await stopped;
  const outcomes = (await Array.fromAsync(world.store.audit.entries({}))).map(({ outcome }) => outcome);
  expect(outcomes).toEqual([null, 'ok']);
});

test("a running request at the operators' port does not keep the public port open", async () => {
  const world = await createHostingWorld(temporaryFolder());
  const { app } = await serveHosting({ SHUTDOWN_GRACE_SECONDS: '60', OPERATOR_PORT: '0' }, { world });
  const { id, token } = await createToken(world, 'billing', '--right', 'servers');
  const { socket } = await openRaw(app.operatorPort!);
  const head = `PUT /v1/operator/servers/game:1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}`;
  socket.write(`${head}\r\nContent-Length: 99\r\n\r\n{`);
  await expect.poll(async () => (await world.store.operators.find(id))!.lastUsedAt, eventually).not.toBeNull();
  const { stopped } = await closePort(app);
  expect(socket.closed).toBe(false);
  socket.destroy();
  await stopped;
});
