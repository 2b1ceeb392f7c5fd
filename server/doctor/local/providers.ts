import type { Provider, Finding as ProviderFinding } from '../../hosting/providers/types.ts';
import type { Finding, Outcome } from '../finding.ts';
import { fault, ok, skipped } from '../finding.ts';

type Providers = ReadonlyMap<string, Provider>;

/** What the check of a provider found. */
export interface ProviderReport {
  readonly name: string;
  readonly provider: Provider;
  /** Whether its upstream answers, so that more can be asked. */
  readonly answers: boolean;
  readonly findings: readonly Finding[];
}

/** Checks the credentials of all providers. */
export async function checkProviders(providers: Providers): Promise<readonly ProviderReport[]> {
  return await Promise.all(
    [...providers].map(async ([name, provider]) => {
      const found = await provider.check();
      const findings = found.map((one) => ({ check: `provider ${name}`, ...toOutcome(one) }));
      return { name, provider, answers: !found.some(isUnreachable), findings };
    }),
  );
}

/** Checks the credentials once more. An upstream that does not answer says nothing about them. */
export async function checkCredentials(providers: Providers): Promise<readonly Finding[]> {
  const reports = await checkProviders(providers);
  return reports.flatMap(({ name, answers, findings }) =>
    answers ? findings : [{ check: `provider ${name}`, ...skipped('its upstream does not answer') }],
  );
}

const isUnreachable = (found: ProviderFinding): boolean => found.level !== 'info' && found.isUnreachable === true;

const toOutcome = (found: ProviderFinding): Outcome =>
  found.level === 'info' ? ok(found.message) : fault(found.message, found.advice);
