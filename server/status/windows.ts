import { toInstant } from '#common/local-time.ts';
import type { StatusCatalog } from '#contract/status.ts';

/** Planned maintenance in absolute time. */
export interface MaintenanceWindow {
  /** The names of the monitors concerned. */
  readonly monitors: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  readonly start: number;
  /** Milliseconds since 1970, exclusive. */
  readonly end: number;
}

/** Converts planned maintenance to absolute time. */
export function toWindows(planned: StatusCatalog['maintenance']): MaintenanceWindow[] {
  return planned.map(({ monitors, start, end, timezone }) => {
    const startsAt = toInstant(start, timezone);
    const endsAt = toInstant(end, timezone);
    // If the clock change leaves no time between the two, the window keeps its local duration.
    const written = Date.parse(`${end}Z`) - Date.parse(`${start}Z`);
    return { monitors: new Set(monitors), start: startsAt, end: endsAt > startsAt ? endsAt : startsAt + written };
  });
}

/** Whether a monitor is in planned maintenance at an instant. */
export function isPlanned(windows: readonly MaintenanceWindow[], monitor: string, at: number): boolean {
  return windows.some(({ start, end, monitors }) => start <= at && at < end && monitors.has(monitor));
}
