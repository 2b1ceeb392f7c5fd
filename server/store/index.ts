import { join } from 'node:path';
import { createSqliteStore } from './sqlite.ts';
import type { Store } from './types.ts';

/** Where the store is. */
export interface StoreOptions {
  /** A PostgreSQL database; without it the store is a SQLite file in `dataDir`. */
  readonly databaseUrl?: string | undefined;
  readonly dataDir: string;
}

/** Opens the store and brings its tables to this version; throws a StoreError whose message says what is wrong. */
export async function openStore({ databaseUrl, dataDir }: StoreOptions): Promise<Store> {
  if (databaseUrl === undefined) return createSqliteStore(databaseFile({ dataDir }));
  const { createPostgresStore } = await import('./postgres.ts');
  return createPostgresStore(databaseUrl);
}

/** The SQLite file of a store that has no PostgreSQL database. */
export function databaseFile({ dataDir }: StoreOptions): string {
  return join(dataDir, 'hosting.sqlite');
}
