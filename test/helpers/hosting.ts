import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import { scopes } from '#contract/api-keys.ts';
import { createSecret } from '../../server/keys/authorize.ts';
import { openStore } from '../../server/store/index.ts';
import type { ApiKeyRecord, AuditEntry } from '../../server/store/types.ts';
import { createHetznerUpstream, hetznerToken } from './upstream-hetzner.ts';
import { createPanelUpstream, panelKeys } from './upstream-panel.ts';
import type { PanelOptions } from './upstream-panel.ts';

/** Customers' servers, API keys, and stand-ins for the panel and the cloud. */
export type HostingWorld = Awaited<ReturnType<typeof createHostingWorld>>;

/** Servers of the first customer; the second customer's are named `theirs`. */
export const ownServers = ['game:mine', 'vps:mine'] as const;

/** Starts stand-ins for a panel and a cloud with one server each, and fills a store with servers of two customers. */
export async function createHostingWorld(
  folder: string,
  { onEnd = onTestFinished, databaseUrl, ...panelOptions }: PanelOptions & { databaseUrl?: string | undefined } = {},
) {
  const panel = await createPanelUpstream({ isSteady: true, onEnd, ...panelOptions });
  panel.files.set('/logs/latest.log', '[12:00:00] Server started\n');
  const hetzner = await createHetznerUpstream({ onEnd });
  const providersFile = join(folder, 'providers.yaml');
  writeFileSync(
    providersFile,
    [
      'providers:',
      `  panel: { type: pterodactyl, url: "${panel.url}", token: "${panelKeys.write}", read_only_token: "${panelKeys.read}" }`,
      `  cloud: { type: hetzner, url: "${hetzner.url}/v1", token: "${hetznerToken}" }`,
      '',
    ].join('\n'),
  );

  const dataDir = join(folder, 'data');
  const store = await openStore({ DATA_DIR: dataDir, DATABASE_URL: databaseUrl });
  onEnd(() => store.close());
  for (const id of ['mine', 'theirs']) {
    const record = { logFile: null, shared: 'yes' } as const;
    await store.servers.put({ server: `game:${id}`, provider: 'panel', ref: panel.wings.uuid, ...record });
    await store.servers.put({ server: `vps:${id}`, provider: 'cloud', ref: '42', ...record });
  }
  const file = join(dataDir, 'hosting.sqlite');
  const change = (sql: string): void => {
    using database = new DatabaseSync(file);
    database.exec(sql);
  };
  return {
    panel,
    hetzner,
    store,
    /** Runs SQL directly in the SQLite file. */
    change,
    /** Takes a snapshot of the SQLite file and the stand-ins; the returned function restores it. */
    save: () => {
      change(`VACUUM INTO '${folder}/saved.sqlite'`);
      return () => {
        restoreTables(file, join(folder, 'saved.sqlite'));
        for (const upstream of [panel, hetzner]) upstream.forget();
      };
    },
    /** Settings that connect a server to this world. */
    settings: {
      DATA_DIR: dataDir,
      PROVIDERS_FILE: providersFile,
      POWER_RATELIMIT_RPS: '100000',
      POWER_RATELIMIT_BURST: '100000',
      READ_RATELIMIT_RPS: '100000',
      READ_RATELIMIT_BURST: '100000',
      ...(databaseUrl && { DATABASE_URL: databaseUrl }),
    } as Record<string, string>,
    /** Creates an API key, by default for all servers of the first customer, with all scopes. */
    issueKey: async (fields?: Partial<ApiKeyRecord>) => {
      const rights = { servers: ownServers, scopes, widenedBy: [], managesKeys: false };
      const { record, text } = createSecret('hk', { label: 'A customer', ...rights, expiresAt: null });
      await store.apiKeys.create({ ...record, ...fields });
      return text;
    },
    /** Writes an accepted action of a key to the audit log, with the request id `mine` used by `requestOf`. */
    addAction: async (key: string, fields?: Partial<AuditEntry>) => {
      // Old enough that reads of a state do not wait for it: some tests stop the clock.
      const [at, keyId] = [Date.now() - 15 * 60_000, key.split('_')[1]!];
      const action = { actionId: randomUUID(), action: 'start', server: 'game:mine', requestId: 'mine' } as const;
      const entry = { at, ...action, actor: null, keyId, ip: '127.0.0.1', detail: null, ...fields };
      await store.audit.append({ ...entry, phase: 'requested', outcome: null, ms: null });
      await store.audit.append({ ...entry, at: entry.at + 412, phase: 'finished', outcome: 'ok', ms: 412 });
    },
  };
}

/** Replaces the tables of a SQLite file in use with those of another file. */
function restoreTables(file: string, saved: string): void {
  using database = new DatabaseSync(file);
  const schemaOf = (name: string) =>
    database.prepare(`SELECT type, name, sql FROM ${name}.sqlite_schema WHERE sql NOTNULL AND name NOT LIKE 'sqlite%'`);
  database.exec(`ATTACH '${saved}' AS saved; BEGIN IMMEDIATE`);
  for (const { type, name } of schemaOf('main').all())
    if (type === 'table') database.exec(`DROP TABLE "${String(name)}"`);
  for (const { type, name, sql } of schemaOf('saved').all()) {
    database.exec(String(sql));
    if (type === 'table') database.exec(`INSERT INTO main."${String(name)}" SELECT * FROM saved."${String(name)}"`);
  }
  database.exec('COMMIT');
}
