import { join } from 'node:path';
import { z } from 'zod';
import { ServerName } from '#contract/api-keys.ts';
import { createEvent } from '../events.ts';
import { checkFolder } from '../settings.ts';
import { createAuditRecords } from './audit.ts';
import { StoreError, Time, isUnreachable, openTable } from './database.ts';
import type { Query, Row, StoreSettings, Value } from './database.ts';
import { createInstanceRow } from './instance.ts';
import { Hash, OperatorToken, createKeyRecords, createSecretRecords } from './keys.ts';
import { openSqlite } from './sqlite.ts';
import { createWrites } from './writes.ts';
import type { LossReport, Votes, Writes } from './writes.ts';

/** The state shared by instances; each operation is atomic and visible to the next call. */
export type Store = Awaited<ReturnType<typeof openStore>>;

/** Database calls: the statement, without values, and the error of a failed call. */
export const endedQueries = createEvent<{
  readonly sql: string;
  readonly ms: number;
  readonly error: unknown;
}>('store-called');

/** The SQLite file of a store without a PostgreSQL database. */
export const sqliteFileIn = (dataDir: string): string => join(dataDir, 'hosting.sqlite');

const ignore = (): void => undefined;

/** Opens and migrates the store; `onUnreachable` gets connection errors. Throws a StoreError or EnvError. */
export async function openStore(
  settings: Pick<StoreSettings, 'DATA_DIR' | 'DATABASE_URL'> & Partial<StoreSettings>,
  onUnreachable: (error: StoreError) => void = ignore,
  report: LossReport = ignore,
) {
  const { DATA_DIR, DATABASE_URL: url, DATABASE_CONNECTIONS: connections } = settings;
  if (url === undefined) checkFolder('DATA_DIR', DATA_DIR, 0o700);
  const postgres = url === undefined ? undefined : await import('./postgres.ts');
  const database = postgres ? await postgres.openPostgres(url!, connections) : await openSqlite(sqliteFileIn(DATA_DIR));
  const run = async (sql: string, values?: readonly Value[], onFailure = onUnreachable): Promise<Row[]> => {
    const startedAt = performance.now();
    let error: unknown;
    try {
      return await database.query(sql, values);
    } catch (thrown) {
      error = thrown;
      if (isUnreachable(thrown)) {
        // A slow call is no outage.
        if (thrown.fault !== 'refused') instance.noteFailure();
        onFailure(thrown);
      }
      throw thrown;
    } finally {
      endedQueries.publish({ sql, ms: performance.now() - startedAt, error });
    }
  };
  const query: Query = (sql, values) => run(sql, values);
  // The caller counts failed checks.
  const ask: Query = (sql, values) => run(sql, values, ignore);

  const instance = createInstanceRow(ask, report);
  const feedback = createFeedbackRecords(query, postgres && instance.turnsId);
  const writes = createWrites(feedback.add, report);
  return {
    ...createKeyRecords(query),
    operators: createSecretRecords(query, 'hosting_operators', OperatorToken),
    servers: createServerRecords(query),
    idempotency: createIdempotencyRecords(query, writes),
    audit: createAuditRecords(query, writes, instance.noteEntry),
    feedback: {
      /** Counts a vote by path (or '') and day, now or when the store takes it. */
      count: ({ path, day, helpful }: { path: string; day: string; helpful: boolean }) =>
        writes.count({ path, day, helpful: Number(helpful), unhelpful: Number(!helpful) }),
      report: feedback.report,
    },
    streamTokens: createStreamTokenRecords(query),
    /** The rate limits shared by all instances; undefined with SQLite, which has one instance. */
    limits: postgres?.createLimits(query, url!),
    /** Reads the clock of the database; undefined with SQLite. */
    readClock: postgres && (() => postgres.readClock(query)),
    /** Reads a row, and writes every 10 s and after an outage; `needsRoom` also tests the disk. */
    async check(needsRoom = false): Promise<void> {
      for (const sql of needsRoom ? database.dialect.needRoom : []) await ask(sql);
      await instance.look(needsRoom);
    },
    versions: database.versions,
    /** Waits for the writes, and closes the connections; calls that still run then fail. */
    async close(onClosing = ignore): Promise<void> {
      await writes.close();
      onClosing();
      await database.close();
    },
  };
}

