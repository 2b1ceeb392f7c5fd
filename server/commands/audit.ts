import type { Command } from '@commander-js/extra-typings';
import { CommandError } from '#common/command-line.ts';
import type { AuditEntry } from '../store/types.ts';
import { describeUnknownServer, parseKeyId, parsePastTime, parseServer, toIso, toPrintable } from './context.ts';
import type { Context } from './context.ts';

/** Adds `audit`, which prints the audit log. */
export function addAuditCommand(program: Command, { withStore, show, printNote }: Context): void {
  program
    .command('audit')
    .description('Prints the audit log, changes of keys and servers included, the newest last.')
    .option('--server <game:ID>', 'only of this server', parseServer)
    .option('--key <ID>', 'only of this API key', parseKeyId)
    .option('--since <T>', 'only from this time on: YYYY-MM-DD, an ISO time, or 24h for the last 24 hours', (text) =>
      parseMoment(text, '--since'),
    )
    .option('--until <T>', 'only before this time', (text) => parseMoment(text, '--until'))
    .option('--json', 'print a JSON object a line')
    .action(async ({ json, ...filter }) => {
      await withStore(async (store) => {
        let found = false;
        for await (const entry of store.audit.entries(filter)) {
          found = true;
          // One by one: a log may be larger than memory, and a pipe slower than the store.
          await show(json, { ...entry, at: toIso(entry.at) }, render(entry));
        }
        if (found || filter.server === undefined) return;
        // Only a warning, since the log outlives its servers.
        const warning = await describeUnknownServer(store, filter.server);
        if (warning !== undefined) printNote(`warning: ${warning}`);
      });
    });
}

function parseMoment(text: string, option: string): number {
  const time = parsePastTime(text);
  if (time !== undefined) return Math.max(time, 0);
  throw new CommandError(`${option} must be a date (YYYY-MM-DD), an ISO time such as 2030-01-31T12:00Z, or 24h`);
}

function render(entry: AuditEntry): string {
  const { at, phase, action, server, actor, keyId, ip, requestId, outcome, ms, detail } = entry;
  const parts = [toIso(at), phase, action];
  if (server !== null) parts.push(server);
  for (const [name, value] of Object.entries({ by: actor, key: keyId, ip, request: requestId, outcome })) {
    if (value !== null) parts.push(`${name}=${value}`);
  }
  if (ms !== null) parts.push(`${ms}ms`);
  if (detail !== null) parts.push(JSON.stringify(detail));
  return toPrintable(parts.join('  '));
}
