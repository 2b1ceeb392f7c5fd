import { describe, expect, test } from 'vitest';
import { failureOf } from '../../helpers/fault-suite.ts';
import { openProvider } from '../../helpers/provider.ts';
import { createHetznerUpstream, hetznerToken } from '../../helpers/upstream-hetzner.ts';
import { createPanelUpstream, failure } from '../../helpers/upstream-panel.ts';
import { createProxmoxUpstream } from '../../helpers/upstream-proxmox.ts';
import { createUpstream, until } from '../../helpers/upstream.ts';
import { recordConsole } from './console-recorder.ts';

const always = Number.POSITIVE_INFINITY;

async function prepareHetzner() {
  const upstream = await createHetznerUpstream();
  const lists = () => upstream.seen.filter(({ method }) => method === 'GET');
  return { upstream, ...openProvider({ ...upstream.settings, stop: 'poweroff' }), lists };
}

describe('Hetzner Cloud', () => {
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
    const { upstream, vps } = await prepareHetzner();
    upstream.servers.set(42, status);
    expect((await vps.state('42', always)).state).toBe(expected);
  });

  test('one list of all servers answers everyone for 5 s', async () => {
    const { upstream, vps, clock, lists } = await prepareHetzner();
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

  test('after an action, all who ask wait for one new list, at most every 5 s', async () => {
    const { vps, clock, lists } = await prepareHetzner();
    expect((await vps.state('42', always)).state).toBe('running');
    clock.pass(1000);
    await vps.power('42', 'stop');
    const started = clock.now();
    const reports = await Promise.all(Array.from({ length: 20 }, () => vps.state('42', 0)));
    expect(new Set(reports.map(({ state }) => state))).toEqual(new Set(['offline']));
    expect(clock.now() - started).toBeGreaterThanOrEqual(4000);
    expect(lists()).toHaveLength(2);
  });

  test('a failure is shared for 5 s, and no state from before it is reported', async () => {
    const { upstream, vps, clock, lists } = await prepareHetzner();
    expect((await vps.state('42', always)).state).toBe('running');
    upstream.fail({ status: 500 });
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
    const { upstream, vps } = await prepareHetzner();
    upstream.fail({ status: 200, body });
    expect(await failureOf(vps.state('42', always))).toMatchObject({ code: 'provider_error' });
  });

  test('a page that names itself as the next one ends the list', async () => {
    const { upstream, vps, lists } = await prepareHetzner();
    const body = { servers: [{ id: 42, status: 'off' }], meta: { pagination: { next_page: 1 } } };
    upstream.fail({ status: 200, body: JSON.stringify(body) });
    expect((await vps.state('42', always)).state).toBe('offline');
    expect(lists()).toHaveLength(1);
  });

  test('the lists stay as frequent while the budget shrinks, and stop before its last quarter', async () => {
    const { upstream, vps, clock, lists } = await prepareHetzner();
    const read = async (remaining: number) => {
      upstream.budget = { limit: 3600, remaining };
      clock.pass(5000);
      return await vps.state('42', always);
    };
    for (const remaining of [3600, 1900, 901]) expect((await read(remaining)).state).toBe('running');
    const { checkedAt } = await read(900);
    expect(lists()).toHaveLength(4);
    // From then on the state is unknown, with the time of what was known.
    expect(await read(900)).toEqual({ state: 'unknown', checkedAt });
    expect(lists()).toHaveLength(4);
    clock.pass(60_000);
    expect((await read(3600)).state).toBe('running');
  });

  test('a server whose state was never read is a failure while only the last quarter is left', async () => {
    const { upstream, vps, lists } = await prepareHetzner();
    upstream.budget = { limit: 3600, remaining: 900 };
    await vps.power('42', 'stop');
    expect(await failureOf(vps.state('42', always))).toMatchObject({ outcome: 'refused' });
    expect(lists()).toHaveLength(0);
  });

  test('a list that began before an action, and ended after it, does not count', async () => {
    const { vps, clock, lists } = await prepareHetzner();
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

describe('Proxmox', () => {
  test.each([
    ['running', undefined, 'running'],
    ['running', 'backup', 'running'],
    ['running', 'suspending', 'stopping'],
    ['stopped', undefined, 'offline'],
    ['stopped', 'suspended', 'offline'],
    ['prelaunch', undefined, 'starting'],
    ['paused', undefined, 'unknown'],
    ['internal-error', undefined, 'unknown'],
    ['unknown', undefined, 'unknown'],
    [undefined, undefined, 'unknown'],
  ])('a VPS with the status %s and the lock %s is %s', async (status, lock, expected) => {
    const { upstream, vps } = await prepareProxmox();
    Object.assign(upstream.vms[0]!, { status, lock });
    expect((await vps.state('100', always)).state).toBe(expected);
  });

  test('one list answers for all VPS for 5 s, and none for a template', async () => {
    const { upstream, vps, clock } = await prepareProxmox();
    upstream.vms[1]!.status = 'stopped';
    const read = () => Promise.all(['100', '101'].map(async (ref) => (await vps.state(ref, always)).state));
    expect(await read()).toEqual(['running', 'offline']);
    await failureOf(vps.state('900', always));
    clock.pass(4999);
    await read();
    expect(upstream.seen).toHaveLength(1);
    clock.pass(1);
    await read();
    expect(upstream.seen).toHaveLength(2);
  });

  test('what nodes published before an action is not reported', async () => {
    const { upstream, vps, clock } = await prepareProxmox();
    await vps.power('100', 'stop');
    // The node has not published the stop yet.
    upstream.vms[0]!.status = 'running';
    for (const since of [0, 5000, 8999]) {
      clock.pass(since === 0 ? 0 : 4000);
      expect((await vps.state('100', since)).state).toBe('unknown');
    }
    upstream.vms[0]!.status = 'stopped';
    clock.pass(10_000);
    expect((await vps.state('100', 19_000)).state).toBe('offline');
  });

  async function prepareProxmox() {
    const upstream = await createProxmoxUpstream();
    return { upstream, ...openProvider({ ...upstream.settings, stop: 'stop' }) };
  }
});

describe('a panel', () => {
  test.each([
    ['running', 'running'],
    ['starting', 'starting'],
    ['stopping', 'stopping'],
    ['offline', 'offline'],
    ['missing', 'unknown'],
    ['exited', 'unknown'],
    ['paused', 'unknown'],
    ['__proto__', 'unknown'],
  ])('a server that is %s is %s', async (state, expected) => {
    const { panel, game, ref } = await preparePanel();
    panel.wings.become(state);
    expect((await game.state(ref, always)).state).toBe(expected);
  });

  test('the state of a server that the panel has suspended is unknown', async () => {
    const { panel, game, ref } = await preparePanel();
    panel.conflict = 'This server is currently suspended and the functionality requested is unavailable.';
    expect((await game.state(ref, always)).state).toBe('unknown');
  });

  test('another 409 is a failure', async () => {
    const { panel, game, ref } = await preparePanel();
    panel.fail(failure(409, 'HttpException', 'no'));
    expect(await failureOf(game.state(ref, always))).toMatchObject({ code: 'provider_error' });
  });

  test('the resources of a server are read at most every 20 s', async () => {
    const { game, ref, clock, reads } = await preparePanel();
    const read = () => Promise.all(Array.from({ length: 10 }, () => game.state(ref, always)));
    await read();
    clock.pass(19_999);
    await read();
    expect(reads()).toBe(1);
    clock.pass(1);
    await read();
    expect(reads()).toBe(2);
  });

  test('what the panel has cached before an action is not reported, nor read', async () => {
    const { panel, game, ref, clock, reads } = await preparePanel();
    panel.wings.become('running');
    panel.resourcesMs = always;
    expect((await game.state(ref, always)).state).toBe('running');
    clock.pass(30_000);
    await game.power(ref, 'stop');
    for (const since of [0, 6000, 13_000]) {
      expect((await game.state(ref, since)).state).toBe('unknown');
      clock.pass(7000);
    }
    expect(reads()).toBe(1);
    panel.resourcesMs = 0;
    expect((await game.state(ref, 21_000)).state).toBe('offline');
  });

  async function preparePanel() {
    const panel = await createPanelUpstream();
    const reads = () => panel.seen.filter(({ path }) => path.endsWith('/resources')).length;
    return { panel, ...openProvider(panel.settings), ref: panel.wings.uuid, reads };
  }
});

/** A running server whose console is followed, and time that passes for the provider alone. */
async function follow() {
  const panel = await createPanelUpstream();
  panel.wings.become('running');
  const { game, clock } = openProvider(panel.settings, { timings: {} });
  const { wings } = panel;
  const record = recordConsole(game, wings.uuid);
  await record.ready();
  await until('statistics came', () => wings.statsSent() === 1);
  const stateAfter = (maxAgeMs: number) => game.state(wings.uuid, maxAgeMs);
  const reads = () => panel.seen.filter(({ path }) => path.endsWith('/resources')).length;
  /** Prints a line, which is a sign of life. */
  const print = async (line: string) => {
    wings.print(line);
    await record.received(line);
  };
  return { wings, clock, record, stateAfter, reads, print };
}

test('an open console knows the state, and each of its lines says that it still holds', async () => {
  const { clock, stateAfter, reads, print } = await follow();
  clock.pass(30_000);
  const before = Date.now();
  await print('a line');
  const { state, checkedAt } = await stateAfter(always);
  expect(state).toBe('running');
  expect(checkedAt).toBeGreaterThanOrEqual(before);
  clock.pass(30_000);
  expect((await stateAfter(always)).checkedAt).toBe(checkedAt);
  expect(reads()).toBe(0);
});

test('a console that is silent for more than 35 s says nothing of the state', async () => {
  const { clock, stateAfter, reads, print } = await follow();
  await print('a line');
  clock.pass(35_000);
  await stateAfter(always);
  expect(reads()).toBe(0);
  clock.pass(1);
  await stateAfter(always);
  expect(reads()).toBe(1);
});

test('a lost console says nothing of the state', async () => {
  const { wings, record, stateAfter, reads } = await follow();
  wings.refuse(503);
  wings.cut();
  await until('the console was lost', () => record.gaps.length > 0);
  await stateAfter(always);
  expect(reads()).toBe(1);
});

test('a gap may hide a status, and the next status counts', async () => {
  const { wings, record, stateAfter, reads } = await follow();
  wings.publish('token expired');
  await until('the gap is reported', () => record.gaps.length === 1);
  await stateAfter(always);
  expect(reads()).toBe(1);
  wings.become('offline');
  await until('the status came', () => record.states.at(-1) === 'offline');
  expect((await stateAfter(always)).state).toBe('offline');
  expect(reads()).toBe(1);
});

test.for([
  ['not sooner', 20_000, 1],
  ['without a read', 20_001, 0],
] as const)('a status from before an action counts if it holds 20 s later: %s', async ([, ms, count]) => {
  const { clock, stateAfter, reads, print } = await follow();
  clock.pass(1000 + ms);
  await print('a line');
  expect((await stateAfter(ms)).state).toBe('running');
  expect(reads()).toBe(count);
});
