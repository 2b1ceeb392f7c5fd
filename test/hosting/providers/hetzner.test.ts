import { describe, expect, test } from 'vitest';
import type { HetznerSettings } from '../../../server/hosting/providers/hetzner.ts';
import { failureOf, testFaults } from '../../helpers/fault-suite.ts';
import { openProvider } from '../../helpers/provider.ts';
import { createHetznerUpstream, failure, hetznerToken } from '../../helpers/upstream-hetzner.ts';
import { createUpstream, json, until } from '../../helpers/upstream.ts';
import { testVpsProvider } from './provider-suite.ts';

async function prepare(changes: Partial<HetznerSettings> = {}) {
  const upstream = await createHetznerUpstream();
  const lists = () => upstream.seen.filter(({ method }) => method === 'GET');
  return { upstream, ...openProvider({ ...upstream.settings, ...changes }), lists };
}

const always = Number.POSITIVE_INFINITY;
const verbs = { start: 'poweron', stop: 'shutdown', reset: 'reset' };

testVpsProvider('Hetzner Cloud', async () => {
  const { upstream, provider, clock } = await prepare();
  const actions = () => upstream.seen.filter(({ path }) => path.includes('/actions/'));
  return {
    provider,
    pass: clock.pass,
    ref: '42',
    unknownRef: '43',
    arrived: (action) => until(action, () => actions().at(-1)?.path === `/v1/servers/42/actions/${verbs[action]}`),
    actions: () => actions().filter(({ path }) => path.includes('/42/')).length,
  };
});

testFaults(
  'Hetzner Cloud',
  (['start', 'stop', 'reset'] as const).map((action) => ({
    name: action,
    run: (provider) => provider.vps!.power('42', action),
    method: 'POST',
    path: `/v1/servers/42/actions/${verbs[action]}`,
    headers: { authorization: `Bearer ${hetznerToken}`, 'content-length': '0' },
  })),
  async () => ({ upstream: await createHetznerUpstream(), secrets: [hetznerToken] }),
);

test('stop cuts the power if the operator configured poweroff', async () => {
  const { upstream, vps } = await prepare({ stop: 'poweroff' });
  await vps.power('42', 'stop');
  expect(upstream.seen.map(({ path }) => path)).toEqual(['/v1/servers/42/actions/poweroff']);
});

test.each([
  [423, 'locked', 'refused'],
  [409, 'conflict', 'refused'],
  [403, 'token_readonly', 'refused'],
  [503, 'maintenance', 'refused'],
  [500, 'server_error', 'unknown'],
  [400, 'timeout', 'unknown'],
  [422, 'unavailable', 'unknown'],
] as const)('%i %s has the outcome %s: the error code decides', async (status, code, outcome) => {
  const { upstream, vps } = await prepare();
  upstream.fail(failure(status, code));
  const error = await failureOf(vps.power('42', 'reset'));
  expect(error).toMatchObject({ outcome, message: 'The request could not be completed' });
  expect(String(error.cause)).toContain(code);
  expect(upstream.seen).toHaveLength(1);
});

test('a wrong token and an unreachable upstream are reported, not thrown', async () => {
  const { provider: wrong } = await prepare({ token: 'another-token' });
  const refused = { level: 'error', message: 'The token is not accepted: status 401' };
  expect(await wrong.check()).toMatchObject([refused]);
  const { upstream, provider } = await prepare();
  upstream.fail({ status: 503 });
  const message = 'Hetzner Cloud answers with status 503 from a proxy or firewall in front of it';
  const busy = { level: 'warn', message, isUnreachable: true };
  expect(await provider.check()).toMatchObject([busy]);
  await upstream.stop();
  expect(await provider.check()).toMatchObject([{ level: 'warn' }]);
});

