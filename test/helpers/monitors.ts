import { onTestFinished, vi } from 'vitest';
import type { StatusCatalog } from '#contract/status.ts';
import { createMonitors } from '../../server/status/monitors.ts';
import type { Probe } from '../../server/status/monitors.ts';

/** The start time of the fake clock. */
export const start = Date.parse('2026-11-20T12:00:00Z');
/** One second in milliseconds. */
export const second = 1000;
/** One minute in milliseconds. */
export const minute = 60_000;

/** Creates a monitor for the catalog. */
export const monitor = (name: string, changes: Partial<StatusCatalog['monitors'][number]> = {}) => ({
  name,
  url: `https://${name.toLowerCase()}.example/`,
  ...changes,
});

/** Creates a maintenance window for the catalog. */
export const planned = (title: string, from: string, end: string, timezone = 'UTC', monitors = ['A']) => ({
  title,
  monitors,
  start: from,
  end,
  timezone,
});

/** Monitors with fake probes. */
export type World = ReturnType<typeof createWorld>;

/** Starts to check the monitors of a catalog, without jitter. */
export function createWorld(catalog: Partial<StatusCatalog>, hold?: Promise<void>) {
  const world = {
    catalog: { monitors: [], maintenance: [], ...catalog },
    /** The addresses whose checks fail. */
    down: new Set<string>(),
    /** The checked addresses, in order. */
    checked: [] as string[],
    changes: [] as string[],
    /** Checks wait for this promise. */
    hold,
  };
  const probe: Probe = async ({ url, tcp }) => {
    const address = url ?? tcp!;
    world.checked.push(address);
    await world.hold;
    return world.down.has(address) ? 'status 500' : undefined;
  };
  const source = createMonitors({
    catalog: () => world.catalog,
    ownUrl: () => 'http://self.example',
    probe,
    onChange: (name, up, reason) => world.changes.push(`${name} ${up ? 'up' : `down: ${reason}`}`),
    random: () => 0.5,
  });
  onTestFinished(() => source.close());
  source.start?.();
  return Object.assign(world, { source });
}

/** Advances the clock. */
export const advance = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
/** Advances the clock to a time. */
export const advanceTo = (time: string): Promise<unknown> => advance(Date.parse(time) - Date.now());
/** The address of the monitor A. */
export const a = 'https://a.example/';
