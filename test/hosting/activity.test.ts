import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { stopTimeouts } from '../helpers/clock.ts';
import { isPost } from '../helpers/upstream.ts';
import { runHere } from '../commands/run-command.ts';
import { ask, askEndpoint, askJson } from '../server/ask.ts';
import type { Answer } from '../server/ask.ts';
import { borrowHosting } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';
import { openStream } from './instances.ts';
import type { AuditEntry } from '../../server/store/types.ts';
import { createPowerHistory } from '../../server/hosting/actions.ts';
import { ProviderError } from '../../server/upstream/client.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { auditEntry } from '../store/samples.ts';

/** Requests the status of an action. */
async function actionOf(app: SharedApp, requestId: string, key = app.key) {
  const answer = await ask(app, `/v1/hosting/actions/${requestId}`, { key });
  return { ...answer, action: JSON.parse(answer.text) as Record<string, unknown> };
}

/** Requests a page of the activity. */
async function pageOf(app: SharedApp, query = '', key = app.key) {
  type Page = { success: true; activity: Record<string, unknown>[]; next: string | null };
  return (await askJson<Page>(app, `/v1/hosting/activity${query}`, { key })).json;
}

function act(app: SharedApp, name: 'startVps' | 'killGameServer' | 'sendGameCommand', requestId: string, more = {}) {
  return askEndpoint(app, name, { headers: { 'X-Request-Id': requestId, ...more } });
}

const noAction = renderProblem('json', 'not_found', 'This API key has no action with this request ID');
const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('the status of an action', () => {
  test.each([
    ['startVps', 'start', 'vps:mine'],
    ['killGameServer', 'kill', 'game:mine'],
    ['sendGameCommand', 'command', 'game:mine'],
  ] as const)('is accepted after a success: %s', async (name, action, server) => {
    const { app } = await borrowHosting();
    const before = Date.now();
    expect((await act(app, name, 'order-4711')).status).toBe(200);
    const { action: found, ...answer } = await actionOf(app, 'order-4711');
    expect(answer).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    const { requested_at: from, finished_at: to, ...rest } = found;
    expect(rest).toEqual({ success: true, request_id: 'order-4711', action, server, status: 'accepted' });
    for (const time of [from, to]) expect(time).toMatch(moment);
    const times = [before, Date.parse(String(from)), Date.parse(String(to)), Date.now()];
    expect(times).toEqual(times.toSorted((one, other) => one - other));
  });

  test('is failed if its key was revoked while the action waited', async () => {
    const { app, world } = await borrowHosting();
    const arrived = world.panel.hold(isPost);
    const first = act(app, 'killGameServer', 'first-of-two');
    await arrived;
    const second = act(app, 'killGameServer', 'second-of-two');
    await expect.poll(async () => (await pageOf(app)).activity).toHaveLength(2);
    await world.store.apiKeys.revoke(app.key.split('_')[1]!, Date.now());
    world.panel.server.closeAllConnections();
    expect([(await first).status, (await second).status]).toEqual([502, 401]);
    // A revoked key gets 401, so ask the store.
    const found = await world.store.audit.findAction(app.key.split('_')[1]!, 'second-of-two');
    expect(found).toMatchObject({ outcome: 'unauthorized', finishedAt: expect.any(Number) as unknown });
  });

  test('is running, then unknown after a 502, with the time of the 502', async () => {
    const { app, world } = await borrowHosting({ UPSTREAM_TIMEOUT_SECONDS: '2' });
    const advance = stopTimeouts();
    const arrived = world.panel.hold(isPost);
    const answer = act(app, 'killGameServer', 'order-4711');
    await arrived;
    expect((await actionOf(app, 'order-4711')).action).toMatchObject({ status: 'running', finished_at: null });
    advance(2000);
    expect((await answer).status).toBe(502);
    // The request was sent, but no answer came in time.
    const unknown = { status: 'unknown', finished_at: expect.stringMatching(moment) as unknown };
    expect((await actionOf(app, 'order-4711')).action).toMatchObject(unknown);
  });

  test('is unknown after the maximum duration without an end', async () => {
    const { app, world } = await borrowHosting({ UPSTREAM_TIMEOUT_SECONDS: '2' });
    stopTimeouts();
    await act(app, 'killGameServer', 'order-4711');
    world.change(`DELETE FROM hosting_audit WHERE phase = 'finished'`);
    expect((await actionOf(app, 'order-4711')).action).toMatchObject({ status: 'running', finished_at: null });
    world.change('UPDATE hosting_audit SET logged_at = logged_at - 33000');
    expect((await actionOf(app, 'order-4711')).action).toMatchObject({ status: 'unknown', finished_at: null });
  });

  test('is 404 for a request that was refused, an unknown id and another key', async () => {
    const { app, world } = await borrowHosting();
    const reader = await world.issueKey({ scopes: ['game-power:read'] });
    expect((await act({ ...app, key: reader }, 'killGameServer', 'refused-4711')).status).toBe(403);
    await act(app, 'killGameServer', 'order-4711');
    const all = [
      actionOf(app, 'refused-4711', reader),
      actionOf(app, 'order-4711', reader),
      actionOf(app, 'order-4712'),
      actionOf(app, 'ORDER-4711'),
      actionOf(app, 'order-4711%00'),
      actionOf(app, "'%20OR%20'1'='1"),
      actionOf(app, 'x'.repeat(4000)),
    ];
    for (const answer of await Promise.all(all)) {
      expect(answer).toMatchObject({ status: 404, text: noAction, headers: { 'cache-control': 'no-store' } });
    }
    expect((await ask(app, '/v1/hosting/actions/order-4711')).status).toBe(401);
  });

  test('is failed if the panel refused it, even if an older action has the same request id', async () => {
    const { app, world } = await borrowHosting();
    await act(app, 'startVps', 'order-4711');
    world.panel.fail({ status: 422 }, isPost);
    expect((await act(app, 'killGameServer', 'order-4711')).status).toBe(502);
    expect((await actionOf(app, 'order-4711')).action).toMatchObject({ action: 'kill', status: 'failed' });
    const { activity } = await pageOf(app);
    expect(activity.map(({ action, status }) => [action, status])).toEqual([
      ['kill', 'failed'],
      ['start', 'accepted'],
    ]);
  });

  test('is found by the request id of the stream for a command of a stream', async () => {
    const { app } = await borrowHosting();
    const stream = await openStream(app);
    stream.send('send command', 'say hello');
    await expect.poll(async () => (await pageOf(app)).activity).toMatchObject([{ status: 'accepted' }]);
    const [newest] = (await pageOf(app)).activity;
    expect((await actionOf(app, String(newest!['request_id']))).action).toEqual(newest);
  });
});

