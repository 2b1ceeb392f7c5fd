import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { StatusCatalog } from '#contract/status.ts';
import type { Logger } from '../../server/log.ts';
import { createMonitors } from '../../server/status/monitors.ts';

const start = Date.parse('2026-11-20T12:00:00Z');
const second = 1000;
const minute = 60_000;
/** The address of the monitor A. */
const a = 'https://a.example/';

// Fakes only the service's timers: sockets and the timeout of a check stay real.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: start }));
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0.5));
afterEach(() => void vi.useRealTimers());
afterEach(() => void vi.restoreAllMocks());

/** A monitor of the catalog. */
const monitor = (name: string, changes: Partial<StatusCatalog['monitors'][number]> = {}) => ({
  name,
  url: `https://${name.toLowerCase()}.example/`,
  ...changes,
});

/** A maintenance window of the catalog. */
const planned = (title: string, from: string, end: string, timezone = 'UTC', monitors = ['A']) => ({
  title,
  monitors,
  start: from,
  end,
  timezone,
});

/** Checks the monitors of a catalog with fake probes, which wait for `hold`, and without jitter. */
function createWorld(
  catalog: Partial<StatusCatalog>,
  { hold, ...options }: { hold?: Promise<void> } & Partial<Parameters<typeof createMonitors>[0]> = {},
) {
  const world = {
    catalog: { monitors: [], maintenance: [], ...catalog },
    /** The addresses whose checks fail. */
    down: new Set<string>(),
    /** The checked addresses, in order. */
    checked: [] as string[],
    changes: [] as string[],
  };
  const source = createMonitors({
    catalog: () => world.catalog,
    ownUrl: () => 'http://self.example',
    async probe({ url, tcp }) {
      const address = url ?? tcp!;
      world.checked.push(address);
      await hold;
      return world.down.has(address) ? 'status 500' : undefined;
    },
    log: {
      info({ name, reason }: { name: string; reason?: string }) {
        world.changes.push(`${name} ${reason === undefined ? 'up' : `down: ${reason}`}`);
      },
    } as Logger,
    ...options,
  });
  onTestFinished(() => source.close());
  source.start?.();
  return Object.assign(world, { source });
}

const advance = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const advanceTo = (time: string): Promise<unknown> => advance(Date.parse(time) - Date.now());

describe('the first round of checks', () => {
  test('must be complete before there is a status', async () => {
    const { promise: hold, resolve: release } = Promise.withResolvers<void>();
    const { source } = createWorld({ monitors: [monitor('A'), monitor('B')] }, { hold });
    const status = source.read();
    await advance(0);
    expect(await Promise.race([status, Promise.resolve('waits')])).toBe('waits');
    release();
    expect(await status).toEqual({ status: 'up' });
  });

  test('decides the state of each monitor', async () => {
    const world = createWorld({ monitors: [monitor('A'), monitor('B', { interval_seconds: 3600, failures: 3 })] });
    world.down.add('https://b.example/');
    await advance(0);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['B'] });
    expect(world.changes).toEqual(['B down: status 500']);
  });

  test('never completes without a monitor', async () => {
    const { source } = createWorld({});
    await advance(minute);
    await expect(source.read()).rejects.toThrow('no monitor has a result');
  });

  test('checks 200 hanging monitors with at most 16 concurrent checks', async () => {
    const monitors = Array.from({ length: 200 }, (_, index) => monitor(`M${index}`));
    const { promise: hold, resolve: release } = Promise.withResolvers<void>();
    const { checked, source } = createWorld({ monitors }, { hold });
    await advance(0);
    expect(checked).toHaveLength(16);
    release();
    await advance(0);
    expect(checked).toHaveLength(200);
    expect(await source.read()).toEqual({ status: 'up' });
  });
});

/** Returns the visible states after each check of a monitor; `+` is a pass, `-` a failure. */
async function seenAfter(checks: string, settings: Parameters<typeof monitor>[1] = {}): Promise<string> {
  const world = createWorld({ monitors: [monitor('A', settings)] });
  let seen = '';
  for (const check of checks) {
    if (check === '+') world.down.clear();
    else world.down.add(a);
    await advance(seen === '' ? 0 : (settings.interval_seconds ?? 60) * second);
    seen += (await world.source.read()).status === 'up' ? '+' : '-';
  }
  expect(world.checked).toHaveLength(checks.length);
  return seen;
}

