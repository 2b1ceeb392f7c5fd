import type { Command } from '@commander-js/extra-typings';
import { CommandError } from '#common/command-line.ts';
import type { ArticleVotes, AuditEntry } from '../store/types.ts';
import { describeUnknownServer, formatTable, parseKeyId, parsePastTime, parseServer } from './context.ts';
import { toIso, toPrintable } from './context.ts';
import type { Context } from './context.ts';

/** Adds `audit`, which prints the audit log, and `feedback report`. */
export function addReportCommands(program: Command, { withStore, show, printNote }: Context): void {
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
  program
    .command('feedback')
    .description('What readers say of knowledge base articles.')
    .command('report')
    .description('Shows which knowledge base articles help least.')
    .option('--since <T>', 'only votes from this day on: YYYY-MM-DD, or 30d', parseDay)
    .option('--json', 'print a JSON array')
    .action(async ({ since, json }) => {
      const votes = await withStore((store) => store.feedback.report({ since }));
      const sorted = votes.toSorted((one, other) => share(one) - share(other) || other.unhelpful - one.unhelpful);
      const rows = sorted.map((one) => [
        `${Math.round(share(one) * 100)} %`,
        String(one.helpful),
        String(one.unhelpful),
        one.path || '(no article of the knowledge base)',
      ]);
      await show(json, sorted, formatTable(['HELPED', 'YES', 'NO', 'ARTICLE'], rows));
    });
}

function parseMoment(text: string, option: string): number {
  const time = parsePastTime(text);
  if (time !== undefined) return Math.max(time, 0);
  throw new CommandError(`${option} must be a date (YYYY-MM-DD), an ISO time such as 2030-01-31T12:00Z, or 24h`);
}

function parseDay(text: string): string {
  const time = parsePastTime(text);
  if (time !== undefined) return new Date(time).toISOString().slice(0, 10);
  throw new CommandError('--since must be a date (YYYY-MM-DD), or a time such as 30d');
}

function render({ at, phase, action, server, ms, detail, ...entry }: AuditEntry): string {
  const { actor: by, keyId: key, ip, requestId: request, outcome } = entry;
  const named = Object.entries({ by, key, ip, request, outcome }).filter(([, value]) => value !== null);
  const parts = [toIso(at), phase, action, server, ...named.map(([name, value]) => `${name}=${value}`)];
  parts.push(ms === null ? null : `${ms}ms`, detail === null ? null : JSON.stringify(detail));
  return toPrintable(parts.filter((part) => part !== null).join('  '));
}

const share = ({ helpful, unhelpful }: ArticleVotes): number => helpful / (helpful + unhelpful);
