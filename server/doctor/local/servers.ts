import type { ApiKeyRecord, ServerRecord } from '../../store/types.ts';
import type { Finding, Outcome } from '../finding.ts';
import { fault, hint, ok, skipped } from '../finding.ts';
import type { ProviderReport } from './providers.ts';

const dayMs = 86_400_000;
/** An expired key is kept, since its customer may ask why it is refused. */
const keptDays = 90;

/** The most names in one finding. */
const maxNames = 5;

/** The names of a finding: the first of them, and how many more there are. */
function list(names: readonly string[]): string {
  const more = names.length - maxNames;
  return `${names.slice(0, maxNames).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Checks whether the record of each server can lead to one: its provider, and the form of its ref. */
export async function checkServers(records: readonly ServerRecord[], file: string | undefined): Promise<Finding[]> {
  const check = 'servers';
  // The demo servers are those of `npm start` alone.
  const real = records.filter(({ provider }) => file !== undefined || provider !== 'demo');
  if (real.length === 0) return [{ check, ...ok('none is added') }];
  if (file === undefined) {
    const seen = `PROVIDERS_FILE is not set, so no action reaches ${list(real.map(({ server }) => server))}`;
    return [{ check, ...fault(seen, 'set PROVIDERS_FILE, or remove them: `npm run servers -- remove game:ID`') }];
  }
  // Loaded only where there are servers, so that a server without them starts faster.
  const { findRecordProblem, readProviders } = await import('../../hosting/records.ts');
  const providers = readProviders(file);
  if (!providers) return [{ check, ...skipped('PROVIDERS_FILE cannot be read') }];
  const wrong = real.flatMap((record) => {
    const problem = findRecordProblem(record, providers);
    return problem === undefined ? [] : [{ server: record.server, problem }];
  });
  if (wrong.length === 0) return [{ check, ...ok(`each of ${real.length} has a provider`) }];
  return wrong.slice(0, maxNames).map(({ server, problem }, index) => {
    const more = index === maxNames - 1 && wrong.length > maxNames ? `; ${wrong.length - maxNames} more are wrong` : '';
    const advice = `correct it: \`npm run servers -- add ${server} --provider NAME --ref REF --replace\``;
    return { check, ...fault(`${server} leads nowhere: ${problem}${more}`, advice) };
  });
}

/** Checks whether the provider of each server knows its ref, where the provider can list what it has. */
export async function checkRefs(
  records: readonly ServerRecord[],
  reports: readonly ProviderReport[],
): Promise<Finding[]> {
  const findings = reports.map(async ({ name, provider, answers }): Promise<Finding[]> => {
    const own = records.filter((record) => record.provider === name);
    if (own.length === 0 || !provider.listRefs) return [];
    const check = `refs of ${name}`;
    if (!answers) return [{ check, ...skipped('it does not answer') }];
    try {
      const known = await provider.listRefs();
      if (!known) return [{ check, ...skipped('an administrator reaches servers that are in no list') }];
      return [{ check, ...judgeRefs(own, known) }];
    } catch {
      return [{ check, ...skipped('its servers cannot be listed') }];
    }
  });
  return (await Promise.all(findings)).flat();
}

function judgeRefs(records: readonly ServerRecord[], known: ReadonlySet<string>): Outcome {
  // A panel lists the first digits of UUIDs.
  const isKnown = ({ ref }: ServerRecord): boolean => known.has(ref) || known.has(ref.slice(0, 8).toLowerCase());
  const missing = records.filter((record) => !isKnown(record));
  if (missing.length === 0) return ok(`it knows each of ${records.length} servers`);
  const seen = `it does not show ${list(missing.map(({ server }) => server))} to our credential`;
  return fault(seen, 'see whether they were deleted there, and whether the user of the token may use them');
}

/** Checks whether keys open something: their servers exist, and they have not ended long ago. */
export function checkKeys(
  keys: readonly ApiKeyRecord[],
  records: readonly ServerRecord[],
  now: number,
): readonly Finding[] {
  const check = 'API keys';
  const known = new Set<string>(records.map(({ server }) => server));
  const isLive = ({ revokedAt, expiresAt }: ApiKeyRecord): boolean =>
    revokedAt === null && (expiresAt === null || expiresAt > now);
  const live = keys.filter(isLive);
  const lost = live.filter(({ servers }) => servers.some((server) => !known.has(server)));
  const old = keys.filter(
    ({ revokedAt, expiresAt }) => revokedAt === null && expiresAt !== null && expiresAt < now - keptDays * dayMs,
  );
  const found: Outcome[] = [];
  if (lost.length > 0) {
    const seen = `servers that do not exist are named by ${list(lost.map(({ id }) => id))}`;
    found.push(fault(seen, 'add the servers, or name others: `npm run keys -- update ID --server game:ID`'));
  } else found.push(ok(`${live.length} are valid`));
  if (old.length > 0) {
    const seen = `expired for more than ${keptDays} days: ${list(old.map(({ id }) => id))}`;
    found.push(hint(seen, 'revoke what is not renewed: `npm run keys -- revoke ID`'));
  }
  return found.map((outcome) => ({ check, ...outcome }));
}
