import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { runHere } from '../commands/run-command.ts';
import { openClient } from '../helpers/console-client.ts';
import type { TestClient } from '../helpers/console-client.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { readTables } from '../helpers/postgres.ts';
import { askJson } from '../server/ask.ts';
import { serveHosting } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';

/** Starts two instances on one store (SQLite or PostgreSQL), and issues a customer's key. */
export async function createInstances(databaseUrl?: string) {
  const { app, world } = await serveHosting({}, { databaseUrl });
  const second = await serveHosting({}, { world });
  return {
    world,
    apps: [app, { ...second.app, key: app.key }] as const,
    keyId: app.key.split('_')[1]!,
    /** Runs an operator's command; returns its output. */
    run: async (...args: string[]) => {
      const { status, stdout, stderr } = await runHere(args, world.settings);
      expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
      return stdout.trim();
    },
    /** Returns every text of every table. */
    readDatabase: async () => {
      const rows = databaseUrl === undefined ? readSqlite(world) : await readTables(databaseUrl);
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

/** A server and a customer's key. */
type Keyed = Pick<SharedApp, 'port' | 'key'>;

/** Fetches the address of the console stream and a token. */
export async function bootstrap(app: Keyed): Promise<{ socket_url: string; token: string }> {
  type Bootstrap = { websocket: { socket_url: string; token: string } };
  const target = '/v1/hosting/game/console/mine/websocket';
  const { status, json } = await askJson<Bootstrap>(app, target, { key: app.key });
  expect(status).toBe(200);
  return json.websocket;
}

/** Opens an authenticated console stream. */
export async function openStream(app: Keyed): Promise<TestClient & { token: string }> {
  const { socket_url: url, token } = await bootstrap(app);
  const client = await openClient(url);
  expect(await client.auth(token)).toEqual(['auth success']);
  return { ...client, token };
}
