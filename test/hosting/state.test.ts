import { expect, onTestFinished, test, vi } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { askEndpoint } from '../server/ask.ts';
import { serveHosting } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';
import { createInstances, openStream } from './instances.ts';
import { stopClock } from '../helpers/clock.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { failure } from '../helpers/upstream-panel.ts';
import { auditEntry, streamToken } from '../store/samples.ts';

type StateEndpoint = 'getVpsState' | 'getGameServerState';

interface State {
  readonly state: string;
  readonly checked_at: string;
}

async function readState(app: SharedApp, name: StateEndpoint): Promise<State> {
  const { status, text } = await askEndpoint(app, name);
  expect({ status, text }).toMatchObject({ status: 200 });
  return JSON.parse(text) as State;
}

/** Starts a service with a running game server, whose state follows power actions. */
async function serve() {
  const { app, world } = await serveHosting();
  const { panel, hetzner } = world;
  const reads = () => panel.seen.filter(({ path }) => path.endsWith('/resources')).length;
  const lists = () => hetzner.seen.filter(({ path }) => path.includes('page=1') && path.includes('per_page=50')).length;
  return { ...world, app, reads, lists };
}

test.each([
  ['getVpsState', 'vps_id'],
  ['getGameServerState', 'server_id'],
] as const)('%s returns the state and the time of its check', async (name, id) => {
  const { app } = await serve();
  const before = Date.now();
  const { checked_at: checkedAt, ...rest } = await readState(app, name);
  expect(rest).toEqual({ success: true, [id]: 'mine', state: 'running' });
  expect(new Date(checkedAt).toISOString()).toBe(checkedAt);
  expect(Date.parse(checkedAt)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(checkedAt)).toBeLessThanOrEqual(Date.now());
  expect((await readState(app, name)).checked_at).toBe(checkedAt);
});

test('all clients share one read per game server, and one per account of VPS', async () => {
  const { app, reads, lists } = await serve();
  // Reads stay shared however slow the machine is.
  stopClock();
  const all = Array.from({ length: 50 }, () => [readState(app, 'getVpsState'), readState(app, 'getGameServerState')]);
  expect(new Set((await Promise.all(all.flat())).map(({ state }) => state))).toEqual(new Set(['running']));
  expect([reads(), lists()]).toEqual([1, 1]);
});

test('a stopped VPS is offline for all concurrent readers', async () => {
  const { app, lists } = await serve();
  expect((await askEndpoint(app, 'stopVps')).status).toBe(200);
  const reports = await Promise.all(Array.from({ length: 20 }, () => readState(app, 'getVpsState')));
  expect(new Set(reports.map(({ state }) => state))).toEqual(new Set(['offline']));
  expect(lists()).toBe(1);
});

test('while a panel may return the state before an action, the state is unknown and not read', async () => {
  const { app, panel, reads } = await serve();
  panel.resourcesMs = Number.POSITIVE_INFINITY;
  expect((await readState(app, 'getGameServerState')).state).toBe('running');
  for (const action of ['restartGameServer', 'stopGameServer', 'killGameServer'] as const) {
    expect((await askEndpoint(app, action)).status).toBe(200);
    expect((await readState(app, 'getGameServerState')).state).toBe('unknown');
  }
  expect(reads()).toBe(1);
});

test('after an action with unknown outcome the state is unknown, too', async () => {
  const { app, panel } = await serve();
  expect((await readState(app, 'getGameServerState')).state).toBe('running');
  panel.fail('drop', ({ path }) => path.endsWith('/power'));
  expect((await askEndpoint(app, 'stopGameServer')).status).toBe(502);
  expect((await readState(app, 'getGameServerState')).state).toBe('unknown');
});

test('a refused action leaves the state as it was, on every instance', async () => {
  const { apps, world } = await createInstances();
  const before = await Promise.all(apps.map((app) => readState(app, 'getGameServerState')));
  world.panel.fail(failure(409, 'ServerStateConflictException', 'is suspended'), ({ path }) => path.endsWith('/power'));
  const { status, text } = await askEndpoint(apps[0], 'stopGameServer');
  expect([status, text]).toEqual([
    502,
    renderProblem('json', 'provider_error', 'The server is suspended by the panel'),
  ]);
  expect(await Promise.all(apps.map((app) => readState(app, 'getGameServerState')))).toEqual(before);
});

test('a console command does not invalidate the state', async () => {
  const { app, reads } = await serve();
  const { checked_at: checkedAt } = await readState(app, 'getGameServerState');
  expect((await askEndpoint(app, 'sendGameCommand')).status).toBe(200);
  expect((await readState(app, 'getGameServerState')).checked_at).toBe(checkedAt);
  expect(reads()).toBe(1);
});