test.each<[name: string, checks: string, seen: string, settings?: Parameters<typeof monitor>[1]]>([
  ['one failure is ignored, and two in a row count', '+-+-+--', '++++++-'],
  ['one failure counts with a threshold of one', '+-', '+-', { failures: 1 }],
  ['the first check decides: up', '+', '+'],
  ['the first check decides: down, as after an outage', '-+++++', '-----+'],
  ['after an outage five passes in a row are needed', '+---+++++', '++------+'],
  ['a failure starts the count of passes again', '+--++++-+++++', '++----------+'],
  ['a relapse needs five passes again', '+--+++++--+++++', '++-----++-----+'],
  ['with a threshold of one, three passes are needed', '+-+++', '+---+', { failures: 1 }],
  ['with a threshold of three, seven passes are needed', '+---+++++++', '+++-------+', { failures: 3 }],
  ['ten minutes apart, 30 minutes of passes are enough', '+--+++', '++---+', { interval_seconds: 600 }],
  ['with hours between checks, one pass is enough', '+--+', '++-+', { interval_seconds: 3600 }],
])('%s: %s is seen as %s', async (_, checks, seen, settings) => {
  expect(await seenAfter(checks, settings)).toBe(seen);
});

test.each([
  [1, 1, 2],
  [2, 2, 4],
  [2, 7, 4],
  [3, 3, 6],
])('with a threshold of %i, a monitor that flaps 50 times changes twice: %i failures, %i passes', async (...row) => {
  const [failures, down, up] = row;
  const flapping = ('-'.repeat(down) + '+'.repeat(up)).repeat(50);
  const seen = await seenAfter(`+${flapping}${'+'.repeat(10)}`, { failures });
  expect(seen).toMatch(/^\++-+\++$/);
});

test('a monitor that goes down and comes up again is reported', async () => {
  const world = createWorld({ monitors: [monitor('A'), monitor('B', { url: undefined, tcp: 'b.example:53' })] });
  await advance(0);
  world.down.add('b.example:53');
  await advance(2 * minute);
  expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['B'] });
  world.down.clear();
  await advance(5 * minute);
  expect(await world.source.read()).toEqual({ status: 'up' });
  expect(world.changes).toEqual(['B down: status 500', 'B up']);
});

describe('planned maintenance', () => {
  const names = { status: 'maintenance', maintenance: ['A'] };

  test('is shown exactly from start to end, in UTC', async () => {
    const window = planned('Move', '2026-11-20T13:00', '2026-11-20T14:30');
    const { source } = createWorld({ monitors: [monitor('A'), monitor('B')], maintenance: [window] });
    await advanceTo('2026-11-20T12:59:59.999Z');
    expect(await source.read()).toEqual({ status: 'up' });
    await advanceTo('2026-11-20T13:00:00Z');
    expect(await source.read()).toEqual(names);
    await advanceTo('2026-11-20T14:29:59.999Z');
    expect(await source.read()).toEqual(names);
    await advanceTo('2026-11-20T14:30:00Z');
    expect(await source.read()).toEqual({ status: 'up' });
  });

  test.each([
    ['winter', '2026-11-21T02:00', '2026-11-21T03:00', '2026-11-21T01:00:00Z', '2026-11-21T02:00:00Z'],
    ['summer', '2027-06-01T02:00', '2027-06-01T03:00', '2027-06-01T00:00:00Z', '2027-06-01T01:00:00Z'],
    ['the night with 23 hours', '2027-03-28T01:30', '2027-03-28T03:30', '2027-03-28T00:30:00Z', '2027-03-28T01:30:00Z'],
    ['the night with 25 hours', '2027-10-31T01:30', '2027-10-31T03:30', '2027-10-30T23:30:00Z', '2027-10-31T02:30:00Z'],
  ])('is shown exactly from start to end, in Berlin in %s', async (_, from, to, first, last) => {
    vi.setSystemTime(Date.parse(first) - 1);
    const window = planned('Move', from, to, 'Europe/Berlin');
    const { source } = createWorld({ monitors: [monitor('A')], maintenance: [window] });
    await advance(0);
    expect(await source.read()).toEqual({ status: 'up' });
    await advanceTo(first);
    expect(await source.read()).toEqual(names);
    await advanceTo(new Date(Date.parse(last) - 1).toISOString());
    expect(await source.read()).toEqual(names);
    await advanceTo(last);
    expect(await source.read()).toEqual({ status: 'up' });
  });

  test('hides only failures of the listed monitors', async () => {
    const window = planned('Move', '2026-11-20T11:00', '2026-11-20T14:00');
    const world = createWorld({ monitors: [monitor('A'), monitor('B')], maintenance: [window] });
    world.down.add(a);
    await advance(10 * minute);
    expect(await world.source.read()).toEqual(names);
    world.down.add('https://b.example/');
    await advance(2 * minute);
    expect(await world.source.read()).toEqual({ status: 'disrupted', maintenance: ['A'], disrupted: ['B'] });
  });

  test('ends with the checked state of each monitor', async () => {
    const window = planned('Move', '2026-11-20T12:30', '2026-11-20T13:00', 'UTC', ['A', 'B']);
    const world = createWorld({ monitors: [monitor('A'), monitor('B')], maintenance: [window] });
    await advanceTo('2026-11-20T12:31:00Z');
    world.down.add(a).add('https://b.example/');
    await advanceTo('2026-11-20T12:58:30Z');
    world.down.delete(a);
    await advanceTo('2026-11-20T13:00:00Z');
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['B'] });
  });

  test('is shown before the first check of its monitors', async () => {
    const window = planned('Move', '2026-11-20T11:00', '2026-11-20T14:00');
    const { source } = createWorld(
      { monitors: [monitor('A')], maintenance: [window] },
      { hold: new Promise(() => {}) },
    );
    expect(await source.read()).toEqual(names);
  });
});

