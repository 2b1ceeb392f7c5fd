import { LRUCache } from 'lru-cache';
import { kindOf } from '#contract/api-keys.ts';
import type { ServerKind, ServerName } from '#contract/api-keys.ts';
import type { Caller } from '../http/handle.ts';
import type { Authority, Reauthorize } from '../keys/authorize.ts';
import { Problem } from '../problem.ts';
import type { ServerRecord, Store } from '../store/types.ts';
import { withTimeout } from '../timeout.ts';
import { ProviderError } from '../upstream/client.ts';
import { writeRequested } from './audit.ts';
import { toLogText } from './providers/game-log.ts';
import type {
  GameProvider,
  PowerAction,
  Provider,
  SendOptions,
  ServerProvider,
  StateReport,
} from './providers/types.ts';

/** Finds the provider and the record of a customer's server. */
export type Servers = ReturnType<typeof createServers>;

/** Creates {@link Servers} from the records of the store. */
export function createServers(records: Store['servers'], providers: ReadonlyMap<string, Provider>) {
  return {
    /**
     * Throws 403 if the server is suspended, and `server_unavailable` (VPS) or `provider_error` (game server) if its record
     * cannot be read, or names no provider of this kind.
     */
    async find<Kind extends ServerKind>(kind: Kind, server: ServerName) {
      const record = await findRecord(records, server);
      const provider = providers.get(record.provider);
      const controls = provider?.[kind];
      if (controls) return { record, provider: controls };
      const reason = provider
        ? `${record.provider} runs no ${kind === 'vps' ? 'VPS' : 'game servers'}`
        : `${server} has no provider: ${record.provider} is none`;
      throw new Problem(recordProblemOf(server), undefined, { cause: new Error(reason) });
    },
    /** Whether the record of a server is unchanged; true if it cannot be read. */
    async isCurrent(record: ServerRecord): Promise<boolean> {
      const found = await records.find(record.server).catch(() => record);
      return found !== undefined && isSamePlace(found, record);
    },
  };
}

/** Finds the record of a server; throws as `find` of {@link Servers}. */
export async function findRecord(records: Store['servers'], server: ServerName): Promise<ServerRecord> {
  const code = recordProblemOf(server);
  const record = await records.find(server).catch((cause: unknown) => {
    throw new Problem(code, undefined, { cause });
  });
  if (!record) throw new Problem(code, undefined, { cause: new Error(`${server} has no record`) });
  if (record.suspendedAt === null) return record;
  throw new Problem('forbidden', `This ${kindOf(server) === 'vps' ? 'VPS' : 'game server'} is suspended`, {
    reason: `${server} is suspended since ${new Date(record.suspendedAt).toISOString()}`,
  });
}

const recordProblemOf = (server: ServerName) => (kindOf(server) === 'vps' ? 'server_unavailable' : 'provider_error');

const isSamePlace = (one: ServerRecord, other: ServerRecord): boolean =>
  one.provider === other.provider && one.ref === other.ref;

/** Dependencies of the actions. */
export interface HostingOptions {
  readonly servers: Servers;
  readonly audit: Store['audit'];
  readonly reauthorize: Reauthorize;
  /** The timeout of an action, including the wait for its turn. */
  readonly timeoutMs: number;
  /** Called if the audit entry after an action cannot be written. */
  readonly onAuditFailure: (error: unknown) => void;
}

/** Who acts on a server. */
type Actor = Omit<Authority, 'scope'> & Pick<Caller, 'requestId' | 'trace' | 'ip'>;

/** The maximum length of a console command in the audit log. */
const maxDetailLength = 64;

/** What customers do with their servers. Each action is sent upstream at most once, and audited before and after. */
export type Hosting = ReturnType<typeof createHosting>;

