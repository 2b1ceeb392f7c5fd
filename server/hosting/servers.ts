import type { ServerKind, ServerName } from '#contract/api-keys.ts';
import type { ProblemCode } from '#contract/problem.ts';
import { Problem } from '../problem.ts';
import type { ServerRecord, Store } from '../store/types.ts';
import type { GameProvider, Provider, VpsProvider } from './providers/types.ts';

/** Finds the provider and the record of a customer's server. */
export interface Servers {
  /** Throws `provider_error` if the record cannot be read, or names no provider of game servers; 403 if suspended. */
  findGame(server: ServerName): Promise<{ readonly record: ServerRecord; readonly game: GameProvider }>;
  /** Throws `server_unavailable` if the record cannot be read, or names no provider of VPS; 403 if suspended. */
  findVps(server: ServerName): Promise<{ readonly record: ServerRecord; readonly vps: VpsProvider }>;
  /** Whether the record of a server is unchanged; true if it cannot be read. */
  isCurrent(record: ServerRecord): Promise<boolean>;
}

/** Finds the record of a server; throws 403 if it is suspended, and a problem with this code if there is none. */
export async function findRecord(
  records: Store['servers'],
  server: ServerName,
  code: ProblemCode,
): Promise<ServerRecord> {
  const record = await records.find(server).catch((cause: unknown) => {
    throw new Problem(code, undefined, { cause });
  });
  if (!record) throw new Problem(code, undefined, { cause: new Error(`${server} has no record`) });
  if (record.suspendedAt === null) return record;
  throw new Problem('forbidden', `This ${server.startsWith('vps:') ? 'VPS' : 'game server'} is suspended`, {
    reason: `${server} is suspended since ${new Date(record.suspendedAt).toISOString()}`,
  });
}

/** The error for a server whose record cannot be used. */
export function recordProblemOf(kind: ServerKind): ProblemCode {
  return kind === 'vps' ? 'server_unavailable' : 'provider_error';
}

/** Creates {@link Servers} from the records of the store. */
export function createServers(records: Store['servers'], providers: ReadonlyMap<string, Provider>): Servers {
  const find = async (server: ServerName, code: ProblemCode) => {
    const record = await findRecord(records, server, code);
    const provider = providers.get(record.provider);
    if (provider) return { record, provider };
    throw new Problem(code, undefined, { cause: new Error(`${server} has no provider: ${record.provider} is none`) });
  };
  return {
    async findGame(server) {
      const code = recordProblemOf('game');
      const { record, provider } = await find(server, code);
      if (provider.game) return { record, game: provider.game };
      throw new Problem(code, undefined, { cause: new Error(`${record.provider} runs no game servers`) });
    },
    async findVps(server) {
      const code = recordProblemOf('vps');
      const { record, provider } = await find(server, code);
      if (provider.vps) return { record, vps: provider.vps };
      throw new Problem(code, undefined, { cause: new Error(`${record.provider} runs no VPS`) });
    },
    async isCurrent(record) {
      const found = await records.find(record.server).catch(() => record);
      return found?.provider === record.provider && found.ref === record.ref;
    },
  };
}
