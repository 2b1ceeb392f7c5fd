import { readFileSync } from 'node:fs';
import type { Command } from '@commander-js/extra-typings';
import { CommandError, requireOption } from '#common/command-line.ts';
import { examine } from '../doctor/index.ts';
import type { Finding } from '../doctor/finding.ts';
import { parseApiKey } from '../keys/key.ts';
import type { Context } from './context.ts';
import { formatTable } from './table.ts';

const states = { ok: 'ok', fault: 'FAULT', skipped: 'skipped' } as const;

/** Adds `doctor`, which looks at a running service as its clients see it. */
export function addDoctorCommand(program: Command, { print }: Context): void {
  program
    .command('doctor')
    .description(
      'Looks at a running service as its clients see it, through all proxies; sends no action, command or vote.',
    )
    .option('--url <url>', 'the public address, for instance https://api.example.com')
    .option('--key-file <path>', 'a file with an API key: also reads what the key may read')
    .option('--json', 'print a JSON array')
    .action(async ({ url, keyFile, json }) => {
      const base = parseBase(requireOption(url, '--url'));
      const findings = await examine(base, { key: keyFile === undefined ? undefined : readKey(keyFile) });
      await print(json ? JSON.stringify(findings) : toText(findings));
      const faults = findings.filter(({ state }) => state === 'fault').length;
      if (faults > 0) throw new CommandError(`${faults} of ${findings.length} checks found a fault`);
    });
}

function parseBase(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === '') return url;
  throw new CommandError('--url must be an address such as https://api.example.com, without a query');
}

/** Reads a key from a file: as an argument, it would show in the list of processes. */
function readKey(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  if (parseApiKey(text)) return text;
  throw new CommandError(`${path} must contain one API key, as \`keys create\` prints it`);
}

function toText(findings: readonly Finding[]): string {
  const table = formatTable(
    ['CHECK', 'RESULT', 'SEEN'],
    findings.map(({ check, state, seen }) => [check, states[state], seen]),
  );
  const faults = findings.flatMap(({ check, advice }) => (advice === undefined ? [] : [`${check}: ${advice}`]));
  return [table, ...faults].join('\n\n');
}
