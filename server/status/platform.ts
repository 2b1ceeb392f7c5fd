import type { z } from 'zod';
import { toInstant } from '#common/local-time.ts';
import type { StatusCatalog, StatusResponse } from '#contract/status.ts';

/** The state of the platform as in the response: each name once, sorted by code point. */
export type PlatformStatus = z.infer<typeof StatusResponse>;

/** A source of the platform's state. */
export interface StatusSource {
  start?(): void;
  /** Reads the state; waits for one that soon will be known, and throws if it is unknown. */
  read(): Promise<PlatformStatus>;
  close(): Promise<void>;
}

/** A part of the platform; visitors read its name. */
export interface Part {
  readonly name: string;
  readonly state: 'up' | 'maintenance' | 'disrupted';
}

/** Combines parts: each name once, with its worst state, sorted by code point. */
export function toPlatformStatus(parts: readonly Part[]): PlatformStatus {
  const namesOf = (state: Part['state']): Set<string> =>
    new Set(parts.flatMap((part) => (part.state === state ? part.name : [])));
  const disrupted = namesOf('disrupted');
  const maintenance = namesOf('maintenance').difference(disrupted);
  return {
    status: disrupted.size > 0 ? 'disrupted' : maintenance.size > 0 ? 'maintenance' : 'up',
    ...(maintenance.size > 0 && { maintenance: [...maintenance].toSorted(compareCodePoints) }),
    ...(disrupted.size > 0 && { disrupted: [...disrupted].toSorted(compareCodePoints) }),
  };
}

/** Compares as UTF-8, which has the order of code points; UTF-16 would sort emoji before full-width letters. */
const compareCodePoints = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Converts planned maintenance to milliseconds since 1970; the end is exclusive. */
export function toWindows(planned: StatusCatalog['maintenance']) {
  return planned.map(({ monitors, start, end, timezone }) => {
    const startsAt = toInstant(start, timezone);
    const endsAt = toInstant(end, timezone);
    // If the clock change leaves no time between the two, the window keeps its local duration.
    const written = Date.parse(`${end}Z`) - Date.parse(`${start}Z`);
    return { monitors: new Set(monitors), start: startsAt, end: endsAt > startsAt ? endsAt : startsAt + written };
  });
}
