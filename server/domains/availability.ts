import type { DomainLookup } from '#contract/domains.ts';
import type { Availability, DomainName, Registries } from './types.ts';

/** Finds out whether names can be registered, and asks the registries no more often than needed. */
export interface AvailabilityService {
  check(domain: DomainName, lookup: DomainLookup | undefined): Promise<Availability>;
}

/** A release that asks elsewhere starts anew: what was found at the former place proves nothing any more. */
function toKey({ name }: DomainName, lookup: DomainLookup | undefined): string {
  return `${name} ${JSON.stringify(lookup ?? null)}`;
}

/** How long an answer is good: a taken name seldom becomes free, a free one may be taken any moment. */
const keptMs = { taken: 600_000, free: 60_000 };

const maxKept = 50_000;

/** Creates the service: what is known is answered at once, and a name that is being asked for is not asked for twice. */
export function createAvailability(
  registries: Pick<Registries, 'check'>,
  now: () => number = () => performance.now(),
): AvailabilityService {
  const kept = new Map<string, { availability: 'taken' | 'free'; until: number }>();
  const asked = new Map<string, Promise<Availability>>();

  const keep = (name: string, availability: Availability): void => {
    if (availability === 'unknown') return;
    // In the order of their making, so that the first is among those that end first.
    kept.delete(name);
    if (kept.size >= maxKept) kept.delete(kept.keys().next().value!);
    kept.set(name, { availability, until: now() + keptMs[availability] });
  };
  const ask = async (domain: DomainName, lookup: DomainLookup | undefined): Promise<Availability> => {
    try {
      const availability = await registries.check(domain, lookup);
      keep(toKey(domain, lookup), availability);
      return availability;
    } finally {
      asked.delete(toKey(domain, lookup));
    }
  };
  return {
    async check(domain, lookup) {
      const key = toKey(domain, lookup);
      const known = kept.get(key);
      if (known && now() < known.until) return known.availability;
      let answer = asked.get(key);
      if (!answer) asked.set(key, (answer = ask(domain, lookup)));
      return answer;
    },
  };
}
