import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import type { Seen } from '../helpers/upstream.ts';
import { ask, askEndpoint, askJson } from '../server/ask.ts';
import type { Answer } from '../server/ask.ts';
import { createServable, serveProcess, startProcess } from '../server/process.ts';
import { borrowHosting } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';

const target = '/v1/hosting/game/power/mine/start';
const mayBeDone = (requestId: unknown) =>
  renderProblem(
    'json',
    'provider_error',
    `The power action may have been done; see /v1/hosting/actions/${String(requestId)}`,
  );

const isPower = ({ path }: Seen): boolean => path.endsWith('/power');
const powerCalls = ({ panel }: HostingWorld): number => panel.seen.filter(isPower).length;

function start(app: SharedApp, idempotencyKey: string, other: { target?: string; body?: string; key?: string } = {}) {
  const headers = { 'Idempotency-Key': idempotencyKey };
  return ask(app, other.target ?? target, { method: 'POST', headers, key: app.key, ...other });
}

function isReplayed({ headers }: Answer): boolean {
  return headers['idempotent-replayed'] === 'true';
}

test('of 100 concurrent requests with one Idempotency-Key, one runs and the others get its answer or 409', async () => {
  const { app, world } = await borrowHosting();
  const answers = await Promise.all(Array.from({ length: 100 }, () => start(app, 'order-4711')));
  expect(powerCalls(world)).toBe(1);
  const answered = answers.filter(({ status }) => status === 200);
  expect(answered.filter((answer) => !isReplayed(answer))).toHaveLength(1);
  const inProgress = { status: 409, text: renderProblem('json', 'in_progress'), headers: { 'retry-after': '1' } };
  for (const answer of answers) if (!answered.includes(answer)) expect(answer).toMatchObject(inProgress);
  const again = await start(app, 'order-4711');
  expect(again.text).toBe(answered[0]!.text);
  expect(isReplayed(again)).toBe(true);
  expect(powerCalls(world)).toBe(1);
});

describe('the same Idempotency-Key', () => {
  test.each([
    ['another path', { target: target.replace('start', 'stop') }],
    ['a body', { body: '{"x":1}' }],
  ])('with %s is refused with 422', async (_, other) => {
    const { app, world } = await borrowHosting();
    await start(app, 'order-4711');
    const { status, text } = await start(app, 'order-4711', other);
    expect({ status, text }).toEqual({ status: 422, text: renderProblem('json', 'idempotency_mismatch') });
    expect(powerCalls(world)).toBe(1);
  });

  test.each([
    ['another query', `${target}?utm_source=mail`],
    ['another spelling', target.replace('/mine/', '/%6Dine/')],
  ])('with %s of the same path is the same request', async (_, other) => {
    const { app, world } = await borrowHosting();
    await start(app, 'order-4711');
    expect(isReplayed(await start(app, 'order-4711', { target: other }))).toBe(true);
    expect(powerCalls(world)).toBe(1);
  });

  test('of another API key is independent', async () => {
    const { app, world } = await borrowHosting();
    await start(app, 'order-4711');
    const other = await start(app, 'order-4711', { key: await world.issueKey() });
    expect(other.status).toBe(200);
    expect(isReplayed(other)).toBe(false);
    expect(powerCalls(world)).toBe(2);
  });

  test('grants no access', async () => {
    const { app, world } = await borrowHosting();
    await start(app, 'order-4711');
    const reader = await world.issueKey({ scopes: ['game-power:read'] });
    expect((await start(app, 'order-4711', { key: reader })).status).toBe(403);
    expect((await start(app, 'order-4711', { key: 'nonsense' })).status).toBe(401);
  });

  test('can be reused after a definite failure', async () => {
    const { app, world } = await borrowHosting();
    world.panel.fail({ status: 422 }, isPower);
    const text = renderProblem('json', 'provider_error', 'Failed to send the power action');
    const refused = { status: 502, text, headers: { 'action-outcome': 'not_sent' } };
    expect(await start(app, 'order-4711')).toMatchObject(refused);
    world.panel.fail(undefined);
    const answer = await start(app, 'order-4711');
    expect(answer.status).toBe(200);
    expect(isReplayed(answer)).toBe(false);
    expect(powerCalls(world)).toBe(2);
  });

  test('can be reused after a request that was refused before it ran', async () => {
    const { app } = await borrowHosting();
    const headers = { 'Idempotency-Key': 'order-4711' };
    expect((await askEndpoint(app, 'killGameServer', { headers, body: '{"force":false}' })).status).toBe(400);
    expect((await askEndpoint(app, 'killGameServer', { headers })).status).toBe(200);
  });

  test.each(['drop', 'garbage', 'huge'] as const)(
    'never repeats the action after an unknown outcome (%s)',
    async (fault) => {
      const { app, world } = await borrowHosting();
      world.panel.fail(fault, isPower);
      const first = await start(app, 'order-4711');
      const text = mayBeDone(first.headers['x-request-id']);
      const unknown = { status: 502, text, headers: { 'action-outcome': 'unknown' } };
      expect(first).toMatchObject(unknown);
      world.panel.fail(undefined);
      for (let time = 0; time < 3; time += 1) {
        const replayed = await start(app, 'order-4711');
        expect(replayed).toMatchObject(unknown);
        expect(isReplayed(replayed)).toBe(true);
      }
      expect(powerCalls(world)).toBe(1);
    },
  );
});

