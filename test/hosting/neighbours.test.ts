import { appendFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TestApp } from '../helpers/app.ts';
import { stopClock } from '../helpers/clock.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { createPanelUpstream } from '../helpers/upstream-panel.ts';
import { until } from '../helpers/upstream.ts';
import { ask } from '../server/ask.ts';
import { serveHosting } from '../server/shared.ts';

const log = (id: string) => `/v1/hosting/game/logs/${id}/latest`;
const bootstrap = '/v1/hosting/game/console/mine/websocket';
const kill = '/v1/hosting/game/power/theirs/kill?force=true';
const stop = '/v1/hosting/game/power/theirs/stop';

/** Starts a service with two customers on one panel. */
async function serve(settings: Record<string, string> = {}): Promise<HostingWorld & { app: TestApp }> {
  const { app, world } = await serveHosting(settings);
  await checked(app);
  return { ...world, app };
}

/** Waits for the check of the credentials, which uses the panel's budget too. */
function checked(app: TestApp): Promise<void> {
  return until(
    'the credentials are checked',
    () => app.log().filter(({ check }) => check === 'provider panel').length > 1,
  );
}

const askWith = (app: TestApp, key: string, target: string, method = 'GET') => ask(app, target, { method, key });

function countReads({ panel }: HostingWorld): number {
  return panel.seen.filter(({ path }) => path.includes('/files/contents')).length;
}

test("45 log reads by one key leave another's kill and stop their part of the panel's budget", async () => {
  // The default burst; 1 per second, so a slow machine gets the same refusals.
  const world = await serve({ READ_RATELIMIT_RPS: '1', READ_RATELIMIT_BURST: '' });
  const { app, panel, issueKey } = world;
  const reader = await issueKey();
  const other = await issueKey({ servers: ['game:theirs'] });
  panel.requestsPerMinute = 40;
  const reads: number[] = [];
  for (let count = 0; count < 45; count += 1) reads.push((await askWith(app, reader, log('mine'))).status);
  expect((await askWith(app, other, kill, 'POST')).status).toBe(200);
  expect((await askWith(app, other, stop, 'POST')).status).toBe(200);
  expect(panel.signals).toEqual(['kill', 'stop']);
  expect(reads.slice(0, 20)).toEqual(Array(20).fill(200));
  expect(reads).toContain(429);
});

test('a key has one limit for its reads, and another for its actions', async () => {
  const { app, issueKey } = await serve({ READ_RATELIMIT_RPS: '1', READ_RATELIMIT_BURST: '3' });
  stopClock();
  const [key, other] = [await issueKey(), await issueKey()];
  const first = await askWith(app, key, log('mine'));
  expect(first.headers['ratelimit-policy']).toContain('"reads";q=3;w=3');
  expect((await askWith(app, key, bootstrap)).status).toBe(200);
  expect((await askWith(app, key, log('mine'), 'HEAD')).status).toBe(200);
  const refused = await askWith(app, key, bootstrap);
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
  expect(JSON.parse(refused.text)).toMatchObject({ error: 'rate_limited' });
  expect((await askWith(app, other, log('mine'))).status).toBe(200);
  expect((await askWith(app, key, '/v1/hosting/game/power/mine/start', 'POST')).status).toBe(200);
});

test('the limit of reads comes before the checks of server and scope', async () => {
  const { app, issueKey } = await serve({ READ_RATELIMIT_RPS: '1', READ_RATELIMIT_BURST: '1' });
  stopClock();
  const key = await issueKey({ scopes: [] });
  expect((await askWith(app, key, log('theirs'))).status).toBe(403);
  expect((await askWith(app, key, log('theirs'))).status).toBe(429);
});

test('readers of one log share one read of the panel, even a failed read', async () => {
  const world = await serve();
  const { app, panel, issueKey } = world;
  const key = await issueKey();
  const readers = await Promise.all(Array.from({ length: 20 }, () => askWith(app, key, log('mine'))));
  expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(countReads(world)).toBe(1);

  await world.store.servers.put({ server: 'game:mine', provider: 'panel', ref: panel.wings.uuid, logFile: 'b.log' });
  panel.fail({ status: 400, body: '{}' });
  for (let count = 0; count < 3; count += 1) expect((await askWith(app, key, log('mine'))).status).toBe(502);
  expect(countReads(world)).toBe(2);
});

/** Adds 60 servers with their own log files, so reads are not shared. */
async function addServers({ panel, store }: HostingWorld): Promise<`game:${string}`[]> {
  const servers = Array.from({ length: 60 }, (_, at) => `game:s${at}` as const);
  for (const server of servers) {
    panel.files.set(`/${server}.log`, 'a line\n');
    const ref = panel.wings.uuid;
    await store.servers.put({ server, provider: 'panel', ref, logFile: `${server}.log`, shared: 'yes' });
  }
  return servers;
}