test('with an open console, the state needs no read and follows actions immediately', async () => {
  const { app, panel, reads } = await serve();
  const stream = await openStream(app);
  await stream.until('status');
  const states = ['running'];
  const follow = async (next: string) => {
    const { state } = await readState(app, 'getGameServerState');
    if (state !== states.at(-1)) states.push(state);
    return state === next;
  };
  expect(await follow('running')).toBe(true);
  // Wings publishes the state before the panel answers.
  panel.onPower = () => panel.wings.become('stopping');
  expect((await askEndpoint(app, 'stopGameServer')).status).toBe(200);
  await expect.poll(() => follow('stopping')).toBe(true);
  panel.onPower = () => panel.wings.become('offline');
  expect((await askEndpoint(app, 'killGameServer')).status).toBe(200);
  await expect.poll(() => follow('offline')).toBe(true);
  // A server that is offline has no new state; Wings sends statistics on request.
  panel.onPower = () => undefined;
  expect((await askEndpoint(app, 'stopGameServer')).status).toBe(200);
  await expect.poll(() => follow('offline')).toBe(true);
  expect(states.filter((state) => state !== 'unknown')).toEqual(['running', 'stopping', 'offline', 'offline']);
  expect(reads()).toBe(0);
});

test.each([
  ['getVpsState', 'vps:mine', 'This VPS is suspended'],
  ['getGameServerState', 'game:mine', 'This game server is suspended'],
] as const)('%s of a suspended server is 403 without a request to its provider', async (name, server, message) => {
  const { app, store, reads, lists } = await serve();
  await store.servers.suspend(server, Date.now());
  const { status, text } = await askEndpoint(app, name);
  expect({ status, text }).toEqual({ status: 403, text: renderProblem('json', 'forbidden', message) });
  expect([reads(), lists()]).toEqual([0, 0]);
});

test('after an action on one instance, no instance reports the state from before', async () => {
  const { apps, world } = await createInstances();
  const [one, other] = apps;
  world.panel.resourcesMs = Number.POSITIVE_INFINITY;
  expect((await readState(other, 'getGameServerState')).state).toBe('running');
  expect((await askEndpoint(one, 'stopGameServer')).status).toBe(200);
  expect((await readState(other, 'getGameServerState')).state).toBe('unknown');
  expect((await askEndpoint(one, 'stopVps')).status).toBe(200);
  expect((await readState(other, 'getVpsState')).state).toBe('offline');
});

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

test.each<[Record<string, string>, string[]]>([
  [{ AUDIT_RETENTION_DAYS: '30' }, ['young']],
  [{}, ['old', 'young']],
])(
  'with %j the audit log keeps the entries %j, and tokens are removed an hour after expiry',
  async (settings, kept) => {
    const world = await createHostingWorld(temporaryFolder());
    const { audit, streamTokens } = world.store;
    const now = Date.now();
    await audit.append(auditEntry({ at: now - 30 * dayMs - hourMs, requestId: 'old' }));
    await audit.append(auditEntry({ at: now - 30 * dayMs + hourMs, requestId: 'young' }));
    await streamTokens.add(streamToken({ tokenHash: 'c'.repeat(64), expiresAt: now - hourMs - 60_000 }));
    await streamTokens.add(streamToken({ tokenHash: 'd'.repeat(64), expiresAt: now - hourMs + 60_000 }));
    await serveHosting(settings, { world });
    await expect.poll(() => streamTokens.find('c'.repeat(64))).toBeUndefined();
    expect(await streamTokens.find('d'.repeat(64))).toBeDefined();
    const entries = () => Array.fromAsync(audit.entries({}), ({ requestId }) => requestId);
    await expect.poll(entries).toEqual(kept);
  },
);

test('a clock that is far ahead removes nothing from the audit log for a day', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const world = await createHostingWorld(temporaryFolder());
  const start = Date.now();
  await world.store.audit.append(auditEntry({ at: start - hourMs }));
  /** Starts the server at a time; returns the line of its log about the audit log, and the number of entries. */
  const startAt = async (ms: number): Promise<[string, number]> => {
    vi.setSystemTime(ms);
    const { app } = await serveHosting({ AUDIT_RETENTION_DAYS: '365', LOG_LEVEL: 'info' }, { world });
    // A stop waits for the check of the log.
    await app.stop();
    const line = app.log().find(({ msg }) => /audit log/.test(String(msg))) as
      | { msg?: string; removed?: number }
      | undefined;
    const entries = await Array.fromAsync(world.store.audit.entries({}));
    return [line?.removed === undefined ? String(line?.msg).slice(0, 34) : `removed ${line.removed}`, entries.length];
  };
  expect(await startAt(start)).toEqual(['undefined', 1]);
  const ahead = start + 800 * dayMs;
  const held = ['the clock is more than 30 days ahe', 1];
  expect(await startAt(ahead)).toEqual(held);
  expect(await startAt(ahead + dayMs - hourMs)).toEqual(held);
  // The clock is corrected, and wrong again.
  expect(await startAt(start)).toEqual(['undefined', 1]);
  expect(await startAt(ahead + dayMs)).toEqual(held);
  expect(await startAt(ahead + 2 * dayMs)).toEqual(['removed 1', 0]);
});
