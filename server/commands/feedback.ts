import type { Command } from 'commander';
import { CommandError } from '#common/command-line.ts';
import type { ArticleVotes } from '../store/types.ts';
import type { Context } from './context.ts';
import { parseDuration, parseTime } from './inputs.ts';
import { formatTable } from './table.ts';

interface ReportFlags {
  readonly since?: string;
  readonly json?: boolean;
}

/** Adds `feedback`: what readers say of articles. */
export function addFeedbackCommands(program: Command, context: Context): void {
  program
    .command('feedback')
    .description('What readers say of knowledge base articles.')
    .command('report')
    .description('Shows which knowledge base articles help least.')
    .option('--since <T>', 'only votes from this day on: YYYY-MM-DD, or 30d', parseDay)
    .option('--json', 'print a JSON array')
    .action((flags: ReportFlags) => report(flags, context));
}

async function report({ since, json }: ReportFlags, { withStore, print }: Context): Promise<void> {
  const votes = await withStore((store) => store.feedback.report({ since }));
  const sorted = votes.toSorted((one, other) => share(one) - share(other) || other.unhelpful - one.unhelpful);
  const table = () =>
    formatTable(
      ['HELPED', 'YES', 'NO', 'ARTICLE'],
      sorted.map((row) => [
        `${Math.round(share(row) * 100)} %`,
        String(row.helpful),
        String(row.unhelpful),
        row.path || '(no article of the knowledge base)',
      ]),
    );
  await print(json ? JSON.stringify(sorted) : table());
}

function share({ helpful, unhelpful }: ArticleVotes): number {
  return helpful / (helpful + unhelpful);
}

function parseDay(text: string): string {
  const ago = parseDuration(text);
  const time = ago === undefined ? parseTime(text) : Date.now() - ago;
  if (time === undefined) throw new CommandError('--since must be a date (YYYY-MM-DD), or a time such as 30d');
  return new Date(time).toISOString().slice(0, 10);
}
