import type { z } from 'zod';
import { toInstant } from '#common/local-time.ts';
import type { StatusCatalog, StatusResponse } from '#contract/status.ts';

/** The maximum wait of a request for a read, and the time limit of Uptime Kuma. */
export const statusWaitMs = 5000;

/** The state of the platform, as in the response. */
export type PlatformStatus = z.infer<typeof StatusResponse>;

/** A source of the platform's state. */
export interface StatusSource {
  start?(): void;
  /** Reads the state, waiting for a first read under way; throws if the state is unknown. */
  read(): Promise<PlatformStatus>;
  close(): Promise<void>;
}

/** A part of the platform; visitors see the name. */
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

/** Compares as UTF-8, which sorts by code point; UTF-16 would sort emoji before full-width letters. */
const compareCodePoints = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Converts planned maintenance to epoch milliseconds; the end is exclusive. */
export function toWindows(planned: StatusCatalog['maintenance']) {
  return planned.map(({ monitors, start, end, timezone }) => {
    const startsAt = toInstant(start, timezone);
    const endsAt = toInstant(end, timezone);
    // If a clock change leaves no time between start and end, keep the local duration.
    const written = Date.parse(`${end}Z`) - Date.parse(`${start}Z`);
    return { monitors: new Set(monitors), start: startsAt, end: endsAt > startsAt ? endsAt : startsAt + written };
  });
}