const Server = z.object({
  server: ServerName,
  /** A name of PROVIDERS_FILE. */
  provider: z.string().min(1),
  ref: z.string().min(1),
  /** The path of the newest log of a game server; null for the provider's default. */
  logFile: z.string().min(1).nullable(),
  /** While suspended, for instance unpaid, the keys of the server are rejected. */
  suspendedAt: Time.nullable(),
  /** `yes` if other servers may have the same provider and ref; `unconfirmed` if a migration found such servers. */
  shared: z.enum(['no', 'yes', 'unconfirmed']).default('no'),
  /** The label of the operator token that put the server; null without one. */
  madeBy: z.string().nullable().default(null),
  /** The label of the operator token that suspended the server; null for staff, who alone may resume it then. */
  suspendedBy: z.string().nullable().default(null),
});

/** The provider of a customer's server, and the server's identifier there. */
export type ServerRecord = Readonly<z.output<typeof Server>>;

/** A server to add. */
export type NewServer = Pick<ServerRecord, 'server' | 'provider' | 'ref' | 'logFile'> & Partial<ServerRecord>;

export function createServerRecords(query: Query) {
  const servers = openTable(query, 'hosting_servers', ['server'], Server);
  return {
    /** Adds or replaces a server, but keeps a suspension. Throws if an unshared record has the same provider and ref. */
    put: ({ server, provider, ref, logFile, shared = 'no', madeBy }: NewServer) =>
      servers.put({ server, provider, ref, logFile, shared, ...(madeBy !== undefined && { madeBy }) }),
    /** Adds a server; returns false if a record has the name, or is not shared and has the same provider and ref. */
    add: ({ shared = 'no', ...record }: NewServer) => servers.insert({ ...record, shared }, 'ON CONFLICT DO NOTHING'),
    /** Finds the servers of a provider whose refs have the same first 8 characters, in any case. */
    findAlike: ({ provider, ref }: Pick<ServerRecord, 'provider' | 'ref'>) =>
      servers.select('WHERE provider = $1 AND lower(substr(ref, 1, 8)) = $2 ORDER BY server', [
        provider,
        ref.slice(0, 8).toLowerCase(),
      ]),
    find: (server: ServerName) => servers.find('WHERE server = $1', [server]),
    /** Finds the servers that exist and, unless `orSuspended`, are not suspended. */
    async findOpen(names: readonly ServerName[], orSuspended = false): Promise<ReadonlySet<string>> {
      const marks = ['NULL', ...names.map((_, at) => `$${at + 1}`)].join(', ');
      const open = orSuspended ? '' : 'suspended_at IS NULL AND ';
      const found = await servers.select(`WHERE ${open}server IN (${marks})`, names);
      return new Set(found.map(({ server }) => server));
    },
    list: () => servers.listAll(),
    /** Reads a page of servers by name, of one operator or of all. */
    page: (after: string, limit: number, madeBy?: string) => {
      const own = madeBy === undefined ? '' : 'AND made_by = $2';
      const values = madeBy === undefined ? [after] : [after, madeBy];
      return servers.select(`WHERE server > $1 ${own} ORDER BY server LIMIT ${limit}`, values);
    },
    /** Suspends a server, also repeatedly; staff (null) takes over. Returns false if the server is missing. */
    suspend: (server: ServerName, at: number, by: string | null = null) =>
      servers.change(
        `UPDATE hosting_servers SET suspended_at = COALESCE(suspended_at, $2),
          suspended_by = CASE WHEN suspended_at IS NULL OR CAST($3 AS TEXT) IS NULL THEN $3 ELSE suspended_by END
          WHERE server = $1`,
        [server, at, by],
      ),
    /** Ends the suspension of a server; returns false if the server is missing, or suspended by staff for others. */
    resume: (server: ServerName, by: string | null = null) =>
      servers.change(
        `UPDATE hosting_servers SET suspended_at = NULL, suspended_by = NULL WHERE server = $1
          AND (CAST($2 AS TEXT) IS NULL OR suspended_at IS NULL OR suspended_by IS NOT NULL)`,
        [server, by],
      ),
    remove: (server: ServerName) => servers.change('DELETE FROM hosting_servers WHERE server = $1', [server]),
  };
}

