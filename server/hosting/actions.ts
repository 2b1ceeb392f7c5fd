import { LRUCache } from 'lru-cache';
import { kindOf } from '#contract/api-keys.ts';
import type { ServerKind } from '#contract/api-keys.ts';
import type { Caller } from '../http/handle.ts';
import { reauthorize } from '../keys/authorize.ts';
import type { Authority } from '../keys/authorize.ts';
import { Problem } from '../problem.ts';
import type { ServerRecord, Store } from '../store/types.ts';
import { withTimeout } from '../timeout.ts';
import { ProviderError } from '../upstream/client.ts';
import { hasNoEffect, toActionProblem, toUnsent } from './outcome.ts';
import { createPowerHistory } from './power-history.ts';
import { toLogText } from './providers/game-log.ts';
import type { GameProvider, PowerAction, Provider, SendOptions, ServerProvider } from './providers/types.ts';
import type { ServerLookup } from './servers.ts';

type Actor = Authority & Pick<Caller, 'requestId' | 'trace' | 'ip'>;

/** Creates the actions and reads of customers' servers. They throw Problems. */
export function createActions(options: {
  readonly servers: ServerLookup;
  readonly store: Pick<Store, 'audit' | 'apiKeys'>;
  readonly timeoutMs: number;
  readonly onAuditFailure: (error: unknown) => void;
}) {
  const { servers, store, timeoutMs, onAuditFailure } = options;
  const { audit, apiKeys } = store;
  const history = createPowerHistory({ audit });
  // Half of the timeout: a waiting action needs time left to run.
  const withLock = createKeyedMutex(timeoutMs / 2);
  const readLatestLog = createReadLatestLog();

  /** Performs an action at most once, audited before and after. An unaudited action is not sent. */
  const perform = async <Kind extends ServerKind>(
    kind: Kind,
    actor: Actor,
    { action, detail }: { readonly action: string; readonly detail: string | null },
    act: (provider: NonNullable<Provider[Kind]>, ref: string, options: SendOptions) => Promise<void>,
  ): Promise<void> => {
    const { keyId, server, requestId, ip, trace } = actor;
    // Includes waiting for the lock and reading the record.
    const signal = AbortSignal.timeout(timeoutMs);
    const entry = { actor: null, keyId, action, server, requestId, ip, detail };
    const finish = await audit.begin(entry, onAuditFailure).catch((cause: unknown) => {
      throw toUnsent('The audit log cannot be written', cause);
    });
    const send = async (): Promise<void> => {
      const { record, provider } = await servers.find(kind, server);
      // Just before the request is sent: key and record may have changed while the action waited.
      const confirm = async (): Promise<void> => {
        await reauthorize(apiKeys, actor).catch((error: unknown) => {
          throw error instanceof Problem ? error : toUnsent('The API key cannot be read', error);
        });
        await servers.assertUnmoved(record);
      };
      await act(provider, record.ref, { signal, confirm, trace });
    };
    try {
      await (action === 'command' ? send() : withLock(server, send));
      await finish('ok');
    } catch (error) {
      const problem = toActionProblem(error);
      await finish(hasNoEffect(problem) ? problem.code : 'unknown');
      throw problem;
    }
  };

  return {
    /** Sends a power action. Actions on one server run one after the other. */
    async power(caller: Actor, action: PowerAction): Promise<void> {
      const act = (provider: ServerProvider, ref: string, send: SendOptions) => provider.power(ref, action, send);
      const { server } = caller;
      await history.follow(server, () => perform(kindOf(server), caller, { action, detail: null }, act));
    },
    /** Sends a console command from a request or a stream. */
    async command(caller: Omit<Actor, 'scope'>, command: string): Promise<void> {
      const actor = { ...caller, scope: 'game-console:read_write' } as const;
      const detail = Array.from(command).slice(0, 64).join('');
      await perform('game', actor, { action: 'command', detail }, (provider, ref, send) =>
        provider.command(ref, command, send),
      );
    },
    /** Reads the power state of a server; never a state from before a finished action. */
    async state({ server }: Pick<Caller, 'server'>) {
      const { record, provider } = await servers.find(kindOf(server), server);
      const maxAgeMs = await history.sinceLastAction(server);
      return await provider.state(record.ref, maxAgeMs);
    },
    /** Reads the newest log of a game server as plain text; undefined if the provider has no log. */
    async latestLog({ server }: Pick<Caller, 'server'>): Promise<string | undefined> {
      const { record, provider } = await servers.find('game', server);
      return await readLatestLog(record, provider);
    },
  };
}

/** Creates a FIFO mutex for each name. Waiters throw a {@link ProviderError} after the maximum wait. */
function createKeyedMutex(waitMs: number) {
  const last = new Map<string, Promise<unknown>>();
  return async <Value>(name: string, work: () => Promise<Value>): Promise<Value> => {
    const before = last.get(name) ?? Promise.resolve();
    const turn = withTimeout(before, waitMs, () => {
      throw new ProviderError('Another action on this server is still running', { outcome: 'refused' });
    }).then(work);
    const tail = Promise.allSettled([before, turn]).finally(() => {
      if (last.get(name) === tail) last.delete(name);
    });
    last.set(name, tail);
    return await turn;
  };
}

/** Failed reads are cached too: they use the upstream's budget as well. */
const logCacheMs = 3000;

/** Returns a function that reads the latest log as plain text, cached for 3 s. */
export function createReadLatestLog(now: () => number = () => performance.now()) {
  type Read = { readonly text?: string | undefined; readonly error?: unknown };
  const reads = new LRUCache<string, Read, () => Promise<string | undefined>>({
    max: 1000,
    // Characters.
    maxSize: 32 * 1024 * 1024,
    sizeCalculation: ({ text = '' }) => 1 + text.length,
    ttl: logCacheMs,
    ttlResolution: 0,
    perf: { now },
    ignoreFetchAbort: true,
    async fetchMethod(_key, _stale, { context: read }) {
      try {
        const log = await read();
        return { text: log && toLogText(log) };
      } catch (error) {
        return { error };
      }
    },
  });
  return async ({ provider, ref, logFile }: ServerRecord, game: GameProvider): Promise<string | undefined> => {
    const context = () => game.latestLog(ref, logFile);
    const read = (await reads.fetch(JSON.stringify([provider, ref, logFile]), { context }))!;
    if ('error' in read) throw read.error;
    return read.text;
  };
}