describe('an Idempotency-Key', () => {
  test.each(['', 'with blank', 'x'.repeat(256), 'ä', 'tab\there'])('that is %j is refused', async (key) => {
    const { app, world } = await borrowHosting();
    const { status, text } = await start(app, key);
    expect({ status, body: JSON.parse(text) as unknown }).toMatchObject({
      status: 400,
      body: { error: 'validation_error' },
    });
    expect(powerCalls(world)).toBe(0);
  });

  test.each(['x', 'x'.repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"', '!~'])('may be %s', async (key) => {
    const { app } = await borrowHosting();
    expect((await start(app, key)).status).toBe(200);
    expect(isReplayed(await start(app, key))).toBe(true);
  });

  test('is ignored by read endpoints', async () => {
    const { app } = await borrowHosting();
    const headers = { 'Idempotency-Key': 'with blank' };
    for (let time = 0; time < 2; time += 1) {
      const answer = await askEndpoint(app, 'getLatestGameLog', { headers });
      expect(answer.status).toBe(200);
      expect(isReplayed(answer)).toBe(false);
    }
  });
});

test('an action of a killed process runs at most once', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const key = await world.issueKey();
  const { settings } = await createServable();
  const all = { ...settings, ...world.settings };
  const first = startProcess(all);
  const port = await first.listening();
  const arrived = world.panel.hold(isPower);
  const lost = start({ port, key } as SharedApp, 'order-4711').catch(() => 'cut');
  await arrived;
  first.child.kill('SIGKILL');
  expect(await lost).toBe('cut');

  const second = startProcess(all);
  const app = { port: await second.listening(), key } as SharedApp;
  // The claim is still valid: another instance may run the request.
  const early = await start(app, 'order-4711');
  expect(early).toMatchObject({ status: 409, text: renderProblem('json', 'in_progress') });
  // Skips the wait of a minute.
  world.change('UPDATE hosting_idempotency SET deadline = 0');
  for (let time = 0; time < 3; time += 1) {
    const late = await start(app, 'order-4711');
    const text = mayBeDone(late.headers['idempotent-request-id']);
    expect(late).toMatchObject({ status: 502, text, headers: { 'action-outcome': 'unknown' } });
    expect(isReplayed(late)).toBe(true);
  }
  expect(powerCalls(world)).toBe(1);
  expect((await start(app, 'order-4712')).status).toBe(200);
  expect(powerCalls(world)).toBe(2);
});

/** Preloaded by the server: makes the guard shell fail after the local server has started. */
const fault = `
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
const { spawn } = childProcess;
childProcess.spawn = (file, ...rest) => {
  if (file === '/bin/sh') throw new RangeError('an unexpected error');
  return spawn(file, ...rest);
};
syncBuiltinESMExports();
`;

test('after an unexpected failure the outcome is unknown, and the Idempotency-Key is kept', async () => {
  const folder = temporaryFolder();
  const world = await createHostingWorld(folder);
  await world.store.servers.put({ server: 'vps:mine', provider: 'local', ref: 'mine', logFile: null });
  const started = join(folder, 'started');
  const program = `require('fs').appendFileSync(${JSON.stringify(started)}, 'x')`;
  const vps = { kind: 'vps', command: [process.execPath, '-e', program] };
  // JSON is valid YAML.
  const providers = { local: { type: 'local', servers: { mine: vps } } };
  writeFileSync(world.settings.PROVIDERS_FILE!, JSON.stringify({ providers }));
  const preload = `--import=data:text/javascript,${encodeURIComponent(fault)}`;
  const { port } = await serveProcess({ ...world.settings, NODE_OPTIONS: preload });
  const app = { port, key: await world.issueKey() } as SharedApp;
  const headers = { 'Idempotency-Key': 'order-4711' };

  const first = await askEndpoint(app, 'startVps', { headers });
  expect(first).toMatchObject({ status: 500, text: renderProblem('json', 'internal_error') });
  expect(first.headers).not.toHaveProperty('idempotent-replayed');
  await expect.poll(() => existsSync(started) && readFileSync(started, 'utf8')).toBe('x');
  expect(first.headers['action-outcome']).toBe('unknown');
  for (let time = 0; time < 3; time += 1) {
    const replayed = await askEndpoint(app, 'startVps', { headers });
    expect(replayed).toMatchObject({ status: 502, text: mayBeDone(first.headers['x-request-id']) });
    expect(replayed.headers).toMatchObject({ 'idempotent-replayed': 'true', 'action-outcome': 'unknown' });
  }
  expect(readFileSync(started, 'utf8')).toBe('x');
  const sent = (await Array.fromAsync(world.store.audit.entries({}))).filter(({ phase }) => phase === 'requested');
  expect(sent).toHaveLength(1);
  const { json } = await askJson(app, `/v1/hosting/actions/${String(first.headers['x-request-id'])}`, { key: app.key });
  expect(json).toMatchObject({ action: 'start', server: 'vps:mine', status: 'unknown' });
});

test.each([
  ['the API key', 'hosting_api_keys', {}],
  ['the audit log', 'hosting_audit', {}],
  ['the audit log, with an Idempotency-Key,', 'hosting_audit', { 'Idempotency-Key': 'order-4711' }],
  ['the Idempotency-Key', 'hosting_idempotency', { 'Idempotency-Key': 'order-4711' }],
])('if %s cannot be read or written, a failed action says that it was not sent', async (_, table, headers) => {
  const { app, world } = await borrowHosting();
  world.change(`ALTER TABLE ${table} RENAME TO hosting_away`);
  const answer = await askEndpoint(app, 'startGameServer', { headers });
  expect(answer).toMatchObject({ status: 500, headers: { 'action-outcome': 'not_sent' } });
  expect(powerCalls(world)).toBe(0);
});
