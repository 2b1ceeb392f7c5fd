import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { ServerName } from '#contract/api-keys.ts';
import { Time, openTable } from './database.ts';
import type { Query } from './database.ts';
import type { Writes } from './writes.ts';

const pageSize = 1000;

const maxTime = Number.MAX_SAFE_INTEGER;

/** Null is stored as an empty text: these columns were NOT NULL in early versions. */
const OptionalText = z.string().transform((text) => text || null);

const StoredEntry = z.object({
  id: z.int().positive(),
  loggedAt: Time,
  /** The same in both entries of an action or change; null in entries of early versions. */
  actionId: z.string().nullable(),
  phase: z.enum(['requested', 'finished']),
  /** The author of a change of a key or server, such as `command line`; null for an action of an API key. */
  actor: z.string().nullable(),
  /** The API key that acted or was changed; null for a change of a server. */
  keyId: OptionalText,
  action: z.string(),
  /** Null for a change of an API key. */
  server: OptionalText.pipe(ServerName.nullable()),
  /** Null for a change, like the address. */
  requestId: OptionalText,
  ip: OptionalText,
  /** `ok`, a problem code or `unknown`. Of a `requested` entry: null, or `unknown` if the process crashed. */
  outcome: z.string().nullable(),
  ms: Time.nullable(),
  /** The first 64 characters of a console command, or the new values of a change. */
  detail: z.string().nullable(),
});

export type AuditEntry = Readonly<Omit<z.output<typeof StoredEntry>, 'id' | 'loggedAt'> & { at: number }>;

const Action = z.object({
  actionId: z.string(),
  requestId: z.string(),
  action: z.string(),
  server: ServerName,
  requestedAt: Time,
  /** Null without an entry after the action, like the outcome. */
  finishedAt: Time.nullable(),
  outcome: z.string().nullable(),
});

/** An action of an API key: the entry before the action, with time and outcome of the entry after it. */
export type ActionRecord = Readonly<z.output<typeof Action>>;

/** A position in the actions of a key. */
export type ActionPosition = Pick<ActionRecord, 'requestedAt' | 'actionId'>;

interface AuditFilter {
  readonly server?: ServerName;
  readonly key?: string;
  readonly since?: number;
  readonly until?: number;
  /** Only changes of keys and servers. */
  readonly changes?: boolean | undefined;
}

/** After this time, which exceeds the maximum of UPSTREAM_TIMEOUT_SECONDS, an unfinished action was lost in a crash. */
const lostAfterMs = 15 * 60_000;

/** Matches entries of actions that were lost in a crash. */
const isLostSql = `entry.phase = 'requested' AND entry.action_id IS NOT NULL AND entry.logged_at < $5 AND NOT EXISTS (
  SELECT 1 FROM hosting_audit AS ended WHERE ended.action_id = entry.action_id AND ended.phase = 'finished')`;

/** Selects the actions of the key $1, without early entries, which have no action id to join by. */
const actionsOfKeySql = `SELECT entry.action_id, entry.request_id, entry.action, entry.server,
    entry.logged_at AS requested_at, ended.logged_at AS finished_at, ended.outcome
  FROM hosting_audit AS entry
  LEFT JOIN hosting_audit AS ended ON ended.action_id = entry.action_id AND ended.phase = 'finished'
  WHERE entry.key_id = $1 AND entry.phase = 'requested' AND entry.actor IS NULL AND entry.action_id IS NOT NULL`;

const newestFirstSql = 'ORDER BY entry.logged_at DESC, entry.action_id DESC';

const dayMs = 86_400_000;

/** Rows of hosting_health: the last look at the log, and since when the clock is too far ahead of it. */
const [lookId, aheadId] = [2, 3];

