import type { DomainLookup } from '#contract/domains.ts';
import type { Availability, DomainName, Registries } from './types.ts';

/** How long an answer is good: a taken name seldom becomes free, a free one may be taken any moment. */
const keptMs = { taken: 600_000, free: 60_000 };

const maxKept = 50_000;

/** Creates the service: what is known is answered at once, and a name that is being asked for is not asked for twice. */
export function createAvailability(
  registries: Pick<Registries, 'check'>,
  now: () => number = () => performance.now(),
): Pick<Registries, 'check'> {
  const kept = new Map<string, { readonly availability: Availability; readonly until: number }>();
  const asked = new Map<string, Promise<Availability>>();

  const ask = async (key: string, domain: DomainName, lookup: DomainLookup | undefined): Promise<Availability> => {
    try {
      const availability = await registries.check(domain, lookup);
      if (availability === 'unknown') return availability;
      // In the order of their making, so that the first is among those that end first.
      kept.delete(key);
      if (kept.size >= maxKept) kept.delete(kept.keys().next().value!);
      kept.set(key, { availability, until: now() + keptMs[availability] });
      return availability;
    } finally {
      asked.delete(key);
    }
  };
  return {
    async check(domain, lookup) {
      // A release that asks elsewhere starts from nothing: what was found at the former place proves nothing any more.
      const key = `${domain.name} ${JSON.stringify(lookup ?? null)}`;
      const known = kept.get(key);
      if (known && now() < known.until) return known.availability;
      let answer = asked.get(key);
      if (!answer) asked.set(key, (answer = ask(key, domain, lookup)));
      return await answer;
    },
  };
}
