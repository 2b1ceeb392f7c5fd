import type { Command } from '@commander-js/extra-typings';
import { CommandError } from '#common/command-line.ts';
import type { ArticleVotes } from '../store/types.ts';
import { formatTable, parsePastTime } from './context.ts';
import type { Context } from './context.ts';

/** Adds `feedback report`. */
export function addFeedbackCommands(program: Command, { withStore, show }: Context): void {
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
      await show(json, sorted, formatTable(['HELPED', 'YES', 'NO', 'ARTICLE'], sorted.map(toCells)));
    });
}

function toCells(votes: ArticleVotes): string[] {
  const article = votes.path || '(no article of the knowledge base)';
  return [`${Math.round(share(votes) * 100)} %`, String(votes.helpful), String(votes.unhelpful), article];
}

function share({ helpful, unhelpful }: ArticleVotes): number {
  return helpful / (helpful + unhelpful);
}

function parseDay(text: string): string {
  const time = parsePastTime(text);
  if (time !== undefined) return new Date(time).toISOString().slice(0, 10);
  throw new CommandError('--since must be a date (YYYY-MM-DD), or a time such as 30d');
}
