import { LRUCache } from 'lru-cache';
import { kindOf } from '#contract/api-keys.ts';
import type { ServerKind, ServerName } from '#contract/api-keys.ts';
import { problems } from '#contract/problem.ts';
import type { Caller } from '../http/handle.ts';
import { reauthorize } from '../keys/authorize.ts';
import type { Authority } from '../keys/authorize.ts';
import { createLru } from '../lru.ts';
import { Problem } from '../problem.ts';
import type { ServerRecord, Store } from '../store/types.ts';
import { withTimeout } from '../timeout.ts';
import { ProviderError } from '../upstream/client.ts';
import { toLogText } from './providers/game-log.ts';
import type { ActionAge, GameProvider, PowerAction, Provider, SendOptions, ServerProvider } from './providers/types.ts';
import type { createServers } from './servers.ts';

type Actor = Authority & Pick<Caller, 'requestId' | 'trace' | 'ip'>;

/** Creates the actions and reads of customers' servers. They throw Problems. */
export function createActions(servers: ReturnType<typeof createServers>, { audit, keyring }: Store, timeoutMs: number) {
  const history = createPowerHistory(audit);
  // Half of the timeout: a waiting action needs time left to run.
  const withLock = createKeyedMutex(timeoutMs / 2);
  const readLatestLog = createReadLatestLog();

  /** Performs an action at most once, audited before and after. An unaudited action is not sent. */
  const perform = async <Kind extends ServerKind>(
    kind: Kind,
    actor: Actor,
    { action, detail }: { readonly action: string; readonly detail: string | null },
    act: (provider: NonNullable<Provider[Kind]>, ref: string, options: SendOptions) => Promise<void>,
    onSent?: () => void,
  ): Promise<void> => {
    const { keyId, server, requestId, ip, trace } = actor;
    // Includes waiting for the lock and reading the record.
    const signal = AbortSignal.timeout(timeoutMs);
    const entry = { actor: null, keyId, action, server, requestId, ip, detail };
    const finish = await audit.begin(entry).catch((cause: unknown) => {
      throw toUnsent('The audit log cannot be written', cause);
    });
    const send = async (): Promise<void> => {
      const { record, provider } = await servers.find(kind, server);
      // Just before the request is sent: key and record may have changed while the action waited.
      const confirm = async (): Promise<void> => {
        await reauthorize(keyring, actor).catch((error: unknown) => {
          throw error instanceof Problem ? error : toUnsent('The API key cannot be read', error);
        });
        await servers.assertUnmoved(record);
        onSent?.();
      };
      const sinceLastAction = async () => (await history.sinceLastAction(server)).sentMs;
      await act(provider, record.ref, { signal, confirm, trace, keyId, sinceLastAction });
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
      await history.follow(server, (onSent) => perform(kindOf(server), caller, { action, detail: null }, act, onSent));
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
      const { ageMs, ...action } = await history.sinceLastAction(server);
      return await provider.state(record.ref, ageMs, action);
    },
    /** Reads the newest log of a game server as plain text; undefined if the provider has no log. */
    async latestLog({ server }: Pick<Caller, 'server'>): Promise<string | undefined> {
      const { record, provider } = await servers.find('game', server);
      return await readLatestLog(record, provider);
    },
  };
}

/** Ignore actions older than this: no provider caches state longer. */
const recentMs = 10 * 60_000;
/** The clocks of two instances may differ by this much. */
const skewMs = 2000;

const sinceEntry = (at = -Infinity): number => Math.max(0, Date.now() - at - skewMs);

/** Tracks the last power action per server; actions by other instances get 2 s of clock skew. */
export function createPowerHistory(audit: Store['audit']) {
  const own = createLru<ServerName, Readonly<Record<'sentAt' | 'endedAt' | 'date', number>>>(10_000);
  return {
    /** Runs a power action, and records when it was sent and its end, unless it had no effect. */
    async follow(server: ServerName, act: (onSent: () => void) => Promise<void>): Promise<void> {
      let sentAt = performance.now();
      const end = await act(() => (sentAt = performance.now())).catch((error: unknown) => ({ error }));
      // A refused action leaves the state as it was.
      const isRefused = end !== undefined && hasNoEffect(toActionProblem(end.error));
      if (!isRefused) own.set(server, { sentAt, endedAt: performance.now(), date: Date.now() });
      if (end) throw end.error;
    },
    /** Returns lower bounds of the times since the last power action; Infinity without a recent action. */
    async sinceLastAction(server: ServerName): Promise<ActionAge & { readonly ageMs: number }> {
      const logged = await audit.lastPowerAction(server, Date.now() - recentMs);
      const last = own.get(server);
      if (last && (logged === undefined || logged.lastAt <= last.date)) {
        const answeredMs = performance.now() - last.endedAt;
        return { ageMs: answeredMs, answeredMs, sentMs: performance.now() - last.sentAt };
      }
      const sentMs = sinceEntry(logged?.requestedAt);
      return { ageMs: sinceEntry(logged?.lastAt), sentMs, answeredMs: sentMs };
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

/** Returns a function that reads the latest log as plain text, cached for 3 s. */
export function createReadLatestLog() {
  type Read = { readonly text?: string | undefined; readonly error?: unknown };
  const reads = new LRUCache<string, Read, () => Promise<string | undefined>>({
    max: 1000,
    // Characters.
    maxSize: 32 * 1024 * 1024,
    sizeCalculation: ({ text = '' }) => 1 + text.length,
    ttl: 3000,
    ttlResolution: 0,
    ignoreFetchAbort: true,
    async fetchMethod(_key, _stale, { context: read }) {
      try {
        const log = await read();
        return { text: log && toLogText(log) };
      } catch (error) {
        // Cached too: a failed read uses the upstream's budget as well.
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

/** Creates the failure of an action that was not sent because our store failed. */
export function toUnsent(detail: string, cause: unknown): ProviderError {
  const { message } = problems.internal_error;
  const failure = new Error(detail, { cause });
  return new ProviderError(message, { code: 'internal_error', outcome: 'refused', cause: failure });
}

/** Returns a handler of errors from before an action is sent: a 5xx gets `Action-Outcome: not_sent`. */
export const failUnsent =
  (detail: string) =>
  (error: unknown): never => {
    throw withActionOutcome(error instanceof Problem ? error : toUnsent(detail, error), '');
  };

/** Converts the error of an action to a Problem. */
export function toActionProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem('internal_error', undefined, { cause: error });
}

/** Returns true if the failed action certainly had no effect. */
export function hasNoEffect(problem: Problem): boolean {
  // An unexpected error may have come after the request was sent.
  return problem instanceof ProviderError ? problem.outcome === 'refused' : problem.code !== 'internal_error';
}

/** Adds Action-Outcome to a 5xx; if the outcome is unknown, a 502 uses the `unknown` message. */
export function withActionOutcome(problem: Problem, unknown: string): Problem {
  const { code, cause, reason, headers } = problem;
  if (problems[code].status < 500) return problem;
  const isKnown = hasNoEffect(problem);
  const message = isKnown || code !== 'provider_error' ? problem.message : unknown;
  const outcome = { 'Action-Outcome': isKnown ? 'not_sent' : 'unknown' };
  return new Problem(code, message, { cause, reason, headers: { ...headers, ...outcome } });
}
