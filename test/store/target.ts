import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { Dialect, Query } from '../../server/store/database.ts';
import { readSettings } from '../../server/settings.ts';
import { StoreSettings } from '../../server/store/database.ts';
import { openStore } from '../../server/store/index.ts';
import { postgresDialect } from '../../server/store/postgres.ts';
import { connectSqlite, sqliteDialect } from '../../server/store/sqlite.ts';
import type { Store } from '../../server/store/types.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { readTables } from '../helpers/postgres.ts';

/** The database of a test, with direct access besides the store. */
export interface StoreTarget {
  readonly env: Readonly<Record<string, string>>;
  readonly dialect: Dialect;
  /** Opens a store until the test ends. */
  open(): Promise<Store>;
  connect(): Promise<Query>;
  /** Reads the content of the database as text. */
  dump(): Promise<string>;
}

/** Creates an empty database. */
export type CreateTarget = () => Promise<StoreTarget>;

/** Creates a SQLite file in a new folder. */
export const createSqliteTarget: CreateTarget = async () => {
  const env = { DATA_DIR: temporaryFolder() };
  return {
    env,
    dialect: sqliteDialect,
    open: () => openTestStore(env),
    async connect() {
      const { query, close } = await connectSqlite(join(env.DATA_DIR, 'hosting.sqlite'));
      onTestFinished(close);
      return query;
    },
    async dump() {
      const files = globSync(join(env.DATA_DIR, '*'));
      return files.map((file) => readFileSync(file, 'latin1')).join('\n');
    },
  };
};

/** Uses a database of a PostgreSQL server. */
export async function createPostgresTarget(url: string): Promise<StoreTarget> {
  const env = { DATABASE_URL: url };
  return {
    env,
    dialect: postgresDialect,
    open: () => openTestStore(env),
    async connect() {
      const client = new Client({ connectionString: url });
      await client.connect();
      onTestFinished(() => client.end());
      return async (sql, values = []) => (await client.query<Record<string, unknown>>(sql, [...values])).rows;
    },
    dump: async () => JSON.stringify(await readTables(url)),
  };
}

/** Opens the store of these settings until the test ends. */
export async function openTestStore(env: Readonly<Record<string, string>>): Promise<Store> {
  const store = await openStore(readSettings(StoreSettings, env));
  onTestFinished(() => store.close());
  return store;
}

/** Opens a new database twice, like two instances. */
export async function openTwice(create: CreateTarget): Promise<[Store, Store]> {
  const target = await create();
  return [await target.open(), await target.open()];
}

/** Opens a new database and a separate connection. */
export async function openWithQuery(create: CreateTarget) {
  const target = await create();
  return { target, store: await target.open(), query: await target.connect() };
}

/** Runs `worker.ts` in several processes that open the store at the same time; returns their results. */
export async function runWorkers(
  { env }: StoreTarget,
  jobs: readonly { action: string; count?: number }[],
): Promise<unknown[]> {
  const workers = jobs.map(({ action, count = 1 }, index) => {
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('./worker.ts', import.meta.url)), action, String(count), String(index)],
      { env: { ...process.env, DATA_DIR: '', DATABASE_URL: '', ...env }, stdio: ['pipe', 'pipe', 'inherit'] },
    );
    return { child, exited: once(child, 'exit'), lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
  });
  for (const { lines } of workers) expect(await lines.next()).toMatchObject({ value: 'ready' });
  for (const { child } of workers) child.stdin.end('go\n');
  return Promise.all(
    workers.map(async ({ exited, lines }) => {
      const { value } = await lines.next();
      expect(await exited).toEqual([0, null]);
      return JSON.parse(String(value)) as unknown;
    }),
  );
}
