import type { ArticleVotes } from '../store/types.ts';
import { CommandError, defineGroup, defineStrictCommand } from './command.ts';
import { parseDuration, parseTime } from './inputs.ts';
import { formatTable } from './table.ts';

const report = defineStrictCommand({
  meta: { name: 'report', description: 'Shows which knowledge base articles help least.' },
  args: {
    since: { type: 'string', valueHint: 'T', description: 'only votes from this day on: YYYY-MM-DD, or 30d' },
    json: { type: 'boolean', default: false, description: 'print a JSON array' },
  },
  async run({ args }, { withStore, print }) {
    const since = args.since === undefined ? undefined : parseDay(args.since);
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
    await print(args.json ? JSON.stringify(sorted) : table());
  },
});

/** `feedback`: what readers say of articles. */
export const feedbackCommand = defineGroup(
  { name: 'feedback', description: 'What readers say of knowledge base articles.' },
  { report },
);

function share({ helpful, unhelpful }: ArticleVotes): number {
  return helpful / (helpful + unhelpful);
}

function parseDay(text: string): string {
  const ago = parseDuration(text);
  const time = ago === undefined ? parseTime(text) : Date.now() - ago;
  if (time === undefined) throw new CommandError('--since must be a date (YYYY-MM-DD), or a time such as 30d');
  return new Date(time).toISOString().slice(0, 10);
}
