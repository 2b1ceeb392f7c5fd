import { readFileSync } from 'node:fs';
import type { Command } from '@commander-js/extra-typings';
import { CommandError } from '#common/command-line.ts';
import type { Finding } from '../doctor/run.ts';
import { parseApiKey } from '../keys/authorize.ts';
import { formatTable } from './context.ts';
import type { Context } from './context.ts';

/** Adds `doctor`, which looks at this installation, or at a running service as its clients see it. */
export function addDoctorCommand(program: Command, { settings, show }: Context): void {
  program
    .command('doctor')
    .description(
      'Looks at this installation for all that visitors would notice, or with --url at a service as its clients see it, ' +
        'through all proxies. It changes nothing, and sends no action, command or vote.',
    )
    .option('--url <url>', 'the public address, for instance https://api.example.com')
    .option('--key-file <path>', 'with --url, a file with an API key: also reads what the key may read')
    .option('--running', 'a server that does not run is a fault')
    .option('--before-start', 'it is none yet, in spite of --running')
    .option('--json', 'print a JSON array')
    .action(async ({ url, keyFile, running = false, beforeStart = false, json }) => {
      if (url === undefined && keyFile !== undefined) throw new CommandError('--key-file needs --url');
      const base = url === undefined ? undefined : parseBase(url);
      const key = keyFile === undefined ? undefined : readKey(keyFile);
      // All features are loaded for this command only.
      const [{ examineInstallation }, { examine }] = await Promise.all([
        import('../doctor/local.ts'),
        import('../doctor/visit.ts'),
      ]);
      const findings = await (base ? examine(base, { key }) : examineInstallation(settings(), running && !beforeStart));
      await show(json, findings, toText(findings));
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
    findings.map((finding) => [finding.check, toResult(finding), finding.seen]),
  );
  const advices = findings.flatMap(({ check, advice }) => (advice === undefined ? [] : [`${check}: ${advice}`]));
  return [table, ...advices].join('\n\n');
}

function toResult({ state, advice }: Finding): string {
  if (state === 'fault') return 'FAULT';
  return state === 'ok' && advice !== undefined ? 'hint' : state;
}