test('two instances leave the same quarter of the budget that they share', async () => {
  const world = await serve();
  const { app, panel, issueKey } = world;
  const { app: second } = await serveHosting({}, { world });
  await checked(second);
  const servers = await addServers(world);
  const key = await issueKey({ servers: [...servers, 'game:theirs'] });
  panel.requestsPerMinute = 40;
  const apps = [app, second];
  for (const [at, server] of servers.entries()) await askWith(apps[at % 2]!, key, log(server.slice(5)));
  // Each instance sees the remaining budget only in its next response, so each may send one more.
  expect(countReads(world)).toBeGreaterThanOrEqual(30);
  expect(countReads(world)).toBeLessThanOrEqual(31);
  for (let count = 0; count < 9; count += 1) {
    expect((await askWith(apps[count % 2]!, await issueKey({ servers: ['game:theirs'] }), kill, 'POST')).status).toBe(
      200,
    );
  }
});

test("reads leave a quarter of the panel's budget to actions and commands", async () => {
  const world = await serve();
  const { app, panel, issueKey } = world;
  const servers = await addServers(world);
  const key = await issueKey({ servers: [...servers, 'game:theirs'] });
  panel.requestsPerMinute = 40;
  expect((await askWith(app, key, log('s0'))).status).toBe(200);
  // All at once, while only the first response has shown the budget.
  const answers = await Promise.all(servers.slice(1).map((server) => askWith(app, key, log(server.slice(5)))));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(29);
  expect(answers.filter(({ status }) => status === 502)).toHaveLength(30);
  expect(countReads(world)).toBe(30);
  const command = { method: 'POST', key, body: '{"command":"say hello"}' };
  expect((await ask(app, '/v1/hosting/game/console/theirs/command', command)).status).toBe(200);
  const keys = await Promise.all(Array.from({ length: 9 }, () => issueKey({ servers: ['game:theirs'] })));
  const actions = await Promise.all(keys.map((other) => askWith(app, other, kill, 'POST')));
  expect(actions.map(({ status }) => status)).toEqual(Array(9).fill(200));
});

test("a key whose actions use more than a quarter of the rest of a panel's minute gets 429, others do not", async () => {
  const { app, panel, issueKey } = await serve();
  const [key, other] = [await issueKey(), await issueKey()];
  panel.requestsPerMinute = 12;
  const start = '/v1/hosting/game/power/mine/start';
  const statuses = [];
  for (let count = 0; count < 5; count += 1) statuses.push((await askWith(app, key, start, 'POST')).status);
  expect(statuses).toEqual([200, 200, 200, 200, 429]);
  const request = { method: 'POST', key, headers: { 'idempotency-key': 'again' } };
  const { status, headers, text } = await ask(app, start, request);
  expect([status, Number(headers['retry-after']) > 50, text]).toEqual([
    429,
    true,
    expect.stringContaining('rate_limited'),
  ]);
  expect((await ask(app, start, request)).headers['idempotent-replayed']).toBeUndefined();
  expect(panel.signals).toHaveLength(4);
  expect((await askWith(app, other, start, 'POST')).status).toBe(200);
});

test('a panel that hangs, or whose minute is used up, takes nothing from another panel of the file', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const other = await createPanelUpstream({ isSteady: true });
  const { url, token, read_only_token: reader } = other.settings;
  const entry = `  other: { type: pterodactyl, url: "${url}", token: "${token}", read_only_token: "${reader}" }\n`;
  appendFileSync(world.settings['PROVIDERS_FILE']!, entry);
  const server = 'game:other' as const;
  await world.store.servers.put({ server, provider: 'other', ref: other.wings.uuid.slice(0, 8), logFile: null });
  const { app } = await serveHosting({}, { world });
  await checked(app);
  const key = await world.issueKey({ servers: ['game:mine', server] });
  const statusOf = async (path: string, method?: string) => (await askWith(app, key, path, method)).status;

  world.panel.fail('hang', ({ path }) => path.includes('/resources') || path.includes('/files/'));
  const hung = [log('mine'), '/v1/hosting/game/power/mine'].map((path) => statusOf(path));
  await until(
    'both reads hang',
    () => world.panel.seen.filter(({ path }) => /resources|files/.test(path)).length === 2,
  );
  expect(await statusOf('/v1/hosting/game/power/other')).toBe(200);
  expect(await statusOf('/v1/hosting/game/power/other/restart', 'POST')).toBe(200);
  expect(other.signals).toEqual(['restart']);

  other.requestsPerMinute = 0;
  expect(await statusOf('/v1/hosting/game/power/other/stop', 'POST')).toBe(502);
  expect(await statusOf('/v1/hosting/game/power/mine/stop', 'POST')).toBe(200);
  expect(world.panel.signals).toEqual(['stop']);
  await world.panel.stop();
  expect(await Promise.all(hung)).toEqual([502, 502]);
});
