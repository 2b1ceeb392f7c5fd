const dayMs = 86_400_000;

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

/** What clocks show at the instant of a local time: the same, or a later time if it is skipped. */
export function toShownTime(local: string, timezone: string): string {
  const instant = toInstant(local, timezone);
  return new Date(instant + offsetAt(instant, timezone)).toISOString().slice(0, local.length);
}

/** The UTC offset of a time zone at an instant, in milliseconds. */
function offsetAt(instant: number, timezone: string): number {
  // Times in the Swedish locale are ISO 8601 without the letter T.
  const local = new Date(instant).toLocaleString('sv', { timeZone: timezone });
  return Date.parse(`${local.replace(' ', 'T')}Z`) - Math.floor(instant / 1000) * 1000;
}