/** The maximum number of valid tokens of a key; another token ends the oldest. */
const maxLiveTokens = 200;

const StreamToken = z.object({
  tokenHash: Hash,
  keyId: z.string().min(1),
  /** The hash of the requesting secret of the key; the token ends with that secret. */
  secretHash: Hash,
  server: ServerName,
  mode: z.enum(['read', 'read_write']),
  issuedAt: Time,
  expiresAt: Time,
});

export type StreamTokenRecord = Readonly<z.output<typeof StreamToken>>;

function createStreamTokenRecords(query: Query) {
  /** The parent of a child key, if the query asks for it. */
  const parentId = z.string().nullable().default(null);
  const tokens = openTable(query, 'hosting_stream_tokens', ['id'], StreamToken.extend({ parentId }));
  return {
    /** Adds a token, and removes the oldest valid tokens of the key beyond 200. */
    async add(token: StreamTokenRecord): Promise<void> {
      await tokens.insert(token);
      await query(
        `DELETE FROM hosting_stream_tokens WHERE key_id = $1 AND expires_at > $2 AND id <= (
          SELECT id FROM hosting_stream_tokens WHERE key_id = $1 AND expires_at > $2
            ORDER BY id DESC LIMIT 1 OFFSET ${maxLiveTokens})`,
        [token.keyId, token.issuedAt],
      );
    },
    /** Finds a token by its hash, with the parent of its key, even if expired and not yet purged. */
    find: (tokenHash: string) =>
      tokens.find(
        `LEFT JOIN (SELECT id AS child_id, parent_id FROM hosting_child_keys) AS child ON child_id = key_id
          WHERE token_hash = $1`,
        [tokenHash],
      ),
    async purge(before: number): Promise<void> {
      await query('DELETE FROM hosting_stream_tokens WHERE expires_at < $1', [before]);
    },
  };
}

const dayMs = 24 * 60 * 60 * 1000;

/** The response to a request with an Idempotency-Key. */
export interface IdempotentAnswer {
  readonly status: number;
  readonly body: string;
  /** True if the request certainly had no effect; such an answer is never stored. */
  readonly isNotSent?: boolean;
}

/** The first request with an Idempotency-Key. */
export interface IdempotentClaim {
  readonly apiKeyId: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly requestId: string;
  readonly now: number;
  readonly deadline: number;
}

const State = z
  .object({
    fingerprint: z.string(),
    /** The id of the first request; null in records of early versions. */
    requestId: z.string().nullable(),
    /** A request without an answer at this time has crashed, with an unknown outcome. */
    deadline: Time,
    status: z.int().min(100).max(599).nullable(),
    body: z.string().nullable(),
  })
  .transform(({ deadline, status, body, ...first }, context) => {
    const answer: IdempotentAnswer | undefined = status !== null && body !== null ? { status, body } : undefined;
    if (answer) return { state: 'answered', ...first, answer } as const;
    if (status === null && body === null) return { state: 'running', ...first, deadline } as const;
    context.addIssue('must have both a status and a body, or neither');
    return z.NEVER;
  });

const nameOf = ({ apiKeyId, key }: IdempotentClaim): string => `${apiKeyId} ${key}`;