test('jitter spreads monitors with the same interval', async () => {
  const times: number[] = [];
  let seed = 0;
  vi.spyOn(Math, 'random').mockImplementation(() => (seed = (seed + 0.45) % 1));
  createWorld(
    { monitors: ['A', 'B', 'C'].map((name) => monitor(name)) },
    { probe: async () => void times.push(Date.now() - start) },
  );
  await advance(70 * second);
  expect(times.slice(0, 3)).toEqual([0, 0, 0]);
  expect(new Set(times.slice(3, 6)).size).toBe(3);
  for (const time of times.slice(3, 6)) expect(Math.abs(time - minute)).toBeLessThanOrEqual(6 * second);
});

test('closing aborts running checks, starts no more and clears the state', async () => {
  const signals: AbortSignal[] = [];
  const probe = (_: unknown, { signal }: { signal: AbortSignal }) => {
    signals.push(signal);
    return new Promise<string>((end) => signal.addEventListener('abort', () => end('ended')));
  };
  const { source } = createWorld({ monitors: [monitor('A')] }, { probe });
  await advance(0);
  await source.close();
  await advance(10 * minute);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(vi.getTimerCount()).toBe(0);
  await expect(source.read()).rejects.toThrow('no monitor has a result');
});

test('a path as URL refers to this server', async () => {
  const world = createWorld({ monitors: [monitor('A', { url: '/v1/info' }), monitor('B')] });
  await advance(0);
  expect(world.checked).toContain('http://self.example/v1/info');
});

describe('the catalog of a new release', () => {
  const down = async (world: ReturnType<typeof createWorld>): Promise<void> => {
    await advance(0);
    world.down.add(a);
    await advance(2 * minute);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
  };

  test('keeps unchanged monitors', async () => {
    const world = createWorld({ monitors: [monitor('A'), monitor('B')] });
    await down(world);
    world.down.clear();
    await advance(4 * minute);
    const { length } = world.checked;
    world.catalog = structuredClone(world.catalog);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    await advance(0);
    expect(world.checked).toHaveLength(length);
    await advance(minute);
    expect(await world.source.read()).toEqual({ status: 'up' });
  });

  test('starts checks of a new monitor, which is left out before the first result', async () => {
    const world = createWorld({ monitors: [monitor('A')] });
    await down(world);
    world.down.add('https://b.example/');
    world.catalog = { monitors: [monitor('B'), monitor('A')], maintenance: [] };
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    await advance(0);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A', 'B'] });
  });

  test('ends the checks of removed monitors, also without requests', async () => {
    const world = createWorld({ monitors: [monitor('A'), monitor('B')] });
    await down(world);
    world.catalog = { monitors: [monitor('B')], maintenance: [] };
    await advance(minute);
    world.checked.length = 0;
    await advance(2 * minute);
    expect(world.checked).toEqual(['https://b.example/', 'https://b.example/']);
    expect(await world.source.read()).toEqual({ status: 'up' });
  });

  test('with changed settings of a monitor keeps its state', async () => {
    const world = createWorld({ monitors: [monitor('A')] });
    await down(world);
    world.catalog = { monitors: [monitor('A', { interval_seconds: 5 })], maintenance: [] };
    world.down.clear();
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    await advance(19 * second);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    await advance(second);
    expect(await world.source.read()).toEqual({ status: 'up' });
  });

  test('with a changed address of a monitor keeps its state until the next check', async () => {
    const world = createWorld({ monitors: [monitor('A')] });
    await down(world);
    world.catalog = { monitors: [monitor('A', { url: 'https://other.example/' })], maintenance: [] };
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    await advance(0);
    expect(await world.source.read()).toEqual({ status: 'up' });
  });

  test('without monitors clears the state', async () => {
    const world = createWorld({ monitors: [monitor('A')] });
    await advance(0);
    world.catalog = { monitors: [], maintenance: [] };
    await expect(world.source.read()).rejects.toThrow('no monitor has a result');
    world.catalog = { monitors: [monitor('A'), monitor('B')], maintenance: [] };
    world.down.add(a);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
  });
});
