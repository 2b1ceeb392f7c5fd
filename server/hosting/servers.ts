import { kindOf } from '#contract/api-keys.ts';
import type { ServerKind, ServerName } from '#contract/api-keys.ts';
import { Problem } from '../problem.ts';
import type { ServerRecord, Store } from '../store/types.ts';
import type { ConsoleEvents, ConsoleSource, Provider } from './providers/types.ts';

/** The interval at which the record of an open console is read again. */
const recordCheckMs = 5000;

/** Looks up a customer's server and its provider. */
export function createServers(records: Store['servers'], providers: ReadonlyMap<string, Provider>) {
  /** Finds the record and the provider of a server. Throws as {@link findRecord}, also without a provider. */
  const find = async <Kind extends ServerKind>(kind: Kind, server: ServerName) => {
    const record = await findRecord(records, server);
    const name = record.provider;
    const provider = providers.get(name);
    if (!provider) throw toUnavailable(server, `PROVIDERS_FILE has no provider ${name} for ${server}`);
    const controls = provider[kind];
    if (controls) return { record, provider: controls };
    throw toUnavailable(server, `the provider ${name} runs no ${kind === 'vps' ? 'VPS' : 'game servers'}`);
  };
  return {
    find,
    /** Reads a record again. Throws as {@link findRecord}, also if the server has moved. */
    async assertUnmoved(record: ServerRecord): Promise<void> {
      if (isSameTarget(await findRecord(records, record.server), record)) return;
      throw toUnavailable(record.server, `${record.server} has moved while an action waited`);
    },
    findOpen: (names: readonly ServerName[]) => records.findOpen(names),
    /** Opens a console, and ends it when the record of its server changes. */
    openConsole: async (server: ServerName, events: ConsoleEvents, isResumed = false): Promise<ConsoleSource> => {
      const { record, provider } = await find('game', server);
      const check = async (): Promise<void> => {
        // A former customer must not see the console.
        const found = await records.find(server).catch(() => record);
        if (found && isSameTarget(found, record)) return;
        source.close();
        ended('the server has moved');
      };
      const timer = setInterval(() => void check(), recordCheckMs);
      const ended: ConsoleEvents['ended'] = (...why) => {
        clearInterval(timer);
        events.ended(...why);
      };
      const source = provider.openConsole(record.ref, { ...events, ended }, isResumed);
      return {
        ...source,
        close() {
          clearInterval(timer);
          source.close();
        },
      };
    },
  };
}

/** Reads a record. Throws 403 if the server is suspended, {@link toUnavailable} if there is no record. */
export async function findRecord(records: Store['servers'], server: ServerName): Promise<ServerRecord> {
  const record = await records.find(server).catch((cause: unknown) => {
    throw toUnavailable(server, cause);
  });
  if (!record) throw toUnavailable(server, `${server} has no record`);
  if (record.suspendedAt === null) return record;
  throw new Problem('forbidden', `This ${kindOf(server) === 'vps' ? 'VPS' : 'game server'} is suspended`, {
    reason: `${server} has been suspended since ${new Date(record.suspendedAt).toISOString()}`,
  });
}

/** Creates `server_unavailable` for a VPS, `provider_error` for a game server. */
function toUnavailable(server: ServerName, reason: unknown): Problem {
  const cause = typeof reason === 'string' ? new Error(reason) : reason;
  return new Problem(kindOf(server) === 'vps' ? 'server_unavailable' : 'provider_error', undefined, { cause });
}

const isSameTarget = (one: ServerRecord, other: ServerRecord): boolean =>
  one.provider === other.provider && one.ref === other.ref;
