import { join } from 'node:path';
import { createEvent } from '../events.ts';
import { prepareFolder } from '../settings.ts';
import { createAuditRecords } from './audit.ts';
import {
  createApiKeyRecords,
  createFeedbackRecords,
  createIdempotencyRecords,
  createServerRecords,
  createStreamTokenRecords,
} from './records.ts';
import type { Query, StoreSettings } from './database.ts';
import { StoreUnreachableError } from './database.ts';
import { createLimits } from './limits.ts';
import { openSqlite } from './sqlite.ts';

/**
 * The persistent state of the service. Several instances may share one store: a write is visible to the others at their
 * next call. Each atomic operation is one statement, so it is atomic between processes too. Every method throws if the
 * store cannot be reached or a record is invalid.
 */
export type Store = Awaited<ReturnType<typeof openStore>>;

/** The time between two writes of the health check. */
const writeEveryMs = 10_000;

/** The calls of the database: the text of the statement, which holds no values, and why it failed, if it did. */
export const endedQueries = createEvent<{
  readonly sql: string;
  readonly ms: number;
  readonly error: unknown;
}>('store-called');

/**
 * Opens the store and migrates its tables to this version; throws a StoreError or EnvError that says what is wrong. `onUnreachable`
 * gets the error of each call that the database did not answer.
 */
export async function openStore(
  { DATA_DIR, DATABASE_URL: url }: StoreSettings,
  onUnreachable: (error: StoreUnreachableError) => void = () => undefined,
) {
  if (url === undefined) prepareFolder('DATA_DIR', DATA_DIR, 0o700);
  const database =
    url === undefined
      ? await openSqlite(sqliteFileIn(DATA_DIR))
      : await (await import('./postgres.ts')).openPostgres(url);
  const run: Query = async (sql, values) => {
    const startedAt = performance.now();
    let error: unknown;
    try {
      return await database.query(sql, values);
    } catch (thrown) {
      error = thrown;
      throw thrown;
    } finally {
      if (endedQueries.isHeard()) endedQueries.publish({ sql, ms: performance.now() - startedAt, error });
    }
  };
  let nextWriteAt = 0;
  const query: Query = (sql, values) =>
    run(sql, values).catch((error: unknown) => {
      if (error instanceof StoreUnreachableError) {
        nextWriteAt = 0;
        onUnreachable(error);
      }
      throw error;
    });
  return {
    apiKeys: createApiKeyRecords(query),
    servers: createServerRecords(query),
    idempotency: createIdempotencyRecords(query),
    audit: createAuditRecords(query),
    feedback: createFeedbackRecords(query),
    streamTokens: createStreamTokenRecords(query),
    /** The limits that all instances share; undefined with SQLite, which has one instance. */
    limits: url === undefined ? undefined : createLimits(query, url),
    /**
     * Reads a row; every 10 s, and after a failure, it writes one instead: a database may answer, and take no writes. Throws if
     * the database does not answer, or refuses.
     */
    async check(): Promise<void> {
      if (performance.now() < nextWriteAt) return void (await run('SELECT version FROM hosting_migrations LIMIT 1'));
      nextWriteAt = 0;
      await run(
        `INSERT INTO hosting_health (id, written_at) VALUES (1, $1)
          ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at`,
        [Date.now()],
      );
      nextWriteAt = performance.now() + writeEveryMs;
    },
    versions: database.versions,
    close: database.close,
  };
}

/** The SQLite file of a store without a PostgreSQL database. */
export function sqliteFileIn(dataDir: string): string {
  return join(dataDir, 'hosting.sqlite');
}
