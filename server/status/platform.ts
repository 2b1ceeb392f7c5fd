import type { PlatformStatus } from './types.ts';

/** The state of a part of the platform. */
export type PartState = 'up' | 'maintenance' | 'disrupted';

/** A part of the platform; visitors read its name. */
export interface Part {
  readonly name: string;
  readonly state: PartState;
}

/**
 * Combines the states of the parts: each name once, with its worst state, sorted by code point. Disruption is worse than
 * maintenance. Empty lists are left out.
 */
export function toPlatformStatus(parts: readonly Part[]): PlatformStatus {
  const namesOf = (state: PartState): string[] => [
    ...new Set(parts.filter((part) => part.state === state).map(({ name }) => name)),
  ];
  const disrupted = namesOf('disrupted');
  const maintenance = namesOf('maintenance').filter((name) => !disrupted.includes(name));
  return {
    status: disrupted.length > 0 ? 'disrupted' : maintenance.length > 0 ? 'maintenance' : 'up',
    ...(maintenance.length > 0 && { maintenance: maintenance.toSorted(compareCodePoints) }),
    ...(disrupted.length > 0 && { disrupted: disrupted.toSorted(compareCodePoints) }),
  };
}

/** Compares as UTF-8, which has the order of code points; UTF-16 would sort emoji before full-width letters. */
function compareCodePoints(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
