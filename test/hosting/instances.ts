import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { runHere } from '../commands/run-command.ts';
import { createTestApp } from '../helpers/app.ts';
import { openClient } from '../helpers/console-client.ts';
import type { TestClient } from '../helpers/console-client.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { askEndpoint } from '../server/ask.ts';
import { sharedProject } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';

/** Two instances with one store, the key of a customer, and direct access to the database. */
export interface TwoInstances {
  readonly world: HostingWorld;
  readonly apps: readonly [SharedApp, SharedApp];
  readonly keyId: string;
  /** Runs one of the operator's commands; returns its output. */
  readonly run: (...args: string[]) => Promise<string>;
  /** Every text of every table. */
  readonly readDatabase: () => Promise<string[]>;
}

/** Starts two instances with one store: a SQLite file, or a PostgreSQL database. */
export async function createInstances(
  databaseUrl: string | undefined,
  settings: Record<string, string> = {},
): Promise<TwoInstances> {
  const world = await createHostingWorld(temporaryFolder(), { ...(databaseUrl !== undefined && { databaseUrl }) });
  const key = await world.issueKey();
  const serve = async (): Promise<SharedApp> => {
    const app = await createTestApp({ root: await sharedProject(), settings: { ...world.settings, ...settings } });
    return { ...app, key };
  };
  return {
    world,
    apps: [await serve(), await serve()],
    keyId: key.split('_')[1]!,
    async run(...args) {
      const { status, stdout, stderr } = await runHere(args, world.settings);
      expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
      return stdout.trim();
    },
    async readDatabase() {
      const rows = databaseUrl === undefined ? readSqlite(world) : await readPostgres(databaseUrl);
      const values = rows.flatMap((row) => Object.values(row));
      return values.filter((value) => typeof value === 'string');
    },
  };
}

function readSqlite({ settings }: HostingWorld): Record<string, unknown>[] {
  const database = new DatabaseSync(join(settings.DATA_DIR!, 'hosting.sqlite'));
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
  const rows = tables.flatMap(({ name }) => database.prepare(`SELECT * FROM "${String(name)}"`).all());
  database.close();
  return rows;
}

async function readPostgres(connectionString: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  const tables = await client.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
  );
  const rows = [];
  for (const { name } of tables.rows) {
    rows.push(...(await client.query<Record<string, unknown>>(`SELECT * FROM ${name}`)).rows);
  }
  return rows;
}

/** Fetches the address of the console stream and a token. */
export async function bootstrap(app: SharedApp): Promise<{ socket_url: string; token: string }> {
  const { status, text } = await askEndpoint(app, 'openGameConsole');
  expect(status).toBe(200);
  return (JSON.parse(text) as { websocket: { socket_url: string; token: string } }).websocket;
}

/** Opens an authenticated console stream. */
export async function openStream(app: SharedApp): Promise<TestClient & { token: string }> {
  const { socket_url: url, token } = await bootstrap(app);
  const client = await openClient(url);
  expect(await client.auth(token)).toEqual(['auth success']);
  return { ...client, token };
}