export function createAuditRecords(
  query: Query,
  writes: Writes,
  noteEntry: (entry: Pick<AuditEntry, 'actionId' | 'phase'>) => void,
) {
  const log = openTable(query, 'hosting_audit', ['id'], StoredEntry);
  const actions = openTable(query, 'hosting_audit', ['action_id'], Action);
  const append = async ({ at, ...entry }: AuditEntry): Promise<void> => {
    const { keyId, server, requestId, ip } = entry;
    const texts = { keyId: keyId ?? '', server: server ?? '', requestId: requestId ?? '', ip: ip ?? '' };
    await log.insert({ ...entry, ...texts, loggedAt: at });
    noteEntry(entry);
  };
  return {
    append,
    /** Writes the entry before an action; returns a function that writes the entry after it, now or later. */
    async begin(
      fields: Omit<AuditEntry, 'actionId' | 'at' | 'phase' | 'outcome' | 'ms'>,
    ): Promise<(outcome: string) => Promise<void>> {
      const entry = { ...fields, actionId: randomUUID() };
      const started = performance.now();
      await append({ ...entry, at: Date.now(), phase: 'requested', outcome: null, ms: null });
      return async (outcome) => {
        const { requestId: request_id, server, action } = fields;
        const ms = Math.round(performance.now() - started);
        const last: AuditEntry = { ...entry, at: Date.now(), ms, phase: 'finished', outcome };
        await writes.settle({ request_id, server, action, outcome }, async () => {
          // Written already if the answer to an attempt was lost; a change, unlike a read, proves that it is not lost.
          const sql = `UPDATE hosting_audit SET outcome = $2 WHERE action_id = $1 AND phase = 'finished'`;
          if (!(await log.change(sql, [entry.actionId, outcome]))) await append(last);
        });
      };
    },
    /** Returns the times of the last entries of power actions on a server after a time, but for actions without effect. */
    async lastPowerAction(server: ServerName, after: number) {
      const [row] = await query(
        `SELECT MAX(logged_at) AS last, MAX(CASE WHEN phase = 'requested' THEN logged_at END) AS requested
          FROM hosting_audit AS entry
          WHERE server = $1 AND logged_at > $2 AND actor IS NULL AND action <> 'command' AND NOT EXISTS (
            SELECT 1 FROM hosting_audit WHERE action_id = entry.action_id
              AND phase = 'finished' AND outcome NOT IN ('ok', 'unknown'))`,
        [server, after],
      );
      const lastAt = Time.nullish().parse(row?.['last']) ?? undefined;
      return lastAt === undefined
        ? undefined
        : { lastAt, requestedAt: Time.nullish().parse(row?.['requested']) ?? lastAt };
    },
    /** Streams the entries that match a filter, newest last, with one page in memory. */
    async *entries({ server, key, since = 0, until = maxTime, changes = false }: AuditFilter) {
      const filters = Object.entries({ server, key_id: key }).filter(([, value]) => value !== undefined);
      const equal = filters.map(([column], index) => `AND ${column} = $${index + 6}`).join(' ');
      const conditions = `${equal} ${changes ? 'AND actor IS NOT NULL' : ''}`;
      const values = filters.map(([, value]) => value!);
      let [lastAt, lastId] = [since, 0];
      let page;
      do {
        page = await query(
          `SELECT entry.*, (${isLostSql}) AS lost FROM hosting_audit AS entry
            WHERE (logged_at, id) > ($1, $2) AND logged_at < $4 ${conditions} ORDER BY logged_at, id LIMIT $3`,
          [lastAt, lastId, pageSize, until, Date.now() - lostAfterMs, ...values],
        );
        for (const row of page) {
          const { id, loggedAt: at, outcome, ...entry } = log.parse(row);
          [lastAt, lastId] = [at, id];
          yield { at, ...entry, outcome: row['lost'] ? 'unknown' : outcome } satisfies AuditEntry;
        }
      } while (page.length === pageSize);
    },
    /** Finds the newest action of a key with a request id. */
    async findAction(keyId: string, requestId: string): Promise<ActionRecord | undefined> {
      const sql = `${actionsOfKeySql} AND entry.request_id = $2 ${newestFirstSql} LIMIT 1`;
      const [row] = await query(sql, [keyId, requestId]);
      return row && actions.parse(row);
    },
    /** Reads actions of a key before a position, newest first. */
    async actionsOf(
      keyId: string,
      limit: number,
      { requestedAt, actionId }: ActionPosition = { requestedAt: maxTime, actionId: '' },
    ): Promise<ActionRecord[]> {
      const sql = `${actionsOfKeySql} AND (entry.logged_at, entry.action_id) < ($2, $3) ${newestFirstSql} LIMIT $4`;
      return (await query(sql, [keyId, requestedAt, actionId, limit])).map(actions.parse);
    },
    /**
     * Stores the time of this look at the log; false for a day after the clock is more than 30 days ahead of the last
     * look: it may be wrong.
     */
    async noteLook(now: number): Promise<boolean> {
      const rows = await query('SELECT id, written_at FROM hosting_health WHERE id IN ($1, $2)', [lookId, aheadId]);
      const times = new Map(rows.map((row) => [Number(row['id']), Number(row['written_at'])]));
      const isAhead = now - (times.get(lookId) ?? now) > 30 * dayMs;
      const aheadSince = times.get(aheadId) ?? now;
      const isTrusted = !isAhead || now - aheadSince >= dayMs;
      const set = `INSERT INTO hosting_health (id, written_at) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at`;
      await query(set, isTrusted ? [lookId, now] : [aheadId, aheadSince]);
      if (isTrusted) await query('DELETE FROM hosting_health WHERE id = $1', [aheadId]);
      return isTrusted;
    },
    /** Removes the entries before a time in pages, to keep other writes from waiting; returns their number. */
    async purge(before: number): Promise<number> {
      let count = 0;
      let removed;
      do {
        removed = await query(
          `DELETE FROM hosting_audit WHERE id IN (
            SELECT id FROM hosting_audit WHERE logged_at < $1 ORDER BY logged_at, id LIMIT ${pageSize}) RETURNING id`,
          [before],
        );
        count += removed.length;
        // With SQLite, a page blocks the event loop for milliseconds.
        await nextTurn();
      } while (removed.length === pageSize);
      return count;
    },
  };
}
