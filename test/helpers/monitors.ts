import { onTestFinished, vi } from 'vitest';
import type { StatusCatalog } from '#contract/status.ts';
import type { StatusSource } from '../../server/status/types.ts';
import { createMonitors } from '../../server/status/monitors.ts';
import type { Probe } from '../../server/status/monitors.ts';

/** When the clock is stopped. */
export const start = Date.parse('2026-11-20T12:00:00Z');
/** In milliseconds. */
export const second = 1000;
/** In milliseconds. */
export const minute = 60_000;

/** A monitor of the catalog. */
export const monitor = (name: string, changes: Partial<StatusCatalog['monitors'][number]> = {}) => ({
  name,
  url: `https://${name.toLowerCase()}.example/`,
  ...changes,
});

/** Planned maintenance of the catalog. */
export const planned = (title: string, from: string, to: string, timezone = 'UTC', monitors = ['A']) => ({
  title,
  monitors,
  start: from,
  end: to,
  timezone,
});

/** Monitors whose checks are told what to answer. */
export interface World {
  catalog: StatusCatalog;
  /** The addresses that fail. */
  readonly down: Set<string>;
  /** The addresses that were checked, in order. */
  readonly checked: string[];
  readonly told: string[];
  readonly source: StatusSource;
  /** Lets checks wait until they are released. */
  hold: Promise<void> | undefined;
}

/** Begins to check the monitors of a catalog, without jitter. */
export function createWorld(catalog: Partial<StatusCatalog>, hold?: Promise<void>): World {
  const down = new Set<string>();
  const checked: string[] = [];
  const told: string[] = [];
  const answer: Probe = async ({ url, tcp }) => {
    const address = url ?? tcp!;
    checked.push(address);
    await world.hold;
    return down.has(address) ? 'status 500' : undefined;
  };
  const world: World = {
    catalog: { monitors: [], maintenance: [], ...catalog },
    down,
    checked,
    told,
    hold,
    source: {} as StatusSource,
  };
  const source = createMonitors({
    catalog: () => world.catalog,
    ownUrl: () => 'http://self.example',
    probe: answer,
    onChange: (name, up, reason) => told.push(`${name} ${up ? 'up' : `down: ${reason}`}`),
    random: () => 0.5,
  });
  onTestFinished(() => source.close());
  source.start?.();
  return Object.assign(world, { source });
}

/** Turns the clock. */
export const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
/** Turns the clock to a time. */
export const at = (time: string): Promise<unknown> => pass(Date.parse(time) - Date.now());
/** The address of the monitor A. */
export const a = 'https://a.example/';
