import { join } from 'node:path';
import { createApiKeys } from './api-keys.ts';
import { createAudit } from './audit.ts';
import type { StoreSettings } from './env.ts';
import { createFeedback } from './feedback.ts';
import { createIdempotency } from './idempotency.ts';
import { createSecrets } from './secrets.ts';
import { createServers } from './servers.ts';
import { openSqlite } from './sqlite.ts';

/**
 * What the service remembers. Several instances may share one store: what one writes, the others see at their next
 * call. Whatever must be atomic is one statement, and so is atomic between processes too. Every method throws where the
 * store cannot be reached; a record that is not what it must be throws too.
 */
export type Store = Awaited<ReturnType<typeof openStore>>;

/** Opens the store and brings its tables to this version; throws a StoreError whose message says what is wrong. */
export async function openStore({ DATA_DIR, DATABASE_URL: url }: StoreSettings) {
  const { query, close } = url === undefined ? await openSqlite(sqliteFileIn(DATA_DIR)) : await openPostgres(url);
  return {
    apiKeys: createApiKeys(query),
    servers: createServers(query),
    idempotency: createIdempotency(query),
    audit: createAudit(query),
    feedback: createFeedback(query),
    secret: createSecrets(query),
    close,
  };
}

/** The SQLite file of a store that has no PostgreSQL database. */
export function sqliteFileIn(dataDir: string): string {
  return join(dataDir, 'hosting.sqlite');
}

async function openPostgres(url: string) {
  const postgres = await import('./postgres.ts');
  return postgres.openPostgres(url);
}
