import { join } from 'node:path';
import { createEvent } from '../events.ts';
import { prepareFolder } from '../settings.ts';
import { createApiKeys, createFeedback, createIdempotency, createServers, createStreamTokens } from './records.ts';
import { createAudit } from './audit.ts';
import type { Database, Query, StoreSettings } from './database.ts';
import { StoreUnreachableError } from './database.ts';
import { createLimits } from './limits.ts';
import { openSqlite } from './sqlite.ts';

/**
 * The persistent state of the service. Several instances may share one store: a write is visible to the others at their
 * next call. Each atomic operation is one statement, so it is atomic between processes too. Every method throws if the
 * store cannot be reached or a record is invalid.
 */
export type Store = Awaited<ReturnType<typeof openStore>>;

/** A call of the database. */
interface StoreCall {
  /** The text of its statement, which is of this program and holds no values. */
  readonly sql: string;
  readonly ms: number;
  /** Why it failed; undefined if it did not. */
  readonly error: unknown;
}

/** The calls of the database. */
export const endedQueries = createEvent<StoreCall>('store-called');

/**
 * Opens the store and migrates its tables to this version; throws a StoreError or EnvError that says what is wrong. `onUnreachable`
 * gets the error of each call that the database did not answer.
 */
export async function openStore(
  { DATA_DIR, DATABASE_URL: url }: StoreSettings,
  onUnreachable: (error: StoreUnreachableError) => void = () => undefined,
) {
  if (url === undefined) prepareFolder('DATA_DIR', DATA_DIR, 0o700);
  const database = url === undefined ? await openSqlite(sqliteFileIn(DATA_DIR)) : await openPostgres(url);
  const run = timed(database);
  const query: Query = (sql, values) =>
    run(sql, values).catch((error: unknown) => {
      if (error instanceof StoreUnreachableError) onUnreachable(error);
      throw error;
    });
  return {
    apiKeys: createApiKeys(query),
    servers: createServers(query),
    idempotency: createIdempotency(query),
    audit: createAudit(query),
    feedback: createFeedback(query),
    streamTokens: createStreamTokens(query),
    /** The limits that all instances share; undefined with SQLite, which has one instance. */
    limits: url === undefined ? undefined : createLimits(query, url),
    /** Reads a row; throws if the database does not answer. */
    async check(): Promise<void> {
      await run('SELECT version FROM hosting_migrations LIMIT 1');
    },
    versions: database.versions,
    close: database.close,
  };
}

/** The queries of a database, whose times are published if anyone listens. */
function timed({ query }: Database): Query {
  return async (sql, values) => {
    if (!endedQueries.isHeard()) return await query(sql, values);
    const startedAt = performance.now();
    let error: unknown;
    try {
      return await query(sql, values);
    } catch (thrown) {
      error = thrown;
      throw thrown;
    } finally {
      endedQueries.publish({ sql, ms: performance.now() - startedAt, error });
    }
  };
}

/** The SQLite file of a store without a PostgreSQL database. */
export function sqliteFileIn(dataDir: string): string {
  return join(dataDir, 'hosting.sqlite');
}

async function openPostgres(url: string) {
  const postgres = await import('./postgres.ts');
  return postgres.openPostgres(url);
}
