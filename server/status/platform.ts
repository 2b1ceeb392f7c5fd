import type { PlatformStatus } from './types.ts';

/** How a part of the platform is. */
export type PartState = 'up' | 'maintenance' | 'disrupted';

/** A part of the platform, by the name that visitors read. */
export interface Part {
  readonly name: string;
  readonly state: PartState;
}

/**
 * The state of the platform from that of its parts: each name once, in its worst state, sorted by code point. Disruption
 * wins over maintenance; lists without a name are left out.
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

/** Plain comparison goes by UTF-16 units, and puts emoji in front of full-width letters; UTF-8 keeps the order of code points. */
function compareCodePoints(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
