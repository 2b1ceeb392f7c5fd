const dayMs = 86_400_000;

/** The instant of a local time, by RFC 5545 3.3.5: of two it is the first, and a skipped time uses the offset before it. */
export function toInstant(local: string, timezone: string): number {
  const shown = Date.parse(`${local}Z`);
  const offsetAt = offsetsOf(timezone);
  // A day is more than any offset, so these are the offsets before and after a possible clock change.
  const before = shown - offsetAt(shown - dayMs);
  const after = shown - offsetAt(shown + dayMs);
  return [before, after].find((instant) => instant + offsetAt(instant) === shown) ?? before;
}

/** What clocks show at the instant of a local time: the same, or a later time if it is skipped. */
export function toShownTime(local: string, timezone: string): string {
  const instant = toInstant(local, timezone);
  return new Date(instant + offsetsOf(timezone)(instant)).toISOString().slice(0, local.length);
}

/** Creates the function that returns the UTC offset of a time zone at an instant, in milliseconds. */
function offsetsOf(timezone: string): (instant: number) => number {
  // Times in the Swedish locale are ISO 8601 without the letter T. To create a format takes a millisecond.
  const format = new Intl.DateTimeFormat('sv', { timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' });
  return (instant) => Date.parse(`${format.format(instant).replace(' ', 'T')}Z`) - Math.floor(instant / 1000) * 1000;
}