/** Creates {@link Hosting}. Its functions throw Problems. */
export function createHosting({ servers, audit, reauthorize, timeoutMs, onAuditFailure }: HostingOptions) {
  const history = createPowerHistory({ audit });
  // Half of the timeout, so that a waiting action has time left to run.
  const withLock = createKeyedMutex(timeoutMs / 2);
  const readLatestLog = createReadLatestLog();

  /** Runs an action between its audit entries. It is not run if the entry before it cannot be written. */
  const audited = async (
    { keyId, server, requestId, ip }: Actor,
    { action, detail = null }: { readonly action: string; readonly detail?: string | null },
    act: (deadline: AbortSignal) => Promise<void>,
  ): Promise<void> => {
    const entry = { actor: null, keyId, action, server, requestId, ip, detail };
    // It covers the wait for the turn, and reads before the action.
    const deadline = AbortSignal.timeout(timeoutMs);
    const finish = await writeRequested({ audit, onFailure: onAuditFailure }, entry).catch((cause: unknown) => {
      throw toNotSent('The audit log cannot be written', cause);
    });
    try {
      await act(deadline);
      await finish('ok');
    } catch (error) {
      const problem = toProblem(error);
      await finish(isDefinite(problem) ? problem.code : 'unknown');
      throw problem;
    }
  };

  /**
   * Sends an action whose turn has come. The key and then the record of the server are read now, and once more just before
   * the request is sent, since both may change while the action waits.
   */
  const send = async <Kind extends ServerKind>(
    kind: Kind,
    authority: Authority & Actor,
    act: (provider: NonNullable<Provider[Kind]>, ref: string, options: SendOptions) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> => {
    const find = async () => {
      await reauthorize(authority).catch((error: unknown) => {
        throw error instanceof Problem ? error : toNotSent('The API key cannot be read', error);
      });
      return await servers.find(kind, authority.server);
    };
    const { record, provider } = await find();
    const confirm = async (): Promise<void> => {
      if (isSamePlace((await find()).record, record)) return;
      const cause = new Error(`${record.server} has moved while an action waited`);
      throw new Problem(recordProblemOf(record.server), undefined, { cause });
    };
    await act(provider, record.ref, { signal, confirm, trace: authority.trace });
  };

  return {
    /** Sends a power action; those on one server one after the other. */
    async power(caller: Authority & Actor, action: PowerAction): Promise<void> {
      const { server } = caller;
      const act = (provider: ServerProvider, ref: string, options: SendOptions) => provider.power(ref, action, options);
      await history.follow(server, () =>
        audited(caller, { action }, (signal) => withLock(server, () => send(kindOf(server), caller, act, signal))),
      );
    },
    /** Sends a console command, of a request or a stream. */
    async command(caller: Actor, command: string): Promise<void> {
      const detail = Array.from(command).slice(0, maxDetailLength).join('');
      const authority = { ...caller, scope: 'game-console:read_write' } as const;
      await audited(caller, { action: 'command', detail }, (signal) =>
        send('game', authority, (provider, ref, options) => provider.command(ref, command, options), signal),
      );
    },
    /** Reads the power state of a server, and when it was known; never one from before a power action that has ended. */
    async state({ server }: Pick<Caller, 'server'>): Promise<StateReport> {
      const { record, provider } = await servers.find(kindOf(server), server);
      const maxAgeMs = await history.sinceLastAction(server);
      return await provider.state(record.ref, maxAgeMs).catch(throwProblem);
    },
    /** Reads the newest log of a game server without ANSI codes; undefined if its provider has none. */
    async latestLog({ server }: Pick<Caller, 'server'>): Promise<string | undefined> {
      const { record, provider } = await servers.find('game', server);
      return await readLatestLog(record, provider).catch(throwProblem);
    },
  };
}

/** The problem of an action that is not sent, since the store failed. */
function toNotSent(message: string, cause: unknown): Problem {
  return new Problem('internal_error', undefined, { cause: new ProviderError(message, { outcome: 'refused', cause }) });
}

/** Whether an action that failed certainly had no effect. An unexpected error may have come after it was sent. */
export function isDefinite({ code, cause }: Problem): boolean {
  return cause instanceof ProviderError ? cause.outcome === 'refused' : code !== 'internal_error';
}

function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof ProviderError) return new Problem(error.code, error.message, { cause: error });
  return new Problem('internal_error', undefined, { cause: error });
}

