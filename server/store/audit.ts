import { z } from 'zod';
import { ServerName } from '#contract/api-keys.ts';
import type { Query } from './database.ts';
import { Time, openTable } from './table.ts';

const pageSize = 1000;

const Entry = z.object({
  /** The position in the log. */
  id: z.int().positive(),
  loggedAt: Time,
  /** Before or after the action. */
  phase: z.enum(['requested', 'finished']),
  keyId: z.string(),
  action: z.string(),
  server: ServerName,
  requestId: z.string(),
  ip: z.string(),
  /** `ok`, a problem code, or `unknown` if the action may have taken effect; null for `requested`. */
  outcome: z.string().nullable(),
  ms: Time.nullable(),
  /** The first 64 characters of a console command, else null. */
  detail: z.string().nullable(),
});

/** An entry of the audit log. */
export type AuditEntry = Readonly<Omit<z.output<typeof Entry>, 'id' | 'loggedAt'> & { at: number }>;

/** The audit log, over an open database. */
export function createAudit(query: Query) {
  const log = openTable(query, 'hosting_audit', ['id'], Entry);
  return {
    append: ({ at, ms, ...entry }: AuditEntry): Promise<void> =>
      log.insert({ ...entry, loggedAt: at, ms: ms === null ? null : Math.round(ms) }),
    /** Streams the entries of one server or all from a time on, the newest last. Only one page is in memory. */
    async *entries({ server, since = 0 }: { server?: ServerName; since?: number }): AsyncGenerator<AuditEntry> {
      let [lastAt, lastId] = [since, 0];
      for (;;) {
        const page = await log.select(
          `WHERE (logged_at, id) > ($1, $2) ${server === undefined ? '' : 'AND server = $4'}
            ORDER BY logged_at, id LIMIT $3`,
          [lastAt, lastId, pageSize, ...(server === undefined ? [] : [server])],
        );
        for (const { id, loggedAt, ...entry } of page) {
          [lastAt, lastId] = [loggedAt, id];
          yield { at: loggedAt, ...entry };
        }
        if (page.length < pageSize) return;
      }
    },
  };
}
