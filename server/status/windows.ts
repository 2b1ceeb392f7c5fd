import type { StatusCatalog } from '#contract/status.ts';

/** Planned maintenance, on the time line. */
export interface MaintenanceWindow {
  /** The names of the monitors concerned. */
  readonly monitors: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  readonly start: number;
  /** Milliseconds since 1970; no longer part of it. */
  readonly end: number;
}

const dayMs = 86_400_000;

/** Puts planned maintenance on the time line. */
export function toWindows(planned: StatusCatalog['maintenance']): MaintenanceWindow[] {
  return planned.map(({ monitors, start, end, timezone }) => {
    const startsAt = toInstant(start, timezone);
    const endsAt = toInstant(end, timezone);
    // Where the hour that clocks skip leaves nothing between the two, it still takes as long as was written.
    const written = Date.parse(`${end}Z`) - Date.parse(`${start}Z`);
    return { monitors: new Set(monitors), start: startsAt, end: endsAt > startsAt ? endsAt : startsAt + written };
  });
}

/** Whether maintenance of a monitor is planned for an instant. */
export function isPlanned(windows: readonly MaintenanceWindow[], monitor: string, at: number): boolean {
  return windows.some(({ start, end, monitors }) => start <= at && at < end && monitors.has(monitor));
}

/**
 * The instant of a local time, `YYYY-MM-DDTHH:MM[:SS]`, in an IANA time zone, as RFC 5545 3.3.5 has it: a time that clocks
 * show twice is the first of the two, and one that they skip is read with the offset before the skip.
 */
export function toInstant(local: string, timezone: string): number {
  const shown = Date.parse(`${local}Z`);
  // A day is more than any offset, so these are the offsets before and after a change of clocks that may be near.
  const before = shown - offsetAt(shown - dayMs, timezone);
  const after = shown - offsetAt(shown + dayMs, timezone);
  return [before, after].find((instant) => instant + offsetAt(instant, timezone) === shown) ?? before;
}

/** What the clocks of a time zone are ahead of UTC at an instant, in milliseconds. */
function offsetAt(instant: number, timezone: string): number {
  // Swedish times are ISO 8601, but for the letter T.
  const local = new Date(instant).toLocaleString('sv', { timeZone: timezone });
  return Date.parse(`${local.replace(' ', 'T')}Z`) - Math.floor(instant / 1000) * 1000;
}
