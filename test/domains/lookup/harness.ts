import { onTestFinished } from 'vitest';
import { createRegistries } from '../../../server/domains/lookup/registries.ts';
import type { RegistriesOptions } from '../../../server/domains/lookup/registries.ts';
import type { Registries } from '../../../server/domains/types.ts';
import { createBootstrapUpstream } from '../../helpers/upstream-registry.ts';
import { createTestLog } from '../../helpers/upstream.ts';

/** Registries for a test: quick, without DNS and without any server of the world, unless the test says otherwise. */
export interface TestRegistries extends Registries {
  readonly written: () => string;
  /** Lets so many milliseconds pass for all that only counts them. */
  pass(ms: number): void;
}

const quick = { rps: 10_000, burst: 10_000 };

/** Creates registries that end with the test. */
export function createTestRegistries(options: Partial<RegistriesOptions> = {}): TestRegistries {
  const { log, written } = createTestLog();
  let passed = 0;
  const registries = createRegistries({
    dnsServers: 'off',
    userAgent: 'hosting-api/test (+https://www.example.com)',
    log,
    now: () => performance.now() + passed,
    ...options,
    limits: { rate: quick, unlistedRate: quick, ...options.limits },
  });
  onTestFinished(() => registries.close());
  return { ...registries, written, pass: (ms) => void (passed += ms) };
}

/** Creates registries for which IANA lists these servers. */
export async function createListedRegistries(
  bases: Readonly<Record<string, string>>,
  options: Partial<RegistriesOptions> = {},
): Promise<TestRegistries> {
  const bootstrap = await createBootstrapUpstream(bases);
  return createTestRegistries({ bootstrapUrl: `${bootstrap.url}/rdap/dns.json`, ...options });
}
