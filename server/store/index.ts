import { join } from 'node:path';
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

/** Called for each call of the database, with its time, and why it failed. */
export type OnQuery = (sql: string, ms: number, error: unknown) => void;

/**
 * Opens the store and migrates its tables to this version; throws a StoreError or EnvError that says what is wrong. `onUnreachable`
 * gets the error of each call that the database did not answer, `onQuery` every call.
 */
export async function openStore(
  { DATA_DIR, DATABASE_URL: url }: StoreSettings,
  onUnreachable: (error: StoreUnreachableError) => void = () => undefined,
  onQuery?: OnQuery,
) {
  if (url === undefined) prepareFolder('DATA_DIR', DATA_DIR, 0o700);
  const database = url === undefined ? await openSqlite(sqliteFileIn(DATA_DIR)) : await openPostgres(url);
  const run = onQuery ? timed(database, onQuery) : database.query;
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

/** The queries of a database, with the time of each. */
function timed({ query }: Database, onQuery: OnQuery): Query {
  return async (sql, values) => {
    const startedAt = performance.now();
    let failure: unknown;
    try {
      return await query(sql, values);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      onQuery(sql, performance.now() - startedAt, failure);
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
