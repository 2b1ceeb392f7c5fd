import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { a, createWorld, minute, monitor, pass, second, start } from '../helpers/monitors.ts';
import type { World } from '../helpers/monitors.ts';

// Only what the service waits with: sockets, and the time that a check may take, stay real.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: start }));
afterEach(() => void vi.useRealTimers());

describe('the catalog of a new release', () => {
  const down = async (world: World): Promise<void> => {
    await pass(0);
    world.down.add(a);
    await pass(2 * minute);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
  };

  test('leaves the monitors alone that it does not change', async () => {
    const world = createWorld({ monitors: [monitor('A'), monitor('B')] });
    await down(world);
    world.down.clear();
    await pass(4 * minute);
    const { length } = world.checked;
    world.catalog = structuredClone(world.catalog);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    await pass(0);
    expect(world.checked).toHaveLength(length);
    await pass(minute);
    expect(await world.source.read()).toEqual({ status: 'up' });
  });

  test('begins to check what is new, which says nothing before it is decided', async () => {
    const world = createWorld({ monitors: [monitor('A')] });
    await down(world);
    world.down.add('https://b.example/');
    world.catalog = { monitors: [monitor('B'), monitor('A')], maintenance: [] };
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    await pass(5 * second);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A', 'B'] });
  });

  test('says that all is well with no monitor that is new and fails, though it does not count yet', async () => {
    const world = createWorld({ monitors: [monitor('A')] });
    await pass(0);
    expect(await world.source.read()).toEqual({ status: 'up' });
    world.down.add('https://b.example/');
    world.catalog = { monitors: [monitor('A'), monitor('B', { failures: 3 })], maintenance: [] };
    expect(await world.source.read()).toEqual({ status: 'up' });
    await pass(0);
    await expect(world.source.read()).rejects.toThrow('a new monitor fails');
    await pass(15 * second);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['B'] });
  });

  test('ends the checks of what is gone, also where nobody asks for the state', async () => {
    const world = createWorld({ monitors: [monitor('A'), monitor('B')] });
    await down(world);
    world.catalog = { monitors: [monitor('B')], maintenance: [] };
    await pass(minute);
    world.checked.length = 0;
    await pass(2 * minute);
    expect(world.checked).toEqual(['https://b.example/', 'https://b.example/']);
    expect(await world.source.read()).toEqual({ status: 'up' });
  });

  test('with other settings of a monitor goes on from what is known of it', async () => {
    const world = createWorld({ monitors: [monitor('A')] });
    await down(world);
    world.catalog = { monitors: [monitor('A', { interval_seconds: 5 })], maintenance: [] };
    world.down.clear();
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    await pass(19 * second);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    await pass(second);
    expect(await world.source.read()).toEqual({ status: 'up' });
  });

  test('with another address of a monitor keeps what was told until the next check decides', async () => {
    const world = createWorld({ monitors: [monitor('A')] });
    await down(world);
    world.catalog = { monitors: [monitor('A', { url: 'https://other.example/' })], maintenance: [] };
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    await pass(0);
    expect(await world.source.read()).toEqual({ status: 'up' });
  });

  test('without monitors leaves nothing known, and one that has some begins anew', async () => {
    const world = createWorld({ monitors: [monitor('A')] });
    await pass(0);
    world.catalog = { monitors: [], maintenance: [] };
    await expect(world.source.read()).rejects.toThrow('no monitor has a result');
    world.catalog = { monitors: [monitor('A'), monitor('B')], maintenance: [] };
    world.down.add(a);
    await expect(world.source.read()).rejects.toThrow('no monitor has a result');
    await pass(0);
    await expect(world.source.read()).rejects.toThrow('the first round of checks is not complete');
    await pass(5 * second);
    expect(await world.source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
  });
});