function createIdempotencyRecords(query: Query, writes: Writes) {
  const states = openTable(query, 'hosting_idempotency', ['api_key_id', 'idempotency_key'], State);
  /** Answers that are not stored yet, by API key and Idempotency-Key. */
  const answered = new Map<string, z.output<typeof State>>();
  /** Ends the claim of a request, but no newer claim of the key; may be repeated. */
  const settle = async (claim: IdempotentClaim, answer: IdempotentAnswer, end: object, sql: string, more: Value[]) => {
    const { apiKeyId, key, fingerprint, requestId, now } = claim;
    const state = { state: 'answered', fingerprint, requestId, answer } as const;
    answered.set(nameOf(claim), state);
    await writes.settle(end, async () => {
      const own = 'WHERE api_key_id = $1 AND idempotency_key = $2 AND request_id = $3 AND begun_at = $4 AND';
      await query(sql.replace('WHERE', own), [apiKeyId, key, requestId, now, ...more]);
      if (answered.get(nameOf(claim)) === state) answered.delete(nameOf(claim));
    });
  };
  return {
    /** Claims a key; exactly one of several callers gets `begun`. Records older than 24 h are ignored. */
    async begin(claim: IdempotentClaim) {
      const early = answered.get(nameOf(claim));
      if (early) return early;
      const { apiKeyId, key: idempotencyKey, now: begunAt, ...rest } = claim;
      const record = { apiKeyId, idempotencyKey, begunAt, ...rest, status: null, body: null };
      // The record may be released between the two statements, but hardly ten times.
      for (let attempt = 0; attempt < 10; attempt += 1) {
        if (await states.put(record, `hosting_idempotency.begun_at < excluded.begun_at - ${dayMs}`))
          return { state: 'begun' } as const;
        const state = await states.find('WHERE api_key_id = $1 AND idempotency_key = $2', [apiKeyId, idempotencyKey]);
        if (state) return state;
      }
      throw new StoreError('could not claim the Idempotency-Key after 10 attempts: it keeps being released');
    },
    /** Stores the response to replay, now or when the store takes it; never overwrites a response. */
    finish: (claim: IdempotentClaim, answer: IdempotentAnswer, end: object) =>
      settle(
        claim,
        answer,
        end,
        // Also written again: the answer to the first attempt may be lost.
        'UPDATE hosting_idempotency SET status = $5, body = $6 WHERE (status IS NULL OR (status = $5 AND body = $6))',
        [answer.status, answer.body],
      ),
    /** Frees the key after a request without effect, now or when the store takes it; until then it has this answer. */
    release: (claim: IdempotentClaim, answer: IdempotentAnswer, end: object) =>
      settle(claim, { ...answer, isNotSent: true }, end, 'DELETE FROM hosting_idempotency WHERE status IS NULL', []),
    async purge(before: number): Promise<void> {
      await query('DELETE FROM hosting_idempotency WHERE begun_at < $1', [before]);
    },
  };
}

const ArticleVotes = z.object({ path: z.string(), helpful: z.int().nonnegative(), unhelpful: z.int().nonnegative() });

export type ArticleVotes = Readonly<z.output<typeof ArticleVotes>>;

function createFeedbackRecords(query: Query, turnsId: number | undefined) {
  const votes = openTable(query, 'hosting_feedback', ['path'], ArticleVotes);
  /** With PostgreSQL, a turn that is counted already changes nothing; a failed call of SQLite certainly had no effect. */
  const takeTurn = `WITH taken AS (
    INSERT INTO hosting_health (id, counter, written_at) VALUES (${turnsId}, $5, $6)
      ON CONFLICT (id) DO UPDATE SET counter = excluded.counter, written_at = excluded.written_at
      WHERE hosting_health.counter < excluded.counter RETURNING 1)`;
  const [start, from] = turnsId === undefined ? ['', 'WHERE true'] : [takeTurn, 'FROM taken'];
  return {
    /** Adds anonymous votes by path (or '') and day, once for each turn. */
    add: ({ path, day, helpful, unhelpful }: Votes, turn: number) =>
      query(
        `${start} INSERT INTO hosting_feedback (path, day, helpful, unhelpful)
          SELECT $1, $2, CAST($3 AS BIGINT), CAST($4 AS BIGINT) ${from}
          ON CONFLICT (path, day) DO UPDATE
          SET helpful = hosting_feedback.helpful + excluded.helpful,
            unhelpful = hosting_feedback.unhelpful + excluded.unhelpful`,
        [path, day, helpful, unhelpful, ...(turnsId === undefined ? [] : [turn, Date.now()])],
      ),
    /** Sums the votes on each article, optionally from a day on. */
    report: async ({ since = '' }: { since?: string | undefined }): Promise<ArticleVotes[]> => {
      const rows = await query(
        `SELECT path, CAST(SUM(helpful) AS BIGINT) AS helpful, CAST(SUM(unhelpful) AS BIGINT) AS unhelpful
          FROM hosting_feedback WHERE day >= $1 GROUP BY path ORDER BY path`,
        [since],
      );
      return rows.map(votes.parse);
    },
  };
}