describe('a replay names the first request', () => {
  const headers = { 'Idempotency-Key': 'order-4711' };
  const firstOf = (answer: Answer) => answer.headers['idempotent-request-id'];

  test('after the first was accepted, and is not an action itself', async () => {
    const { app } = await borrowHosting();
    expect(firstOf(await act(app, 'killGameServer', 'first-request', headers))).toBeUndefined();
    const again = await act(app, 'killGameServer', 'second-request', headers);
    expect(again.headers).toMatchObject({ 'x-request-id': 'second-request', 'idempotent-replayed': 'true' });
    expect(firstOf(again)).toBe('first-request');
    expect((await actionOf(app, firstOf(again) as string)).action).toMatchObject({ status: 'accepted' });
    expect((await actionOf(app, 'second-request')).status).toBe(404);
  });

  test('while the first runs, and after an unknown outcome', async () => {
    const { app, world } = await borrowHosting({ UPSTREAM_TIMEOUT_SECONDS: '2' });
    const advance = stopTimeouts();
    const arrived = world.panel.hold(isPost);
    const first = act(app, 'killGameServer', 'first-request', headers);
    await arrived;
    const early = await act(app, 'killGameServer', 'second-request', headers);
    expect({ status: early.status, first: firstOf(early) }).toEqual({ status: 409, first: 'first-request' });
    advance(2000);
    expect((await first).status).toBe(502);
    const late = await act(app, 'killGameServer', 'third-request', headers);
    expect({ status: late.status, first: firstOf(late) }).toEqual({ status: 502, first: 'first-request' });
    expect((await actionOf(app, 'first-request')).action).toMatchObject({ status: 'unknown' });
  });

  test('but not if an earlier version stored no id', async () => {
    const { app, world } = await borrowHosting();
    await act(app, 'killGameServer', 'first-request', headers);
    world.change('UPDATE hosting_idempotency SET request_id = NULL');
    const again = await act(app, 'killGameServer', 'second-request', headers);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(firstOf(again)).toBeUndefined();
  });
});

