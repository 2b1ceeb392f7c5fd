import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { a, advance, createWorld, minute, monitor, second, start } from '../helpers/monitors.ts';
import type { World } from '../helpers/monitors.ts';

// Fakes only the service's timers: sockets and the timeout of a check stay real.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: start }));
afterEach(() => void vi.useRealTimers());

describe('the catalog of a new release', () => {
  const down = async (world: World): Promise<void> => {
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

  test('starts to check a new monitor, which has no effect before its first result', async () => {
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

  test('with other settings of a monitor continues from its state', async () => {
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

  test('with another address of a monitor keeps its state until the next check', async () => {
    const world = createWorld({ monitors: [monitor('A')] });
    await down(world);
    world.catalog = { monitors: [monitor('A', { url: 'https://other.example/' })], maintenance: [] };
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    await advance(0);
    expect(await world.source.read()).toEqual({ status: 'up' });
  });

  test('without monitors clears the state, and a later one with monitors starts with no state', async () => {
    const world = createWorld({ monitors: [monitor('A')] });
    await advance(0);
    world.catalog = { monitors: [], maintenance: [] };
    await expect(world.source.read()).rejects.toThrow('no monitor has a result');
    world.catalog = { monitors: [monitor('A'), monitor('B')], maintenance: [] };
    world.down.add(a);
    await expect(world.source.read()).rejects.toThrow('the first round of checks is not complete');
    await advance(0);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
  });
});
