import type { Command } from '@commander-js/extra-typings';
import pLimit from 'p-limit';
import { CommandError } from '#common/command-line.ts';
import { readEnv } from '../env.ts';
import type { Env } from '../env.ts';
import { createLog } from '../log.ts';
import type { Diagnosis } from '../domains/lookup/registries.ts';
import { openReleases } from '../releases/service.ts';
import { formatTable } from './context.ts';
import type { Context } from './context.ts';

const ignore = (): void => undefined;

const parallel = 8;

/** What to do about a source that does not know the name that must exist. */
const explanation = `A look-up server must know a name that exists under its TLD: nic.<tld>, or the registry's own domain.
Until an RDAP server has confirmed it, its 404s do not count, and a search is 502. Check the \`lookup\` of the TLD in
catalog/domains.yaml; without one, the server of the list of IANA or of the built-in table is asked.`;

/** Adds `domains doctor`, which checks the sources of the domain search. */
export function addDomainsCommands(program: Command, { settings, show }: Context): void {
  program
    .command('domains')
    .description('What the domain search depends on.')
    .command('doctor')
    .description(
      "Asks for a name that must exist (nic.<tld>, or the registry's own) and one that must not, under each TLD.",
    )
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const rows = await diagnose(readEnv(settings()));
      const isConfirmed = rows.every(({ existing }) => existing.availability === 'taken');
      const table = isConfirmed ? toTable(rows) : `${toTable(rows)}\n\n${explanation}`;
      const found = rows.map((row) => ({ ...row, works: works(row) }));
      await show(json, found, table);
      const broken = rows.filter((row) => !works(row)).length;
      if (broken > 0) throw new CommandError(`${broken} of ${rows.length} TLDs would answer 502, or wrongly`);
    });
}

/** Checks two names under every TLD on sale. */
async function diagnose(env: Env): Promise<(Diagnosis & { readonly tld: string })[]> {
  // The domain search and its tables are loaded for this command only.
  const { createPriceSource } = await import('../domains/prices/index.ts');
  const { openRegistries } = await import('../domains/service.ts');
  const log = createLog({ level: 'silent', format: 'json', destination: process.stdout });
  const options = { dist: env.DIST_DIR, cacheBytes: 0, checkStatus: ignore, onLoaded: ignore, onRejected: ignore };
  const releases = await openReleases(options);
  releases.stop();
  const { tlds: catalog } = releases.current().domains;
  const registries = openRegistries(env, log);
  const source = createPriceSource(env, log);
  try {
    const live = await source?.read();
    const all = live ? [...live.keys()] : Object.keys(catalog).map((tld) => tld.slice(1));
    const tlds = all.filter((tld) => catalog[`.${tld}`]?.active !== false).toSorted();
    return await pLimit(parallel).map(tlds, async (tld) => {
      return { tld, ...(await registries.diagnose(tld, catalog[`.${tld}`]?.lookup)) };
    });
  } finally {
    await Promise.all([registries.close(), source?.close()]);
  }
}

function works({ existing, missing }: Diagnosis): boolean {
  return existing.availability === 'taken' && missing.availability === 'free';
}

function toTable(rows: readonly (Diagnosis & { readonly tld: string })[]): string {
  return formatTable(
    ['TLD', 'WORKS', 'MUST EXIST', 'MUST NOT', 'MS', 'ASKED AT'],
    rows.map((row) => [
      `.${row.tld}`,
      works(row) ? 'yes' : 'NO',
      `${row.existing.name} ${row.existing.availability}`,
      row.missing.availability,
      String(Math.round(row.ms)),
      row.source,
    ]),
  );
}
