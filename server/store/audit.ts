import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { ServerName } from '#contract/api-keys.ts';
import { Time, openTable } from './database.ts';
import type { Query } from './database.ts';

const pageSize = 1000;
/** After this time, an entry after an action is written once more. */
const retryMs = 2000;

const maxTime = Number.MAX_SAFE_INTEGER;

/** Null is stored as an empty text: these columns were NOT NULL before changes were audited. */
const OptionalText = z.string().transform((text) => text || null);

const Entry = z.object({
  id: z.int().positive(),
  loggedAt: Time,
  /** The same in both entries of an action or change; null in entries of versions before. */
  actionId: z.string().nullable(),
  phase: z.enum(['requested', 'finished']),
  /** Who made a change of a key or a server, for instance `command line`; null for an action of an API key. */
  actor: z.string().nullable(),
  /** The API key that acted, or that was changed; null for a change of a server. */
  keyId: OptionalText,
  action: z.string(),
  /** Null for a change of an API key. */
  server: OptionalText.pipe(ServerName.nullable()),
  /** Null for a change, as is the address. */
  requestId: OptionalText,
  ip: OptionalText,
  /** `ok`, a problem code, or `unknown`. Of `requested`: null, or `unknown` if its process ended before. */
  outcome: z.string().nullable(),
  ms: Time.nullable(),
  /** The first 64 characters of a console command, or the new values of a change. */
  detail: z.string().nullable(),
});

/** An entry of the audit log. */
export type AuditEntry = Readonly<Omit<z.output<typeof Entry>, 'id' | 'loggedAt'> & { at: number }>;

const Action = z.object({
  actionId: z.string(),
  requestId: z.string(),
  action: z.string(),
  server: ServerName,
  requestedAt: Time,
  /** Null without an entry after the action, as is the outcome. */
  finishedAt: Time.nullable(),
  outcome: z.string().nullable(),
});

/** An action of an API key: the entry before it, with the time and outcome of the one after it. */
export type ActionRecord = Readonly<z.output<typeof Action>>;

/** A position in the actions of a key. */
export type ActionPosition = Pick<ActionRecord, 'requestedAt' | 'actionId'>;

/** Which entries are read: of a server, of an API key, from a time on, and before a time. */
interface AuditFilter {
  readonly server?: ServerName;
  readonly key?: string;
  readonly since?: number;
  readonly until?: number;
  /** The time from which the age of unfinished actions is counted; default now. */
  readonly asOf?: number;
}

/** An action without an end after this time was lost with its process: more than UPSTREAM_TIMEOUT_SECONDS may be. */
const lostAfterMs = 15 * 60_000;

/** Whether an entry has no counterpart, although the action must have ended. */
const isLostSql = `entry.phase = 'requested' AND entry.action_id IS NOT NULL AND entry.logged_at < $5 AND NOT EXISTS (
  SELECT 1 FROM hosting_audit AS ended WHERE ended.action_id = entry.action_id AND ended.phase = 'finished')`;

/** Selects the actions of the key $1. Older entries without an action id cannot be joined, and are left out. */
const actionsOfKeySql = `SELECT entry.action_id, entry.request_id, entry.action, entry.server,
    entry.logged_at AS requested_at, ended.logged_at AS finished_at, ended.outcome
  FROM hosting_audit AS entry
  LEFT JOIN hosting_audit AS ended ON ended.action_id = entry.action_id AND ended.phase = 'finished'
  WHERE entry.key_id = $1 AND entry.phase = 'requested' AND entry.actor IS NULL AND entry.action_id IS NOT NULL`;

const newestFirstSql = 'ORDER BY entry.logged_at DESC, entry.action_id DESC';

