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

const dayMs = 86_400_000;

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

/**
 * The instant of a local time, `YYYY-MM-DDTHH:MM[:SS]`, in an IANA time zone, by RFC 5545 3.3.5: an ambiguous time is the
 * first of the two, and a skipped one uses the offset before the change.
 */
export function toInstant(local: string, timezone: string): number {
  const shown = Date.parse(`${local}Z`);
  // A day is more than any offset, so these are the offsets before and after a possible clock change.
  const before = shown - offsetAt(shown - dayMs, timezone);
  const after = shown - offsetAt(shown + dayMs, timezone);
  return [before, after].find((instant) => instant + offsetAt(instant, timezone) === shown) ?? before;
}

/** The UTC offset of a time zone at an instant, in milliseconds. */
function offsetAt(instant: number, timezone: string): number {
  // Times in the Swedish locale are ISO 8601 without the letter T.
  const local = new Date(instant).toLocaleString('sv', { timeZone: timezone });
  return Date.parse(`${local.replace(' ', 'T')}Z`) - Math.floor(instant / 1000) * 1000;
}