describe('the activity of a key', () => {
  test('has only the actions of this key, paged, newest first, without addresses and texts', async () => {
    const { app, world } = await borrowHosting();
    const other = await world.issueKey();
    const ids = Array.from({ length: 25 }, (_, at) => `order-${1000 + at}`);
    for (const id of ids) {
      await act(app, 'sendGameCommand', id);
      await act({ ...app, key: other }, 'startVps', `other-${id}`);
    }
    await runHere(['keys', 'rotate', app.key.split('_')[1]!, '--overlap', '1h'], world.settings);
    const first = await pageOf(app);
    expect(first.activity.map(({ request_id: id }) => id)).toEqual(ids.toReversed().slice(0, 20));
    const second = await pageOf(app, `?after=${first.next}`);
    expect(second.activity.map(({ request_id: id }) => id)).toEqual(ids.toReversed().slice(20));
    expect(second.next).toBeNull();
    const exact = await pageOf(app, '?limit=25');
    expect(exact.next).toBeNull();
    expect(exact.activity).toEqual([...first.activity, ...second.activity]);
    for (const action of exact.activity)
      expect(action).toEqual((await actionOf(app, String(action['request_id']))).action);
    expect(JSON.stringify(exact)).not.toMatch(/127\.0\.0\.1|say Hello|other-|keys rotate/);
  });

  test('can be paged with a new secret of the key, but not with another key', async () => {
    const { app, world } = await borrowHosting();
    for (const id of ['order-4711', 'order-4712', 'order-4713']) await act(app, 'startVps', id);
    const { next } = await pageOf(app, '?limit=1');
    const { stdout } = await runHere(['keys', 'rotate', app.key.split('_')[1]!], world.settings);
    const rest = await pageOf(app, `?after=${next}`, stdout.trim());
    expect(rest.activity.map(({ request_id: id }) => id)).toEqual(['order-4712', 'order-4711']);
    const other = await ask(app, `/v1/hosting/activity?after=${next}`, { key: await world.issueKey() });
    expect(other.status).toBe(400);
  });

  test('names the parameter of an invalid query', async () => {
    const { app } = await borrowHosting();
    for (const id of ['order-4711', 'order-4712']) await act(app, 'startVps', id);
    const { next } = (await pageOf(app, '?limit=1')) as { next: string };
    const changed = `${next.slice(0, 5)}${next[5] === 'A' ? 'B' : 'A'}${next.slice(6)}`;
    const limits = ['0', '101', '-1', '1.5', '1e1', '05', '+5', 'ten', '999999999999999999999'];
    const cursors = ['x', 'order-4711', 'A'.repeat(40), 'A'.repeat(41), `${next}%00`, `${next}%3D`, changed];
    for (const [query, problem] of [
      ...limits.map((limit) => [`limit=${limit}`, 'limit must be a whole number from 1 to 100']),
      ...cursors.map((after) => [`after=${after}`, 'after must be the next of an earlier page of this key']),
      ['limit=1&limit=2', 'limit is given more than once'],
      [`after=${next}&after=${changed}`, 'after is given more than once'],
    ]) {
      const { status, text } = await ask(app, `/v1/hosting/activity?${query}`, { key: app.key });
      const expected = renderProblem('json', 'validation_error', `Query parameter ${problem}`);
      expect({ query, status, text }).toEqual({ query, status: 400, text: expected });
    }
  });

  test('accepts an empty parameter, and the limits 1 and 100', async () => {
    const { app } = await borrowHosting();
    await act(app, 'startVps', 'order-4711');
    for (const query of ['?limit=&after=', '?limit=1', '?limit=100']) {
      expect((await pageOf(app, query)).activity).toHaveLength(1);
    }
  });
});

