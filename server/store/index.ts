import { join } from 'node:path';
import { createApiKeys } from './api-keys.ts';
import { createAudit } from './audit.ts';
import type { StoreSettings } from './env.ts';
import { createFeedback } from './feedback.ts';
import { createIdempotency } from './idempotency.ts';
import { createServers } from './servers.ts';
import { openSqlite } from './sqlite.ts';
import { createStreamTokens } from './stream-tokens.ts';

/**
 * The persistent state of the service. Several instances may share one store: a write is visible to the others at their
 * next call. Each atomic operation is one statement, so it is atomic between processes too. Every method throws if the
 * store cannot be reached or a record is invalid.
 */
export type Store = Awaited<ReturnType<typeof openStore>>;

/** Opens the store and migrates its tables to this version; throws a StoreError that says what is wrong. */
export async function openStore({ DATA_DIR, DATABASE_URL: url }: StoreSettings) {
  const { query, close } = url === undefined ? await openSqlite(sqliteFileIn(DATA_DIR)) : await openPostgres(url);
  return {
    apiKeys: createApiKeys(query),
    servers: createServers(query),
    idempotency: createIdempotency(query),
    audit: createAudit(query),
    feedback: createFeedback(query),
    streamTokens: createStreamTokens(query),
    close,
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
