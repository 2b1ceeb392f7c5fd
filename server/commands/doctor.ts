import { readFile } from 'node:fs/promises';
import type { Command } from '@commander-js/extra-typings';
import pLimit from 'p-limit';
import { CommandError } from '#common/command-line.ts';
import type { Finding } from '../doctor/run.ts';
import { readEnv } from '../env.ts';
import type { Env } from '../env.ts';
import { parseApiKey } from '../keys/authorize.ts';
import { formatTable, parser } from './context.ts';
import type { Context } from './context.ts';

const explanation = `A look-up server must know a name that exists under its TLD: nic.<tld>, or the registry's own domain.
Until an RDAP server has confirmed it, its 404s do not count, and a search is 502. Check the \`lookup\` of the TLD in
catalog/domains.yaml; without one, the server of the list of IANA or of the built-in table is asked.`;

/** Adds `domains doctor` and `doctor`. What they look at is loaded for them alone. */
export function addDoctorCommands(program: Command, { settings, installed, show }: Context): void {
  program
    .command('domains')
    .description('What the domain search depends on.')
    .command('doctor')
    .description(
      "Asks for a name that must exist (nic.<tld>, or the registry's own) and one that must not, under each TLD.",
    )
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const found = await diagnose(readEnv(settings()));
      const isConfirmed = found.every(({ existing }) => existing.availability === 'taken');
      const rows = found.map(({ tld, works, existing, missing, ms, source }) => {
        const exists = `${existing.name} ${existing.availability}`;
        return [`.${tld}`, works ? 'yes' : 'NO', exists, missing.availability, String(Math.round(ms)), source];
      });
      const table = formatTable(['TLD', 'WORKS', 'MUST EXIST', 'MUST NOT', 'MS', 'ASKED AT'], rows);
      await show(json, found, isConfirmed ? table : `${table}\n\n${explanation}`);
      const broken = found.filter(({ works }) => !works).length;
      if (broken > 0) throw new CommandError(`${broken} of ${found.length} TLDs would answer 502, or wrongly`);
    });
  program
    .command('doctor')
    .description(
      'Looks at this installation for all that visitors would notice, or with --url at a service as its clients see it, ' +
        'through all proxies. It changes nothing, and sends no action, command or vote.',
    )
    .option('--url <url>', 'the public address, for instance https://api.example.com', parseBase)
    .option('--key-file <path>', 'with --url, a file with an API key: also reads what the key may read')
    .option('--running', 'a server that does not run is a fault')
    .option('--before-start', 'it is none yet, nor is one of another version, in spite of --running')
    .option('--json', 'print a JSON array')
    .action(async ({ url, keyFile, json, ...expected }) => {
      if (url === undefined && keyFile !== undefined) throw new CommandError('--key-file needs --url');
      const key = keyFile === undefined ? undefined : await readKey(keyFile);
      const look = async () => {
        if (url) return (await import('../doctor/visit.ts')).examine(url, { key });
        const { examineInstallation } = await import('../doctor/local.ts');
        return examineInstallation(settings(), { installed, ...expected });
      };
      const findings = await look();
      await show(json, findings, toText(findings));
      const faults = findings.filter(({ state }) => state === 'fault').length;
      if (faults > 0) throw new CommandError(`${faults} of ${findings.length} checks found a fault`);
    });
}

/** Checks two names under every TLD on sale. */
async function diagnose(env: Env) {
  const { createSilentLog, readRelease } = await import('../doctor/installation.ts');
  const { createPriceSource } = await import('../domains/prices/index.ts');
  const { openRegistries } = await import('../domains/service.ts');
  const { tlds: catalog } = (await readRelease(env.DIST_DIR)).domains;
  const registries = openRegistries(env, createSilentLog());
  const source = createPriceSource(env, createSilentLog());
  try {
    const live = await source?.read();
    const all = live ? [...live.keys()] : Object.keys(catalog).map((tld) => tld.slice(1));
    const tlds = all.filter((tld) => catalog[`.${tld}`]?.active !== false).toSorted();
    return await pLimit(8).map(tlds, async (tld) => {
      const found = await registries.diagnose(tld, catalog[`.${tld}`]?.lookup);
      const works = found.existing.availability === 'taken' && found.missing.availability === 'free';
      return { tld, ...found, works };
    });
  } finally {
    await Promise.all([registries.close(), source?.close()]);
  }
}

const parseBase = parser('--url must be an address such as https://api.example.com, without a query', (text) => {
  const url = URL.parse(text);
  const isBase = url && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === '';
  return isBase ? url : undefined;
});

/** Reads a key from a file: as an argument, it would show in the list of processes. */
async function readKey(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${path} cannot be read: ${error.code}`);
  });
  if (parseApiKey(text.trim())) return text.trim();
  throw new CommandError(`${path} must contain one API key, as \`keys create\` prints it`);
}

function toText(findings: readonly Finding[]): string {
  const rows = findings.map(({ check, state, seen, advice }) => {
    if (state === 'fault') return [check, 'FAULT', seen];
    return [check, state === 'ok' && advice !== undefined ? 'hint' : state, seen];
  });
  const advices = findings.flatMap(({ check, advice }) => (advice === undefined ? [] : [`${check}: ${advice}`]));
  return [formatTable(['CHECK', 'RESULT', 'SEEN'], rows), ...advices].join('\n\n');
}
