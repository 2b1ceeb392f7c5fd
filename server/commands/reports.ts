import type { Command } from '@commander-js/extra-typings';
import { toIso } from '../operators/changes.ts';
import type { ArticleVotes, AuditEntry } from '../store/types.ts';
import {
  cutTo,
  describeUnknownServers,
  formatTable,
  parseKeyId,
  parsePastTime,
  parseServer,
  parser,
  toPrintable,
} from './context.ts';
import type { Context } from './context.ts';

/** Adds `audit` and `feedback report`. */
export function addReportCommands(program: Command, { withStore, show, printNote, columns }: Context): void {
  program
    .command('audit')
    .description('Prints the audit log of actions and of changes to keys and servers, newest last.')
    .option('--server <game:ID>', 'only entries of this server', parseServer)
    .option('--key <ID>', 'only entries of this API key', parseKeyId)
    .option(
      '--since <T>',
      'only entries from this time on: YYYY-MM-DD, an ISO time, or 24h for the last 24 hours',
      moment('--since'),
    )
    .option('--until <T>', 'only entries before this time', moment('--until'))
    .option('--changes', 'only changes of keys and servers')
    .option('--json', 'print a JSON object per line')
    .action(async ({ json, ...filter }) => {
      await withStore(async (store) => {
        let found = false;
        for await (const entry of store.audit.entries(filter)) {
          found = true;
          // One by one: the log may be larger than memory, and a pipe slower than the store.
          await show(json, { ...entry, at: toIso(entry.at) }, formatEntry(entry, columns));
        }
        if (found || filter.server === undefined) return;
        // Only a warning: the log outlives its servers.
        for (const warning of await describeUnknownServers(store, [filter.server])) printNote(`warning: ${warning}`);
      });
    });
  program
    .command('feedback')
    .description('Votes of readers on knowledge base articles.')
    .command('report')
    .description('Lists knowledge base articles by votes, least helpful first.')
    .option('--since <T>', 'only votes from this day on: YYYY-MM-DD, or 30d for the last 30 days', parseDay)
    .option('--json', 'print a JSON array')
    .action(async ({ since, json }) => {
      const votes = await withStore((store) => store.feedback.report({ since }));
      const sorted = votes.toSorted((a, b) => share(a) - share(b) || b.unhelpful - a.unhelpful);
      const rows = sorted.map((article) => [
        `${Math.round(share(article) * 100)} %`,
        String(article.helpful),
        String(article.unhelpful),
        article.path || '(no article of the knowledge base)',
      ]);
      await show(json, sorted, formatTable(['HELPED', 'YES', 'NO', 'ARTICLE'], rows, columns));
    });
}

const moment = (option: string) =>
  parser(
    `${option} must be a date (YYYY-MM-DD), an ISO time such as 2030-01-31T12:00Z, or a duration such as 24h`,
    (text) => {
      const time = parsePastTime(text);
      return time === undefined ? undefined : Math.max(time, 0);
    },
  );

const parseDay = parser('--since must be a date (YYYY-MM-DD), or a duration such as 30d', (text) => {
  const time = parsePastTime(text);
  return time === undefined ? undefined : toIso(time)!.slice(0, 10);
});

function formatEntry({ at, phase, action, server, ms, detail, ...entry }: AuditEntry, columns?: number): string {
  const { actor: by, keyId: key, ip, requestId: request, outcome } = entry;
  // In a terminal, the outcome comes before the parts that may be cut.
  const fields = columns === undefined ? { by, key, ip, request, outcome } : { outcome, key, by, ip, request };
  const named = Object.entries(fields).filter(([, value]) => value !== null);
  const parts = [toIso(at), phase, action, server, ...named.map(([name, value]) => `${name}=${value}`)];
  parts.push(ms === null ? null : `${ms}ms`, detail === null ? null : JSON.stringify(detail));
  return cutTo(columns, toPrintable(parts.filter((part) => part !== null).join('  ')));
}

const share = ({ helpful, unhelpful }: ArticleVotes): number => helpful / (helpful + unhelpful);
