import { onTestFinished } from 'vitest';
import { createRegistries } from '../../../server/domains/lookup/registries.ts';
import type { RegistriesOptions, Registries } from '../../../server/domains/lookup/registries.ts';
import { createBootstrapUpstream } from '../../helpers/upstream-registry.ts';
import { createTestLog } from '../../helpers/upstream.ts';

/** Registries for a test: without rate limits, DNS and internet servers by default. */
export interface TestRegistries extends Registries {
  readonly written: () => string;
  /** Advances the clock of caches and backoffs. */
  advance(ms: number): void;
}

const quick = { rps: 10_000, burst: 10_000 };

/** Creates registries that close when the test ends. */
export function createTestRegistries(options: Partial<RegistriesOptions> = {}): TestRegistries {
  const { log, written } = createTestLog();
  let elapsed = 0;
  const registries = createRegistries({
    dnsServers: 'off',
    userAgent: 'hosting-api/test (+https://www.example.com)',
    log,
    now: () => performance.now() + elapsed,
    ...options,
    limits: { rate: quick, unlistedRate: quick, ...options.limits },
  });
  onTestFinished(() => registries.close());
  return { ...registries, written, advance: (ms) => void (elapsed += ms) };
}

/** Creates registries with a bootstrap list of these servers. */
export async function createListedRegistries(
  bases: Readonly<Record<string, string>>,
  options: Partial<RegistriesOptions> = {},
): Promise<TestRegistries> {
  const bootstrap = await createBootstrapUpstream(bases);
  return createTestRegistries({ bootstrapUrl: `${bootstrap.url}/rdap/dns.json`, ...options });
}
