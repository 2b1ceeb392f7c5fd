import { lutimesSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from '@prometheus-io/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createProviders } from '../../server/hosting/providers.ts';
import { countEvents } from '../../server/metrics/series.ts';
import { openClient } from '../helpers/console-client.ts';
import { createTestApp } from '../helpers/app.ts';
import { stopClock, stopTimeouts } from '../helpers/clock.ts';
import { changesOf, parseSeries } from '../helpers/metrics.ts';
import { article, buildProject, createProject, writeFiles } from '../helpers/project.ts';
import { failure, panelKeys } from '../helpers/upstream-panel.ts';
import { createTestLog } from '../helpers/upstream.ts';
import { call as callPort, createToken, serveOperators } from '../operators/operators.ts';
import { ask, askEndpoint } from '../server/ask.ts';
import { copyProject, eventually, serveHosting, serveShared } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';
import { readManifest } from '../server/targets.ts';

/** Starts a server with metrics and new customers. */
async function serveWorld(settings: Record<string, string> = {}) {
  const { app, world } = await serveHosting({ METRICS_PORT: '0', ...settings });
  // The check of the panel at the start: an account, a list and a server for each credential, and a token for its node.
  const checks = async () => parseSeries(await app.metrics()).get(calls('panel', 'ok')) ?? 0;
  await expect.poll(checks, eventually).toBeGreaterThanOrEqual(7);
  return { world, app };
}

const calls = (upstream: string, outcome: string): string =>
  `hosting_api_upstream_calls_total{upstream="${upstream}",outcome="${outcome}"}`;

/** The changes of some metrics while a function runs. */
async function changedBy(app: SharedApp, metric: string, work: () => Promise<unknown>) {
  const before = await app.metrics();
  await work();
  const changes = Object.entries(changesOf(before, await app.metrics()));
  return Object.fromEntries(changes.filter(([series]) => series.startsWith(metric)));
}

describe('calls of a provider are counted', () => {
  const metric = 'hosting_api_upstream_calls_total';
  const act = (app: SharedApp) => () => askEndpoint(app, 'startGameServer');

  test('by outcome, under the name in PROVIDERS_FILE', async () => {
    const advance = stopTimeouts();
    const { app, world } = await serveWorld();
    expect(await changedBy(app, metric, act(app))).toEqual({ [calls('panel', 'ok')]: 1 });
    for (const [fault, outcome] of [
      [failure(401, 'AuthenticationException', ''), 'credential_refused'],
      [failure(403, 'AccessDeniedHttpException', ''), 'forbidden'],
      // The node refuses the panel.
      [failure(403, 'DaemonConnectionException', ''), 'server_error'],
      [failure(404, 'NotFoundHttpException', ''), 'not_found'],
      [failure(409, 'ServerStateConflictException', ''), 'conflict'],
      // Pages of a proxy in front of the panel.
      [{ status: 401 }, 'rejected'],
      [{ status: 403 }, 'rejected'],
      [{ status: 404 }, 'rejected'],
      [{ status: 429 }, 'rate_limited'],
      [{ status: 500 }, 'server_error'],
      [{ status: 302, headers: { location: '/auth/login' } }, 'invalid'],
      ['huge', 'invalid'],
      ['hang', 'timeout'],
      ['drop', 'broken'],
    ] as const) {
      world.panel.forget();
      world.panel.fail(fault);
      const arrived = world.panel.hold();
      const changes = changedBy(app, metric, act(app));
      const release = await arrived;
      if (fault === 'hang') advance(20_000);
      else release();
      expect(await changes).toEqual({ [calls('panel', outcome)]: 1 });
    }
    await world.panel.stop();
    expect(await changedBy(app, metric, act(app))).toEqual({ [calls('panel', 'unreachable')]: 1 });
    const duration = 'hosting_api_upstream_call_duration_seconds_count';
    const vps = await changedBy(app, duration, () => askEndpoint(app, 'startVps'));
    expect(vps).toEqual({ [`${duration}{upstream="cloud"}`]: 1 });
  });

  test('a refused credential counts until the next accepted call', async () => {
    const { app, world } = await serveWorld();
    const refused = async (): Promise<unknown> =>
      parseSeries(await app.metrics()).get('hosting_api_upstream_credentials_refused{upstream="panel"}');
    expect(await refused()).toBe(0);
    world.panel.fail(failure(401, 'AuthenticationException', ''));
    for (const _ of [1, 2, 3]) await askEndpoint(app, 'startGameServer');
    expect(await refused()).toBe(1);
    world.panel.fail({ status: 503 });
    await askEndpoint(app, 'startGameServer');
    expect(await refused()).toBe(1);
    world.panel.fail(undefined);
    await askEndpoint(app, 'startGameServer');
    expect(await refused()).toBe(0);
  });

  test('a read-only token counts as refused until an accepted action', async () => {
    const { app, world } = await serveWorld();
    const series = async (name: string): Promise<unknown> => parseSeries(await app.metrics()).get(name);
    const refused = () => series('hosting_api_upstream_credentials_refused{upstream="cloud"}');
    const reads = () => series(calls('cloud', 'ok'));
    world.hetzner.fail({ status: 403, body: '{"error":{"code":"token_readonly"}}' }, ({ method }) => method === 'POST');
    await askEndpoint(app, 'startVps');
    expect(await refused()).toBe(1);
    const before = Number((await reads()) ?? 0);
    await askEndpoint(app, 'getVpsState');
    expect(await reads()).toBeGreaterThan(before);
    expect(await refused()).toBe(1);
    world.hetzner.fail(undefined);
    await askEndpoint(app, 'startVps');
    expect(await refused()).toBe(0);
  });

  test('a key refused with 403 counts after the account is read', async () => {
    const { world } = await serveWorld();
    const registry = new Registry();
    await using opened = new AsyncDisposableStack();
    countEvents(registry, opened);
    const settings = { type: 'pterodactyl', url: world.panel.url, token: panelKeys.write } as const;
    const providers = createProviders({ chat: settings }, { dataDir: '', log: createTestLog().log, timeoutMs: 20_000 });
    world.panel.fail(failure(403, 'AccessDeniedHttpException', ''));
    for (const provider of providers.values()) {
      onTestFinished(() => provider.close());
      await provider.check();
    }
    // This name of the program has its own series.
    expect(await registry.metrics()).toContain('hosting_api_upstream_credentials_refused{upstream="provider:chat"} 1');
  });
});

test('calls of the status source, the chat and registries have own names', async () => {
  const app = await serveShared({ METRICS_PORT: '0' });
  await askEndpoint(app, 'getStatus');
  await askEndpoint(app, 'sendFeedback');
  await ask(app, '/v1/domains/search?domain=surely-free.com');
  const found = [...parseSeries(await app.metrics()).keys()].filter((series) => /_calls_total\{/.test(series));
  expect(found).toEqual(
    expect.arrayContaining([calls('uptime-kuma', 'ok'), calls('chat', 'ok'), calls('rdap', 'not_found')]),
  );
});

test('a refusal of a limit counts once, by its name in RateLimit', async () => {
  const { app } = await serveWorld({ RATELIMIT_RPS: '1', RATELIMIT_BURST: '2', POWER_RATELIMIT_BURST: '1' });
  const { app: other } = await serveWorld({ POWER_RATELIMIT_RPS: '1', POWER_RATELIMIT_BURST: '1' });
  stopClock();
  const refusals = 'hosting_api_limit_refusals_total';
  const files = await changedBy(app, refusals, async () => {
    for (const status of [404, 404, 429]) expect((await ask(app, '/v1/unknown')).status).toBe(status);
  });
  expect(files).toEqual({ [`${refusals}{limit="default"}`]: 1 });
  const actions = await changedBy(other, refusals, async () => {
    for (const status of [200, 429]) expect((await askEndpoint(other, 'startGameServer')).status).toBe(status);
  });
  expect(actions).toEqual({ [`${refusals}{limit="actions"}`]: 1 });
});

test('calls of the store are counted by operation and table', async () => {
  const { app } = await serveWorld();
  const duration = 'hosting_api_store_call_duration_seconds_count';
  const changes = await changedBy(app, duration, () => askEndpoint(app, 'startGameServer'));
  expect(changes).toMatchObject({
    [`${duration}{operation="select",table="api_keys"}`]: expect.any(Number),
    [`${duration}{operation="select",table="servers"}`]: expect.any(Number),
    [`${duration}{operation="insert",table="audit"}`]: 2,
  });
  const checks = async () => parseSeries(await app.metrics()).get(`${duration}{operation="select",table="health"}`);
  await expect.poll(checks, eventually).toBeGreaterThan(0);
  const text = await app.metrics();
  expect(parseSeries(text).get('hosting_api_store_answers')).toBe(1);
  expect(text).toContain('hosting_api_store_errors_total{operation="insert",table="audit"} 0\n');
});

test("changes of keys at the operators' port are counted once, in one series for all tokens", async () => {
  const { app, world, port, call } = await serveOperators({ METRICS_PORT: '0' });
  const { token: other } = await createToken(world, 'portal', '--right', 'keys');
  const metric = 'hosting_api_key_changes_total';
  expect(parseSeries(await app.metrics()).get(`${metric}{actor="operator"}`)).toBe(0);
  const path = '/v1/operator/keys/one';
  const grant = { servers: ['game:mine'], scopes: ['game-power:read'] };
  const changes = await changedBy(app, metric, async () => {
    for (const status of [201, 200]) expect((await call('PUT', path, grant)).status).toBe(status);
    expect((await callPort(port, other, 'POST', `${path}/rotate`)).status).toBe(200);
    for (const _ of [1, 2]) expect((await call('DELETE', path)).status).toBe(200);
    expect((await call('DELETE', '/v1/operator/keys/none')).status).toBe(404);
    expect((await call('POST', '/v1/operator/servers/game:mine/suspend')).status).toBe(200);
  });
  expect(changes).toEqual({ [`${metric}{actor="operator"}`]: 3 });
});

test('console streams, their viewers and the consoles at the provider are counted', async () => {
  const { app } = await serveWorld();
  const counts = async () => {
    const all = parseSeries(await app.metrics());
    return ['streams', 'viewers', 'upstreams'].map((name) => all.get(`hosting_api_console_${name}`));
  };
  expect(await counts()).toEqual([0, 0, 0]);
  const { text } = await askEndpoint(app, 'openGameConsole');
  const { websocket } = JSON.parse(text) as { websocket: { socket_url: string; token: string } };
  const [viewer, other] = [await openClient(websocket.socket_url), await openClient(websocket.socket_url)];
  expect(await viewer.auth(websocket.token)).toEqual(['auth success']);
  await expect.poll(counts, eventually).toEqual([2, 1, 1]);
  viewer.socket.close();
  other.socket.close();
  // The console stays open for a while: viewers often return.
  await expect.poll(async () => (await counts()).slice(0, 2), eventually).toEqual([0, 0]);
});

test('the disks of DATA_DIR and DIST_DIR are measured', async () => {
  const { app } = await serveHosting({ METRICS_PORT: '0' });
  const series = parseSeries(await app.metrics());
  for (const folder of ['DATA_DIR', 'DIST_DIR']) {
    const ratio = series.get(`hosting_api_disk_free_ratio{folder="${folder}"}`);
    expect(ratio).toBeGreaterThan(0);
    expect(ratio).toBeLessThanOrEqual(1);
  }
});

describe('the release', () => {
  const info = (id: string): string => `hosting_api_release_info{release="${id}"}`;

  test('has one series, replaced by the next release', async () => {
    const root = await copyProject();
    const app = await createTestApp({ root, settings: { METRICS_PORT: '0' } });
    const infos = async () =>
      [...parseSeries(await app.metrics()).keys()].filter((series) => /release_info/.test(series));
    const { id } = readManifest(root);
    expect(await infos()).toEqual([info(id)]);
    writeFiles(root, { 'content/blog/news/third.md': article({ title: 'Third', date: '2026-12-24' }, 'Later.\n') });
    await buildProject(root);
    const next = readManifest(root).id;
    expect(next).not.toBe(id);
    await expect.poll(infos, eventually).toEqual([info(next)]);
    const due = `hosting_api_release_next_change_timestamp_seconds{release="${next}"}`;
    expect(parseSeries(await app.metrics()).get(due)).toBe(Date.UTC(2026, 11, 24) / 1000);
  });

  test('has the time of the last build that made or confirmed it', async () => {
    const root = createProject();
    await buildProject(root);
    const yesterday = Math.floor(Date.now() / 1000) - 90_000;
    lutimesSync(join(root, 'dist/current'), yesterday, yesterday);
    const app = await createTestApp({ root, settings: { METRICS_PORT: '0' } });
    const time = async () => parseSeries(await app.metrics()).get('hosting_api_release_timestamp_seconds');
    expect(await time()).toBe(yesterday);
    const { id } = readManifest(root);
    const before = Date.now() / 1000 - 1;
    await buildProject(root);
    expect(readManifest(root).id).toBe(id);
    expect(await time()).toBeGreaterThan(before);
  });
});
