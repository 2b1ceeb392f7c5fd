import { onTestFinished } from 'vitest';
import { createRegistries } from '../../../server/domains/lookup/registries.ts';
import type { RegistriesOptions } from '../../../server/domains/lookup/registries.ts';
import { shiftClock } from '../../helpers/clock.ts';
import { createBootstrapUpstream } from '../../helpers/upstream-registry.ts';
import { createTestLog, createUpstream } from '../../helpers/upstream.ts';
import type { Answer, Seen } from '../../helpers/upstream.ts';

const quick = { rps: 10_000, burst: 10_000 };

/** Creates registries until the test ends, by default without rate limits, DNS and internet servers. */
export function createTestRegistries(options: Partial<RegistriesOptions> = {}) {
  const { log, written } = createTestLog();
  const advance = shiftClock();
  const registries = createRegistries({
    dnsServers: 'off',
    userAgent: 'hosting-api/test (+https://www.example.com)',
    log,
    ...options,
    limits: { rate: quick, unlistedRate: quick, ...options.limits },
  });
  onTestFinished(() => registries.close());
  return { ...registries, written, advance };
}

/** Creates registries with a bootstrap list of these servers. */
export async function createListedRegistries(
  bases: Readonly<Record<string, string>>,
  options: Partial<RegistriesOptions> = {},
) {
  const bootstrap = await createBootstrapUpstream(bases);
  return createTestRegistries({ bootstrapUrl: `${bootstrap.url}/rdap/dns.json`, ...options });
}

/** Creates registries with a listed server for .shop, and a function that checks a name at this server. */
export async function serveShop(answer: (request: Seen) => Answer) {
  const upstream = await createUpstream(answer);
  const registries = await createListedRegistries({ shop: `${upstream.url}/rdap/` });
  const check = (name = 'some-name.shop') => registries.check({ name, tld: 'shop' });
  return { upstream, registries, check };
}
