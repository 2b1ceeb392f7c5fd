import { z } from 'zod';
import { ServerName } from '#contract/api-keys.ts';
import type { ServerKind } from '#contract/api-keys.ts';
import type { Query } from './database.ts';
import { Time, openTable } from './table.ts';

const Server = z.object({
  server: ServerName,
  /** A name of PROVIDERS_FILE. */
  provider: z.string().min(1),
  /** The provider's identifier of the server. */
  ref: z.string().min(1),
  /** The path of the newest log of a game server; null for the provider's default. */
  logFile: z.string().min(1).nullable(),
  /** Since when its keys are refused, for instance because it is not paid for. */
  suspendedAt: Time.nullable(),
});

/** The provider of a customer's server, and the server's identifier there. */
export type ServerRecord = Readonly<z.output<typeof Server>>;

/** The customers' servers, over an open database. */
export function createServers(query: Query) {
  const servers = openTable(query, 'hosting_servers', ['server'], Server);
  return {
    /** Adds or replaces a server. A suspended one stays suspended. */
    async put({ server, provider, ref, logFile }: Omit<ServerRecord, 'suspendedAt'>): Promise<void> {
      await query(
        `INSERT INTO hosting_servers (server, provider, ref, log_file) VALUES ($1, $2, $3, $4)
          ON CONFLICT (server) DO UPDATE
          SET provider = excluded.provider, ref = excluded.ref, log_file = excluded.log_file`,
        [server, provider, ref, logFile],
      );
    },
    async find(server: ServerName): Promise<ServerRecord | undefined> {
      return (await servers.select('WHERE server = $1', [server]))[0];
    },
    /** All servers, or those of a kind, ordered by name. */
    list: (kind?: ServerKind): Promise<ServerRecord[]> =>
      servers.select('WHERE server LIKE $1 ORDER BY server', [kind === undefined ? '%' : `${kind}:%`]),
    /** Suspends a server; false if there is none, true even if it was already suspended. */
    async suspend(server: ServerName, at: number): Promise<boolean> {
      const rows = await query(
        'UPDATE hosting_servers SET suspended_at = COALESCE(suspended_at, $2) WHERE server = $1 RETURNING server',
        [server, at],
      );
      return rows.length > 0;
    },
    /** Ends the suspension of a server; false if there is no such server. */
    async resume(server: ServerName): Promise<boolean> {
      const rows = await query('UPDATE hosting_servers SET suspended_at = NULL WHERE server = $1 RETURNING server', [
        server,
      ]);
      return rows.length > 0;
    },
    async remove(server: ServerName): Promise<boolean> {
      return (await query('DELETE FROM hosting_servers WHERE server = $1 RETURNING server', [server])).length > 0;
    },
  };
}
