import { join } from 'node:path';
import { prepareFolder } from '../settings.ts';
import { createApiKeys } from './api-keys.ts';
import { createAudit } from './audit.ts';
import type { StoreSettings } from './env.ts';
import { createFeedback } from './feedback.ts';
import { createIdempotency } from './idempotency.ts';
import { createLimits } from './limits.ts';
import { createSecrets } from './secrets.ts';
import { createServers } from './servers.ts';
import { openSqlite } from './sqlite.ts';

/**
 * The persistent state of the service. Several instances may share one store: a write is visible to the others at their
 * next call. Each atomic operation is one statement, so it is atomic between processes too. Every method throws if the
 * store cannot be reached or a record is invalid.
 */
export type Store = Awaited<ReturnType<typeof openStore>>;

/** Opens the store and migrates its tables to this version; throws a StoreError or EnvError that says what is wrong. */
export async function openStore({ DATA_DIR, DATABASE_URL: url }: StoreSettings) {
  if (url === undefined) prepareFolder('DATA_DIR', DATA_DIR, 0o700);
  const { query, close } = url === undefined ? await openSqlite(sqliteFileIn(DATA_DIR)) : await openPostgres(url);
  return {
    apiKeys: createApiKeys(query),
    servers: createServers(query),
    idempotency: createIdempotency(query),
    audit: createAudit(query),
    feedback: createFeedback(query),
    secret: createSecrets(query),
    /** The limits that all instances share; undefined with SQLite, which has one instance. */
    limits: url === undefined ? undefined : createLimits(query, url),
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
