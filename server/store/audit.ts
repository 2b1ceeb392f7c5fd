import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { ServerName } from '#contract/api-keys.ts';
import type { Query } from './database.ts';
import { Time, openTable } from './table.ts';

const pageSize = 1000;
const maxTime = Number.MAX_SAFE_INTEGER;

/** Null is stored as an empty text: these columns were NOT NULL before changes were audited. */
const OptionalText = z.string().transform((text) => text || null);

const Entry = z.object({
  /** The position in the log. */
  id: z.int().positive(),
  loggedAt: Time,
  /** Before or after the action or change. */
  phase: z.enum(['requested', 'finished']),
  /** Who made a change of a key or a server, for instance `command line`; null for an action of an API key. */
  actor: z.string().nullable(),
  /** The API key that acted, or that was changed; null for a change of a server. */
  keyId: OptionalText,
  action: z.string(),
  /** Null for a change of an API key. */
  server: z
    .literal('')
    .transform(() => null)
    .or(ServerName),
  /** Null for a change. */
  requestId: OptionalText,
  ip: OptionalText,
  /** `ok`, a problem code, or `unknown` if the action may have taken effect; null for `requested`. */
  outcome: z.string().nullable(),
  ms: Time.nullable(),
  /** The first 64 characters of a console command, or the new values of a change. */
  detail: z.string().nullable(),
});

/** An entry of the audit log. */
export type AuditEntry = Readonly<Omit<z.output<typeof Entry>, 'id' | 'loggedAt'> & { at: number }>;

/** Which entries are read. */
export interface AuditFilter {
  readonly server?: ServerName;
  /** The id of an API key. */
  readonly key?: string;
  /** In milliseconds since 1970, inclusive. */
  readonly since?: number;
  /** In milliseconds since 1970, exclusive. */
  readonly until?: number;
}

/** The audit log, over an open database. */
export function createAudit(query: Query) {
  const log = openTable(query, 'hosting_audit', ['id'], Entry);
  return {
    append: ({ at, ms, keyId, server, requestId, ip, ...entry }: AuditEntry): Promise<void> =>
      log.insert({
        ...entry,
        keyId: keyId ?? '',
        server: server ?? '',
        requestId: requestId ?? '',
        ip: ip ?? '',
        loggedAt: at,
        ms: ms === null ? null : Math.round(ms),
      }),
    /** Streams the entries that match a filter, the newest last. Only one page is in memory. */
    async *entries({ server, key, since = 0, until = maxTime }: AuditFilter): AsyncGenerator<AuditEntry> {
      const filters = Object.entries({ server, key_id: key }).filter(([, value]) => value !== undefined);
      const conditions = filters.map(([column], index) => `AND ${column} = $${index + 5}`).join(' ');
      const values = filters.map(([, value]) => value!);
      let [lastAt, lastId] = [since, 0];
      for (;;) {
        const page = await log.select(
          `WHERE (logged_at, id) > ($1, $2) AND logged_at < $4 ${conditions} ORDER BY logged_at, id LIMIT $3`,
          [lastAt, lastId, pageSize, until, ...values],
        );
        for (const { id, loggedAt, ...entry } of page) {
          [lastAt, lastId] = [loggedAt, id];
          yield { at: loggedAt, ...entry };
        }
        if (page.length < pageSize) return;
      }
    },
    /** Removes the entries before a time, a page at a time, so that other writes do not wait long. */
    async purge(before: number): Promise<void> {
      let removed: number;
      do {
        const rows = await query(
          `DELETE FROM hosting_audit WHERE id IN (
            SELECT id FROM hosting_audit WHERE logged_at < $1 ORDER BY logged_at, id LIMIT ${pageSize}) RETURNING id`,
          [before],
        );
        removed = rows.length;
        // A page of SQLite takes milliseconds of the event loop.
        await nextTurn();
      } while (removed === pageSize);
    },
  };
}
