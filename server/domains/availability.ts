import type { DomainLookup } from '#contract/domains.ts';
import type { Availability, DomainName, Registries } from './types.ts';

/** How long a result is cached: a taken name seldom becomes free, a free one may be taken any moment. */
const cacheMs = { taken: 600_000, free: 60_000 };

const maxCached = 50_000;

/** Caches the results of the registries; concurrent checks of one name share one lookup. */
export function createAvailability(
  registries: Pick<Registries, 'check'>,
  now: () => number = () => performance.now(),
): Pick<Registries, 'check'> {
  const cache = new Map<string, { readonly availability: Availability; readonly until: number }>();
  const inFlight = new Map<string, Promise<Availability>>();

  const lookUp = async (key: string, domain: DomainName, lookup: DomainLookup | undefined): Promise<Availability> => {
    try {
      const availability = await registries.check(domain, lookup);
      if (availability === 'unknown') return availability;
      // In insertion order, so that the first entry is among the oldest.
      cache.delete(key);
      if (cache.size >= maxCached) cache.delete(cache.keys().next().value!);
      cache.set(key, { availability, until: now() + cacheMs[availability] });
      return availability;
    } finally {
      inFlight.delete(key);
    }
  };
  return {
    async check(domain, lookup) {
      // The key includes the lookup: after a release with another source, results of the former one are not used.
      const key = `${domain.name} ${JSON.stringify(lookup ?? null)}`;
      const cached = cache.get(key);
      if (cached && now() < cached.until) return cached.availability;
      let result = inFlight.get(key);
      if (!result) inFlight.set(key, (result = lookUp(key, domain, lookup)));
      return await result;
    },
  };
}
