import type { ServerName } from '#contract/api-keys.ts';
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

/** Creates {@link Servers} from the records of the store. */
export function createServers(records: Store['servers'], providers: ReadonlyMap<string, Provider>): Servers {
  const find = async (server: ServerName, code: ProblemCode) => {
    const fail = (cause: unknown): never => {
      throw new Problem(code, undefined, { cause });
    };
    const record = await records.find(server).catch(fail);
    if (typeof record?.suspendedAt === 'number') {
      throw new Problem('forbidden', `This ${server.startsWith('vps:') ? 'VPS' : 'game server'} is suspended`);
    }
    const provider = record && providers.get(record.provider);
    return provider ? { record, provider } : fail(new Error(`${server} has no record or no provider`));
  };
  return {
    async findGame(server) {
      const { record, provider } = await find(server, 'provider_error');
      if (provider.game) return { record, game: provider.game };
      throw new Problem('provider_error', undefined, { cause: new Error(`${record.provider} runs no game servers`) });
    },
    async findVps(server) {
      const { record, provider } = await find(server, 'server_unavailable');
      if (provider.vps) return { record, vps: provider.vps };
      throw new Problem('server_unavailable', undefined, { cause: new Error(`${record.provider} runs no VPS`) });
    },
    async isCurrent(record) {
      const found = await records.find(record.server).catch(() => record);
      return found?.provider === record.provider && found.ref === record.ref;
    },
  };
}