function throwProblem(error: unknown): never {
  throw toProblem(error);
}

/**
 * Creates a mutex for each name, in first-in, first-out order. It throws a {@link ProviderError}, and does not start the
 * work, after the maximum wait.
 */
function createKeyedMutex(waitMs: number) {
  const last = new Map<string, Promise<unknown>>();
  return async <Value>(name: string, work: () => Promise<Value>): Promise<Value> => {
    const before = last.get(name);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const tail = (before ?? Promise.resolve()).then(() => released);
    last.set(name, tail);
    void tail.then(() => last.get(name) === tail && last.delete(name));
    try {
      if (before) await withTimeout(before, waitMs, refuseLate);
      return await work();
    } finally {
      release();
    }
  };
}

function refuseLate(): never {
  throw new ProviderError('Another action on this server is still running', { outcome: 'refused' });
}

/** For how long an action matters. No provider reports what it knew longer ago than this. */
const recentMs = 10 * 60_000;

/** How much the clocks of instances may differ. */
const skewMs = 2000;

/** The maximum number of servers whose actions are remembered; for the others the audit log decides. */
const maxServers = 10_000;

/** Options of the history. */
export interface PowerHistoryOptions {
  readonly audit: Store['audit'];
  /** Milliseconds since 1970, as in the audit log. */
  readonly now?: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic?: () => number;
}

/**
 * Creates what knows when the last power action on a server ended, on any instance: a state from before must not be
 * reported. An action of this instance is timed exactly. One of another instance is found in the audit log, where it counts
 * for some seconds longer, since clocks differ.
 */
export function createPowerHistory({
  audit,
  now = Date.now,
  monotonic = () => performance.now(),
}: PowerHistoryOptions) {
  const own = new LRUCache<ServerName, { readonly endedAt: number; readonly date: number }>({ max: maxServers });
  return {
    /** Runs a power action, and notes its end, whatever its outcome: it may have taken effect. */
    async follow(server: ServerName, act: () => Promise<void>): Promise<void> {
      try {
        await act();
      } finally {
        own.set(server, { endedAt: monotonic(), date: now() });
      }
    },
    /** How many milliseconds ago the last power action ended, at least; Infinity if none is recent. */
    async sinceLastAction(server: ServerName): Promise<number> {
      const loggedAt = await audit.lastPowerAction(server, now() - recentMs);
      const last = own.get(server);
      if (last && (loggedAt === undefined || loggedAt <= last.date)) return monotonic() - last.endedAt;
      return loggedAt === undefined ? Number.POSITIVE_INFINITY : Math.max(0, now() - loggedAt - skewMs);
    },
  };
}

/** How long a read is shared: a failed one too, since it uses the upstream's budget as well. */
const shareMs = 3000;

/** The maximum number and length of the logs in memory. */
const maxLogs = 1000;
const maxCharacters = 32 * 1024 * 1024;

type LogRead = { readonly text: string | undefined } | { readonly error: unknown };

/**
 * Creates a reader of the latest logs as plain text; undefined if the provider has none. Concurrent readers of a log share
 * one read, and its result is shared for 3 s. It throws a {@link ProviderError}.
 */
export function createReadLatestLog(now: () => number = () => performance.now()) {
  const reads = new LRUCache<string, LogRead, { readonly record: ServerRecord; readonly game: GameProvider }>({
    max: maxLogs,
    maxSize: maxCharacters,
    sizeCalculation: (read) => 1 + (('text' in read && read.text?.length) || 0),
    ttl: shareMs,
    ttlResolution: 0,
    perf: { now },
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { context: { record, game } }): Promise<LogRead> => {
      try {
        const log = await game.latestLog(record.ref, record.logFile);
        return { text: log === undefined ? undefined : toLogText(log) };
      } catch (error) {
        return { error };
      }
    },
  });
  return async (record: ServerRecord, game: GameProvider): Promise<string | undefined> => {
    const key = JSON.stringify([record.provider, record.ref, record.logFile]);
    const read = (await reads.fetch(key, { context: { record, game } }))!;
    if ('error' in read) throw read.error;
    return read.text;
  };
}
