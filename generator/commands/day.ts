import { CommandError } from '../common/command-line.ts';

/** The day of a build from `--now`, YYYY-MM-DD; default today (UTC). */
export async function readDay(now: string | undefined): Promise<string> {
  if (now === undefined) return new Date().toISOString().slice(0, 10);
  // Imported only if needed: loading zod takes longer than a build without changes.
  const { IsoDate } = await import('#contract/primitives.ts');
  if (IsoDate.safeParse(now).success) return now;
  throw new CommandError('--now must be a calendar date of the form YYYY-MM-DD');
}