describe('the power state', () => {
  test.each([
    ['running', 'running'],
    ['initializing', 'starting'],
    ['starting', 'starting'],
    ['stopping', 'stopping'],
    ['off', 'offline'],
    ['deleting', 'unknown'],
    ['migrating', 'unknown'],
    ['rebuilding', 'unknown'],
    ['unknown', 'unknown'],
    ['a new status', 'unknown'],
    ['constructor', 'unknown'],
  ])('a server that is %s is %s', async (status, expected) => {
    const { upstream, vps } = await prepare();
    upstream.servers.set(42, status);
    expect((await vps.state('42', always)).state).toBe(expected);
  });

  test('numbers may be texts, and an unreadable server does not hide the others', async () => {
    const pages = [
      { servers: [{ id: 'x', status: 'off' }, null], meta: { pagination: { next_page: '2' } } },
      {
        servers: [
          { id: '42', name: 'web', status: 'off' },
          { id: 43, status: null },
        ],
        meta: null,
      },
    ];
    const upstream = await createUpstream(({ path }) => json(200, pages[Number(path.at(-1)) - 1]));
    const settings = { type: 'hetzner', url: upstream.url, token: hetznerToken, stop: 'shutdown' } as const;
    const { provider, vps, written, clock } = openProvider(settings);
    const names = new Map(Object.entries({ 42: 'web', 43: '' }));
    expect(await provider.listRefs!()).toEqual({ names, missed: 2 });
    for (let read = 0; read < 2; read += 1) {
      expect((await vps.state('42', always)).state).toBe('offline');
      expect((await vps.state('43', always)).state).toBe('unknown');
      clock.pass(5000);
    }
    expect(written().match(/2 entries of a list cannot be read/g)).toHaveLength(1);
  });

  test('one list of all servers is shared for 5 s', async () => {
    const { upstream, vps, clock, lists } = await prepare();
    for (let id = 100; id < 220; id += 1) upstream.servers.set(id, id % 2 ? 'running' : 'off');
    const ids = [...upstream.servers.keys()];
    const read = () => Promise.all(ids.map(async (id) => (await vps.state(String(id), always)).state));
    const expected = ids.map((id) => (id % 2 || id === 42 ? 'running' : 'offline'));
    expect(await read()).toEqual(expected);
    expect(lists().map(({ path }) => path)).toEqual([1, 2, 3].map((page) => `/v1/servers?per_page=50&page=${page}`));
    clock.pass(4999);
    expect(await read()).toEqual(expected);
    expect(lists()).toHaveLength(3);
    clock.pass(1);
    expect(await read()).toEqual(expected);
    expect(lists()).toHaveLength(6);
  });

  test('after an action, all readers share one new list, at most every 5 s', async () => {
    const { vps, clock, lists } = await prepare({ stop: 'poweroff' });
    expect((await vps.state('42', always)).state).toBe('running');
    clock.pass(1000);
    await vps.power('42', 'stop');
    const started = clock.now();
    const reports = await Promise.all(Array.from({ length: 20 }, () => vps.state('42', 0)));
    expect(new Set(reports.map(({ state }) => state))).toEqual(new Set(['offline']));
    expect(clock.now() - started).toBeGreaterThanOrEqual(4000);
    expect(lists()).toHaveLength(2);
  });

  test('a failure is shared for 5 s and hides older states', async () => {
    const { upstream, vps, clock, lists } = await prepare();
    expect((await vps.state('42', always)).state).toBe('running');
    upstream.fail({ status: 429 });
    clock.pass(5000);
    for (let count = 0; count < 3; count += 1) await failureOf(vps.state('42', always));
    expect(lists()).toHaveLength(2);
    upstream.fail(undefined);
    await failureOf(vps.state('42', always));
    clock.pass(5000);
    expect((await vps.state('42', always)).state).toBe('running');
  });

  test.each([
    ['no list', '{}'],
    ['a page of HTML', '<html></html>'],
    ['servers without a status', '{"servers":[{"id":42}]}'],
    ['a list without the server', '{"servers":[]}'],
  ])('a 200 with %s is a failure', async (_, body) => {
    const { upstream, vps } = await prepare();
    upstream.fail({ status: 200, body });
    expect(await failureOf(vps.state('42', always))).toMatchObject({ code: 'provider_error' });
  });

  test('a page that names itself as the next page ends the list', async () => {
    const { upstream, vps, lists } = await prepare();
    const body = { servers: [{ id: 42, status: 'off' }], meta: { pagination: { next_page: 1 } } };
    upstream.fail({ status: 200, body: JSON.stringify(body) });
    expect((await vps.state('42', always)).state).toBe('offline');
    expect(lists()).toHaveLength(1);
  });

  test('lists stay equally frequent while the budget shrinks, and stop at its last quarter', async () => {
    const { upstream, vps, clock, lists } = await prepare();
    const read = async (remaining: number) => {
      upstream.budget = { limit: 3600, remaining };
      clock.pass(5000);
      return await vps.state('42', always);
    };
    for (const remaining of [3600, 1900, 901]) expect((await read(remaining)).state).toBe('running');
    const { checkedAt } = await read(900);
    expect(lists()).toHaveLength(4);
    // From then on the state is unknown, with the time of the last state.
    expect(await read(900)).toEqual({ state: 'unknown', checkedAt });
    expect(lists()).toHaveLength(4);
    clock.pass(60_000);
    expect((await read(3600)).state).toBe('running');
  });

  test('an unread state is a failure while only the last quarter is left', async () => {
    const { upstream, vps, lists } = await prepare({ stop: 'poweroff' });
    upstream.budget = { limit: 3600, remaining: 900 };
    await vps.power('42', 'stop');
    expect(await failureOf(vps.state('42', always))).toMatchObject({ outcome: 'refused' });
    expect(lists()).toHaveLength(0);
  });

  test('a list that began before an action and ended after the action does not count', async () => {
    const { vps, clock, lists } = await prepare();
    const before = vps.state('42', always);
    const same = vps.state('42', 0);
    clock.pass(10);
    const after = vps.state('42', 0);
    expect((await before).state).toBe('running');
    expect([(await same).state, (await after).state]).toEqual(['running', 'running']);
    expect(lists()).toHaveLength(2);
  });

  test('the 5 s are counted from the end of a slow list', async () => {
    const list = JSON.stringify({ servers: [{ id: 42, status: 'running' }] });
    const upstream = await createUpstream(() => {
      clock.pass(9000);
      return { status: 200, body: list };
    });
    const settings = { type: 'hetzner', url: upstream.url, token: hetznerToken, stop: 'poweroff' } as const;
    const { vps, clock } = openProvider(settings);
    const read = () => vps.state('42', always);
    await read();
    clock.pass(4999);
    await read();
    expect(upstream.seen).toHaveLength(1);
    clock.pass(1);
    await read();
    expect(upstream.seen).toHaveLength(2);
  });
});
