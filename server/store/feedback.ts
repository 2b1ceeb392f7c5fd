import { z } from 'zod';
import type { Query } from './database.ts';
import { openTable } from './table.ts';

const Votes = z.object({ path: z.string(), helpful: z.int().nonnegative(), unhelpful: z.int().nonnegative() });

/** The votes on an article. */
export type ArticleVotes = Readonly<z.output<typeof Votes>>;

/** A reader's vote. */
export interface Vote {
  /** The path of the article; empty if it names none. */
  readonly path: string;
  /** In UTC, as YYYY-MM-DD. */
  readonly day: string;
  readonly helpful: boolean;
}

/** The readers' votes on articles, over an open database. */
export function createFeedback(query: Query) {
  const votes = openTable(query, 'hosting_feedback', ['path'], Votes);
  return {
    /** Counts a vote anonymously. */
    async count({ path, day, helpful }: Vote): Promise<void> {
      await query(
        `INSERT INTO hosting_feedback (path, day, helpful, unhelpful) VALUES ($1, $2, $3, $4)
          ON CONFLICT (path, day) DO UPDATE
          SET helpful = hosting_feedback.helpful + excluded.helpful,
            unhelpful = hosting_feedback.unhelpful + excluded.unhelpful`,
        [path, day, helpful ? 1 : 0, helpful ? 0 : 1],
      );
    },
    /** The votes on each article, from a day on or all. */
    async report({ since = '' }: { since?: string | undefined }): Promise<ArticleVotes[]> {
      const rows = await query(
        `SELECT path, CAST(SUM(helpful) AS BIGINT) AS helpful, CAST(SUM(unhelpful) AS BIGINT) AS unhelpful
          FROM hosting_feedback WHERE day >= $1 GROUP BY path ORDER BY path`,
        [since],
      );
      return rows.map(votes.parse);
    },
  };
}
