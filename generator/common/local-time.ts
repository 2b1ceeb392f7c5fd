const dayMs = 86_400_000;

/** Converts a local time to an instant (RFC 5545 3.3.5): the first of two; a skipped time has the former offset. */
export function toInstant(local: string, timezone: string): number {
  const shown = Date.parse(`${local}Z`);
  const offsetAt = offsetsOf(timezone);
  // One day is longer than any offset, so these are the offsets before and after a clock change.
  const before = shown - offsetAt(shown - dayMs);
  const after = shown - offsetAt(shown + dayMs);
  return [before, after].find((instant) => instant + offsetAt(instant) === shown) ?? before;
}

/** Returns a function for the UTC offset of a time zone at an instant, in milliseconds. */
function offsetsOf(timezone: string): (instant: number) => number {
  // The Swedish locale formats times as ISO 8601 without the T. Creating a format takes a millisecond.
  const format = new Intl.DateTimeFormat('sv', { timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' });
  return (instant) => Date.parse(`${format.format(instant).replace(' ', 'T')}Z`) - Math.floor(instant / 1000) * 1000;
}
