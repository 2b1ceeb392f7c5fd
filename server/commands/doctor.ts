import { readFile } from 'node:fs/promises';
import type { Command } from '@commander-js/extra-typings';
import pLimit from 'p-limit';
import { CommandError } from '#common/command-line.ts';
import { createSilentLog, readRelease } from '../doctor/installation.ts';
import { examineInstallation } from '../doctor/local.ts';
import type { NamedResult } from '../doctor/run.ts';
import { examine } from '../doctor/visit.ts';
import { createPriceSource } from '../domains/prices.ts';
import { openRegistries } from '../domains/service.ts';
import { readEnv } from '../env.ts';
import type { Env } from '../env.ts';
import { parseApiKey } from '../keys/authorize.ts';
import { formatTable, parser } from './context.ts';
import type { Context } from './context.ts';

const explanation = `A search needs a source that proves names free. A server must find a name that exists under its TLD: \`confirm\`,
nic.<tld> or the registry's own domain. Until an RDAP server has confirmed this name, its 404s do not count, and a
search answers 502. Check the \`lookup\` of the TLD in catalog/domains.yaml; without \`lookup\`, the server comes from
IANA's list or the built-in table. If dns has name servers for a name that must not exist, correct DNS_SERVERS.`;

/** Adds `domains doctor` and `doctor`. */
export function addDoctorCommands(program: Command, { settings, installed, show, columns }: Context): void {
  program
    .command('domains')
    .description('Checks the sources of the domain search.')
    .command('doctor')
    .description(
      "Asks each source of each TLD for a name that must exist (nic.<tld> or the registry's own) and a name that must not.",
    )
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const found = await diagnose(readEnv(settings()));
      // In a terminal, the outcome comes before the name, which may be cut.
      const toCell = ({ name, availability }: Record<'name' | 'availability', string>) =>
        columns ? `${availability} ${name}` : `${name} ${availability}`;
      const rows = found.flatMap(({ tld, works, sources }) =>
        (sources.length > 0 ? sources : [undefined]).map((one) => {
          const first = [`.${tld}`, works ? 'yes' : 'NO', one?.source ?? 'none', one?.proves.join(', ') || 'nothing'];
          const tried = one ? [one.existing, one.missing].map(toCell) : ['', ''];
          return [...first, ...tried, one ? String(Math.round(one.ms)) : ''];
        }),
      );
      const table = formatTable(['TLD', 'WORKS', 'SOURCE', 'PROVES', 'MUST EXIST', 'MUST NOT', 'MS'], rows, columns);
      const broken = found.filter(({ works }) => !works).length;
      const advice = columns ? explanation.replaceAll('\n', ' ') : explanation;
      await show(json, found, broken === 0 ? table : `${table}\n\n${advice}`);
      if (broken > 0) throw new CommandError(`searches fail or are wrong for ${broken} of ${found.length} TLDs`);
    });
  program
    .command('doctor')
    .description(
      'Checks this installation, or with --url a running service as its clients see it, through all proxies. ' +
        'Changes nothing, and sends no action, command or vote.',
    )
    .option('--url <url>', 'the public address, for instance https://api.example.com', parseBase)
    .option('--key-file <path>', 'with --url: a file with an API key, to check keyed reads too')
    .option('--running', 'report a stopped server as a fault')
    .option('--before-start', 'accept a stopped server or another version, even with --running')
    .option('--json', 'print a JSON array')
    .action(async ({ url, keyFile, json, ...expected }) => {
      if (url === undefined && keyFile !== undefined) throw new CommandError('--key-file needs --url');
      const key = keyFile === undefined ? undefined : await readKeyFile(keyFile);
      const results = url ? await examine(url, key) : await examineInstallation(settings(), { installed, ...expected });
      await show(json, results, formatResults(results));
      const faults = results.filter(({ state }) => state === 'fault').length;
      if (faults > 0) throw new CommandError(`${faults} of ${results.length} checks found a fault`);
    });
}

/** Looks up two names under every TLD on sale. */
async function diagnose(env: Env) {
  const { tlds: catalog } = (await readRelease(env.DIST_DIR)).domains;
  const registries = openRegistries(env, createSilentLog());
  const source = createPriceSource(env, createSilentLog());
  try {
    const live = await source?.read();
    const all = live ? [...live.keys()] : Object.keys(catalog).map((tld) => tld.slice(1));
    const tlds = all.filter((tld) => catalog[`.${tld}`]?.active !== false).toSorted();
    return await pLimit(8).map(tlds, async (tld) => {
      const sources = await registries.diagnose(tld, catalog[`.${tld}`]?.lookup);
      const isWrong = sources.some(
        ({ existing, missing }) => existing.availability === 'free' || missing.availability === 'taken',
      );
      const servers = sources.filter((one) => one.source !== 'dns');
      const works = !isWrong && ['taken', 'free'].every((one) => servers.some(({ proves }) => proves.includes(one)));
      return { tld, works, sources };
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

/** Reads a key from a file: arguments show in the process list. */
async function readKeyFile(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${path} cannot be read: ${error.code}`);
  });
  if (parseApiKey(text.trim())) return text.trim();
  throw new CommandError(`${path} must contain one API key, as \`keys create\` prints it`);
}

function formatResults(results: readonly NamedResult[]): string {
  const rows = results.map(({ check, state, seen, advice }) => {
    return [check, state === 'fault' ? 'FAULT' : state === 'ok' && advice ? 'hint' : state, seen];
  });
  const remedies = results.flatMap(({ check, advice }) => (advice === undefined ? [] : [`${check}: ${advice}`]));
  return [formatTable(['CHECK', 'RESULT', 'SEEN'], rows), ...remedies].join('\n\n');
}
