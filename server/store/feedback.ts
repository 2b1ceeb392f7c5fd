import type { Query, Value } from './database.ts';
import { FeedbackRow, parseRow } from './records.ts';
import type { Store } from './types.ts';

/** The readers' votes on articles, over an open database. */
export function createFeedback(query: Query): Store['feedback'] {
  return {
    async count({ path, day, helpful }) {
      await query(
        `INSERT INTO hosting_feedback (path, day, helpful, unhelpful) VALUES ($1, $2, $3, $4)
          ON CONFLICT (path, day) DO UPDATE
          SET helpful = hosting_feedback.helpful + excluded.helpful,
            unhelpful = hosting_feedback.unhelpful + excluded.unhelpful`,
        [path, day, helpful ? 1 : 0, helpful ? 0 : 1],
      );
    },
    async report({ since }) {
      const values: Value[] = since === undefined ? [] : [since];
      const rows = await query(
        `SELECT path, CAST(SUM(helpful) AS BIGINT) AS helpful, CAST(SUM(unhelpful) AS BIGINT) AS unhelpful
          FROM hosting_feedback ${since === undefined ? '' : 'WHERE day >= $1'} GROUP BY path ORDER BY path`,
        values,
      );
      return rows.map((row) => parseRow(FeedbackRow, row, 'hosting_feedback', String(row['path'])));
    },
  };
}
