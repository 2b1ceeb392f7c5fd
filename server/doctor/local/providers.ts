import type { Provider, Finding as ProviderFinding } from '../../hosting/providers/types.ts';
import type { Finding, Outcome } from '../finding.ts';
import { fault, ok, skipped } from '../finding.ts';

type Providers = ReadonlyMap<string, Provider>;

/** Checks the credentials of all providers: one finding or more for each. */
export async function checkProviders(providers: Providers): Promise<readonly Finding[]> {
  return await checkAll(providers, toOutcome);
}

/** Checks the credentials once more. An upstream that does not answer says nothing about them. */
export async function checkCredentials(providers: Providers): Promise<readonly Finding[]> {
  return await checkAll(providers, (found) => (isUnreachable(found) ? skipped(found.message) : toOutcome(found)));
}

const isUnreachable = (found: ProviderFinding): boolean => found.level !== 'info' && found.isUnreachable === true;

async function checkAll(providers: Providers, judge: (found: ProviderFinding) => Outcome): Promise<readonly Finding[]> {
  const findings = [...providers].map(async ([name, provider]) =>
    (await provider.check()).map((found) => ({ check: `provider ${name}`, ...judge(found) })),
  );
  return (await Promise.all(findings)).flat();
}

const toOutcome = (found: ProviderFinding): Outcome =>
  found.level === 'info' ? ok(found.message) : fault(found.message, found.advice);