/** The audit log, over an open database. */
export function createAuditRecords(query: Query) {
  const log = openTable(query, 'hosting_audit', ['id'], Entry);
  const actions = openTable(query, 'hosting_audit', ['action_id'], Action);
  const append = async ({ at, ms, ...entry }: AuditEntry): Promise<void> => {
    const { keyId, server, requestId, ip } = entry;
    const texts = { keyId: keyId ?? '', server: server ?? '', requestId: requestId ?? '', ip: ip ?? '' };
    await log.insert({ ...entry, ...texts, loggedAt: at, ms: ms === null ? null : Math.round(ms) });
  };
  return {
    append,
    /** Writes the entry before an action; returns what writes the one after it, which never rejects. */
    async begin(
      fields: Omit<AuditEntry, 'actionId' | 'at' | 'phase' | 'outcome' | 'ms'>,
      onFailure: (error: unknown) => void,
    ): Promise<(outcome: string) => Promise<void>> {
      const entry = { ...fields, actionId: randomUUID() };
      const started = Date.now();
      await append({ ...entry, at: started, phase: 'requested', outcome: null, ms: null });
      return async (outcome) => {
        const now = Date.now();
        const write = () => append({ ...entry, at: now, phase: 'finished', outcome, ms: now - started });
        const writeAgain = async (): Promise<void> => {
          // A restart of PostgreSQL takes about a second. The answer to the first try may be all that was lost.
          await sleep(retryMs);
          const sql = `SELECT 1 FROM hosting_audit WHERE action_id = $1 AND phase = 'finished'`;
          if ((await query(sql, [entry.actionId])).length === 0) await write();
        };
        await write().catch(writeAgain).catch(onFailure);
      };
    },
    /** When the last entry of a power action on a server was written, if that was after a time. */
    async lastPowerAction(server: ServerName, after: number): Promise<number | undefined> {
      const [row] = await query(
        `SELECT MAX(logged_at) AS last FROM hosting_audit
          WHERE server = $1 AND logged_at > $2 AND actor IS NULL AND action <> 'command'`,
        [server, after],
      );
      return Time.nullish().parse(row?.['last']) ?? undefined;
    },
    /** Streams the entries that match a filter, the newest last. Only one page is in memory. */
    async *entries({ server, key, since = 0, until = maxTime, asOf = Date.now() }: AuditFilter) {
      const filters = Object.entries({ server, key_id: key }).filter(([, value]) => value !== undefined);
      const conditions = filters.map(([column], index) => `AND ${column} = $${index + 6}`).join(' ');
      const values = filters.map(([, value]) => value!);
      let [lastAt, lastId] = [since, 0];
      let page;
      do {
        page = await query(
          `SELECT entry.*, (${isLostSql}) AS lost FROM hosting_audit AS entry
            WHERE (logged_at, id) > ($1, $2) AND logged_at < $4 ${conditions} ORDER BY logged_at, id LIMIT $3`,
          [lastAt, lastId, pageSize, until, asOf - lostAfterMs, ...values],
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
    /** Reads actions of a key, newest first, that are older than a position. */
    async actionsOf(
      keyId: string,
      limit: number,
      { requestedAt, actionId }: ActionPosition = { requestedAt: maxTime, actionId: '' },
    ): Promise<ActionRecord[]> {
      const sql = `${actionsOfKeySql} AND (entry.logged_at, entry.action_id) < ($2, $3) ${newestFirstSql} LIMIT $4`;
      return (await query(sql, [keyId, requestedAt, actionId, limit])).map(actions.parse);
    },
    /** Removes the entries before a time, a page at a time, so that other writes do not wait long. */
    async purge(before: number): Promise<void> {
      let removed;
      do {
        removed = await query(
          `DELETE FROM hosting_audit WHERE id IN (
            SELECT id FROM hosting_audit WHERE logged_at < $1 ORDER BY logged_at, id LIMIT ${pageSize}) RETURNING id`,
          [before],
        );
        // A page of SQLite takes milliseconds of the event loop.
        await nextTurn();
      } while (removed.length === pageSize);
    },
  };
}