test('both count as reads of the key, not as actions', async () => {
  const { app } = await borrowHosting();
  for (const target of ['/v1/hosting/activity', '/v1/hosting/actions/order-4711']) {
    const { headers } = await ask(app, target, { key: app.key });
    expect(headers['ratelimit-policy']).toMatch(/^"default";.*, "reads";/);
  }
});

const server = 'game:mine';

/** Creates a history over a real audit log, with a clock that the test sets. */
async function createHistory() {
  const { store } = await createHostingWorld(temporaryFolder());
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.parse('2026-03-01T12:00:00Z') });
  onTestFinished(() => void vi.useRealTimers());
  const history = createPowerHistory(store.audit);
  const write = (fields: Partial<AuditEntry>): Promise<void> =>
    store.audit.append(
      auditEntry({ at: Date.now(), phase: 'finished', action: 'stop', server, outcome: 'ok', ms: 1, ...fields }),
    );
  const since = async () => (await history.sinceLastAction(server)).ageMs;
  return { history, write, since, pass: vi.advanceTimersByTime };
}

test('an action of this instance is timed exactly, despite its log entry', async () => {
  const { history, write, since, pass } = await createHistory();
  await history.follow(server, async () => {
    await write({ phase: 'requested', outcome: null, ms: null });
    pass(300);
    await write({});
  });
  expect(await since()).toBe(0);
  pass(1234);
  expect(await since()).toBe(1234);
});

test('the sending and the answer of an action are timed', async () => {
  const { history, write, pass } = await createHistory();
  await history.follow(server, async (onSent) => {
    pass(100);
    onSent();
    pass(50);
  });
  pass(7);
  expect(await history.sinceLastAction(server)).toEqual({ ageMs: 7, answeredMs: 7, sentMs: 57 });
  await write({ phase: 'requested', outcome: null, ms: null });
  pass(1000);
  await write({});
  pass(5000);
  expect(await history.sinceLastAction(server)).toEqual({ ageMs: 3000, answeredMs: 4000, sentMs: 4000 });
});

test('an action without effect does not count', async () => {
  const { history, write, since, pass } = await createHistory();
  await history.follow(server, () => Promise.resolve());
  pass(5000);
  const refusal = new ProviderError('no', { outcome: 'refused' });
  const refused = history.follow(server, async (onSent) => {
    onSent();
    await write({ phase: 'requested', outcome: null, ms: null, actionId: 'refused' });
    await write({ outcome: 'provider_error', actionId: 'refused' });
    throw refusal;
  });
  await expect(refused).rejects.toBe(refusal);
  expect(await since()).toBe(5000);
});

test('a failed action, or one whose audit entry cannot be written, is timed too', async () => {
  const { history, since, pass } = await createHistory();
  const failure = new Error('no answer');
  await expect(history.follow(server, () => Promise.reject(failure))).rejects.toBe(failure);
  pass(500);
  expect(await since()).toBe(500);
});

test.each<[string, Partial<AuditEntry>]>([
  ['', {}],
  [' whose end is not written yet', { phase: 'requested', outcome: null, ms: null }],
])('an action of another instance%s counts from its log entry, with 2 s of clock skew', async (_, entry) => {
  const { write, since, pass } = await createHistory();
  await write(entry);
  expect(await since()).toBe(0);
  pass(2000);
  expect(await since()).toBe(0);
  pass(1500);
  expect(await since()).toBe(1500);
});

test('the newer of two actions counts, whichever instance ran it', async () => {
  const { history, write, since, pass } = await createHistory();
  await history.follow(server, () => Promise.resolve());
  pass(5000);
  await write({});
  pass(3000);
  expect(await since()).toBe(1000);
  await history.follow(server, () => Promise.resolve());
  pass(10);
  expect(await since()).toBe(10);
});

test('commands, changes by the operator, and old actions or actions on other servers do not count', async () => {
  const { write, since, pass } = await createHistory();
  expect(await since()).toBe(Number.POSITIVE_INFINITY);
  await write({ action: 'command', detail: 'say hello' });
  await write({ action: 'servers suspend', actor: 'command line', keyId: null });
  await write({ server: 'vps:mine' });
  expect(await since()).toBe(Number.POSITIVE_INFINITY);
  await write({});
  pass(10 * 60_000);
  expect(await since()).toBe(Number.POSITIVE_INFINITY);
});
