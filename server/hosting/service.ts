import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { kindOf } from '#contract/api-keys.ts';
import type { ServerKind, ServerName } from '#contract/api-keys.ts';
import { messageOfUnknown } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { problems, renderProblem } from '#contract/problem.ts';
import type { Environment } from '#common/environment.ts';
import type { Caller, JsonReply } from '../http/handle.ts';
import { createCheckAccess, createReauthorize } from '../keys/authorize.ts';
import type { Authority } from '../keys/authorize.ts';
import type { Base, Lifecycle } from '../lifecycle.ts';
import { Problem } from '../problem.ts';
import { prepareFolder } from '../settings.ts';
import type { IdempotentAnswer, ServerRecord, Store } from '../store/types.ts';
import { withTimeout } from '../timeout.ts';
import type { CreateBucket, TokenBucket } from '../token-bucket.ts';
import { ProviderError } from '../upstream/client.ts';
import { createPoller } from '../upstream/poller.ts';
import { createActivity } from './audit.ts';
import { createRelay, openConsoleSource } from './console/relay.ts';
import { createStreamTokens } from './console/session.ts';
import { toLogText } from './providers/game-log.ts';
import type { GameProvider, PowerAction, Provider, SendOptions, ServerProvider } from './providers/types.ts';

interface HostingSettings {
  readonly PROVIDERS_FILE?: string | undefined;
  readonly DATA_DIR: string;
  readonly UPSTREAM_TIMEOUT_SECONDS: number;
  readonly CONSOLE_TOKEN_TTL_SECONDS: number;
  readonly AUDIT_RETENTION_DAYS?: number | undefined;
  readonly PUBLIC_URL?: string | undefined;
}

interface HostingBase extends Base<HostingSettings> {
  /** The environment variables that PROVIDERS_FILE may refer to. */
  readonly environment: Environment;
  readonly demo: boolean;
  readonly lifecycle: Lifecycle;
  readonly store: Store;
  /** The limit on the actions of each API key, for the commands of streams. */
  readonly limits: { readonly actions: TokenBucket };
  readonly createBucket: CreateBucket;
  /** Creates what logs that the outcome of an action is lost. */
  readonly reportLoss: (message: string) => (error: unknown) => void;
  /** The URL of this server, once it listens. */
  readonly ownUrl: () => string;
}

/** How long a request may wait for the store, in addition to the timeout of its action. */
const storeMs = 30_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Opens the hosting controls, closed with the server. Throws a ProvidersError if PROVIDERS_FILE is invalid. */
export async function openHosting(base: HostingBase) {
  const { env, opened, lifecycle, store, limits, report, ownUrl } = base;
  const auditDays = env.AUDIT_RETENTION_DAYS;
  const providers = await openProviders(base);
  const servers = createServers(store.servers, providers);
  const hosting = createHosting(servers, base);
  const tokens = createStreamTokens({ store: store.streamTokens, ttlSeconds: env.CONSOLE_TOKEN_TTL_SECONDS });
  const relay = createRelay({
    tokens,
    openSource: (...args) => openConsoleSource(servers, ...args),
    async sendCommand({ command, ...caller }) {
      if (!(await limits.actions.consume(caller.keyId)).allowed) throw new Problem('rate_limited');
      await lifecycle.finish(() => hosting.command(caller, command));
    },
    checkAccess: createCheckAccess(store),
    onFailure: (message, error) => report(message)(error),
  });
  const maxDurationMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000 + storeMs;
  const retention = createPoller({
    async read() {
      await store.idempotency.purge(Date.now() - dayMs);
      // An expired token is still recognised for an hour, so that its client learns why it is refused.
      await store.streamTokens.purge(Date.now() - hourMs);
      if (auditDays !== undefined) await store.audit.purge(Date.now() - auditDays * dayMs);
    },
    onFailure: report('old records of the store could not be removed'),
    everyMs: () => hourMs,
    retryMs: 60_000,
  });
  opened.defer(async () => {
    relay.close();
    await retention.stop();
  });
  return {
    providers,
    relay,
    routes: {
      hosting: { ...hosting, servers, tokens, relay, publicUrl: (): string => env.PUBLIC_URL ?? ownUrl() },
      activity: createActivity(store.audit, maxDurationMs),
      runOnce: createRunOnce(base, maxDurationMs),
      lifecycle,
    },
    /** Starts to remove old records of the store, now and every hour. */
    start: () => void retention.start(),
    /** Adds the demo servers and their key; returns the text of the key at the start that creates it. */
    async addDemo(): Promise<string | undefined> {
      const { ensureDemo } = await import('./demo.ts');
      return await ensureDemo(store, report('the end of a change could not be written to the audit log'));
    },
    /** Makes the providers end what would delay the stop. */
    drain(): void {
      for (const provider of providers.values()) provider.drain?.();
    },
  };
}

/** Opens the providers; their code is loaded only if there are any, so that a server without them starts faster. */
async function openProviders(base: HostingBase): Promise<ReadonlyMap<string, Provider>> {
  const { env, environment, demo, log, opened, createBucket } = base;
  const { PROVIDERS_FILE: file, DATA_DIR: dataDir } = env;
  if (file === undefined && !demo) return new Map();
  const { createProviders, loadProviders } = await import('./providers.ts');
  const config = {
    ...(file !== undefined && loadProviders(file, environment)),
    ...(demo && (await import('./demo.ts')).demoProviders(environment)),
  };
  if (Object.values(config).some(({ type }) => type === 'local')) prepareFolder('DATA_DIR', dataDir, 0o700);
  const timeoutMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000;
  const providers = createProviders(config, { dataDir, log, timeoutMs, createBucket });
  opened.defer(async () => void (await Promise.all([...providers.values()].map((provider) => provider.close()))));
  return providers;
}

/** Creates what finds the provider and the record of a customer's server. */
export function createServers(records: Store['servers'], providers: ReadonlyMap<string, Provider>) {
  return {
    /** Throws 403 if it is suspended, `server_unavailable` (VPS) or `provider_error` (game) if it leads nowhere. */
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
    findOpen: (names: readonly ServerName[]) => records.findOpen(names),
    /** Whether the record of a server is unchanged; true if it cannot be read. */
    async isCurrent(record: ServerRecord): Promise<boolean> {
      const found = await records.find(record.server).catch(() => record);
      return found !== undefined && isSamePlace(found, record);
    },
  };
}

/** Finds the record of a server; throws as `find` of {@link createServers}. */
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

type Actor = Authority & Pick<Caller, 'requestId' | 'trace' | 'ip'>;

/** Creates what customers do with their servers: sent at most once, audited before and after. Throws Problems. */
function createHosting(
  servers: ReturnType<typeof createServers>,
  { env, store: { audit, apiKeys }, reportLoss }: HostingBase,
) {
  const timeoutMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000;
  const onAuditFailure = reportLoss('the end of an action could not be written to the audit log');
  const reauthorize = createReauthorize(apiKeys);
  const history = createPowerHistory({ audit });
  // Half of the timeout, so that a waiting action has time left to run.
  const withLock = createKeyedMutex(timeoutMs / 2);
  const readLatestLog = createReadLatestLog();

  /** Performs an action between its audit entries, but not if the one before it cannot be written. */
  const perform = async <Kind extends ServerKind>(
    kind: Kind,
    actor: Actor,
    { action, detail }: { readonly action: string; readonly detail: string | null },
    act: (provider: NonNullable<Provider[Kind]>, ref: string, options: SendOptions) => Promise<void>,
  ): Promise<void> => {
    const { keyId, server, requestId, ip, trace } = actor;
    // It covers the wait for the turn, and reads before the action.
    const signal = AbortSignal.timeout(timeoutMs);
    const entry = { actor: null, keyId, action, server, requestId, ip, detail };
    const finish = await audit.begin(entry, onAuditFailure).catch((cause: unknown) => {
      throw toNotSent('The audit log cannot be written', cause);
    });
    const find = async () => {
      await reauthorize(actor).catch((error: unknown) => {
        throw error instanceof Problem ? error : toNotSent('The API key cannot be read', error);
      });
      return await servers.find(kind, server);
    };
    /** Key and record are read now, and again just before it is sent: both may change while it waits. */
    const send = async (): Promise<void> => {
      const { record, provider } = await find();
      const confirm = async (): Promise<void> => {
        if (isSamePlace((await find()).record, record)) return;
        const cause = new Error(`${server} has moved while an action waited`);
        throw new Problem(recordProblemOf(server), undefined, { cause });
      };
      await act(provider, record.ref, { signal, confirm, trace });
    };
    try {
      await (action === 'command' ? send() : withLock(server, send));
      await finish('ok');
    } catch (error) {
      const problem = toProblem(error);
      await finish(isDefinite(problem) ? problem.code : 'unknown');
      throw problem;
    }
  };

  return {
    /** Sends a power action; those on one server one after the other. */
    async power(caller: Actor, action: PowerAction): Promise<void> {
      const act = (provider: ServerProvider, ref: string, options: SendOptions) => provider.power(ref, action, options);
      const { server } = caller;
      await history.follow(server, () => perform(kindOf(server), caller, { action, detail: null }, act));
    },
    /** Sends a console command, of a request or a stream. */
    async command(caller: Omit<Actor, 'scope'>, command: string): Promise<void> {
      const actor = { ...caller, scope: 'game-console:read_write' } as const;
      const detail = Array.from(command).slice(0, 64).join('');
      await perform('game', actor, { action: 'command', detail }, (provider, ref, options) =>
        provider.command(ref, command, options),
      );
    },
    /** Reads the power state of a server, and when it was known; never one from before an action that has ended. */
    async state({ server }: Pick<Caller, 'server'>) {
      const { record, provider } = await servers.find(kindOf(server), server);
      const maxAgeMs = await history.sinceLastAction(server);
      return await provider.state(record.ref, maxAgeMs);
    },
    /** Reads the newest log of a game server without ANSI codes; undefined if its provider has none. */
    async latestLog({ server }: Pick<Caller, 'server'>): Promise<string | undefined> {
      const { record, provider } = await servers.find('game', server);
      return await readLatestLog(record, provider);
    },
  };
}

/**
 * Creates what runs a request once for each Idempotency-Key. Later ones get its response, with headers that say so and
 * name it. A definite failure releases the key; after an unknown outcome the request is never sent again.
 */
function createRunOnce({ store: { idempotency: store }, reportLoss }: HostingBase, maxDurationMs: number) {
  const onStoreFailure = reportLoss('the outcome of a request could not be stored');
  /** Runs a request, whose work returns the body of a 200. Throws Problems that say if it may have had an effect. */
  return async (
    endpoint: Endpoint,
    { keyId: apiKeyId, requestId, server }: Caller,
    { headers: { 'idempotency-key': key }, text }: { readonly headers: IncomingHttpHeaders; readonly text: string },
    work: () => Promise<unknown>,
  ): Promise<JsonReply> => {
    const fail = (error: unknown): never => {
      throw withOutcome(toProblem(error), messageOfUnknown(endpoint, requestId));
    };
    if (key === undefined) return { status: 200, body: await work().catch(fail) };
    if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw new Problem('validation_error', 'Idempotency-Key must be 1 to 255 visible ASCII characters');
    }
    const unknownOutcome = (id: string): IdempotentAnswer => ({
      status: problems.provider_error.status,
      body: renderProblem('json', 'provider_error', messageOfUnknown(endpoint, id)),
    });
    const fingerprint = hash('sha256', JSON.stringify([endpoint.method, endpoint.path, server, text]));
    const now = Date.now();
    const found = await store.begin({ apiKeyId, key, fingerprint, requestId, now, deadline: now + maxDurationMs });
    if (found.state !== 'begun') {
      if (found.fingerprint !== fingerprint) throw new Problem('idempotency_mismatch');
      const first = found.requestId === null ? undefined : { 'Idempotent-Request-Id': found.requestId };
      if (found.state === 'running' && Date.now() < found.deadline) {
        throw new Problem('in_progress', undefined, { headers: { 'Retry-After': '1', ...first } });
      }
      const { status, body } = found.state === 'answered' ? found.answer : unknownOutcome(found.requestId ?? requestId);
      // A failure is stored only if its outcome is unknown.
      const outcome = status >= 500 ? { 'Action-Outcome': 'unknown' } : undefined;
      const headers = { 'Idempotent-Replayed': 'true', ...first, ...outcome };
      return { status, body: JSON.parse(body) as unknown, headers };
    }
    const save = (answer: IdempotentAnswer): Promise<void> => store.finish(apiKeyId, key, answer).catch(onStoreFailure);
    try {
      const body = await work();
      // If this cannot be stored, the action has still succeeded; replays then get the unknown outcome.
      await save({ status: 200, body: `${JSON.stringify(body)}\n` });
      return { status: 200, body };
    } catch (error) {
      await (isDefinite(toProblem(error))
        ? store.release(apiKeyId, key).catch(onStoreFailure)
        : save(unknownOutcome(requestId)));
      return fail(error);
    }
  };
}

function toNotSent(detail: string, cause: unknown): ProviderError {
  const { message } = problems.internal_error;
  return new ProviderError(message, {
    code: 'internal_error',
    outcome: 'refused',
    cause: new Error(detail, { cause }),
  });
}

/** Whether an action that failed certainly had no effect. An unexpected error may have come after it was sent. */
function isDefinite(problem: Problem): boolean {
  return problem instanceof ProviderError ? problem.outcome === 'refused' : problem.code !== 'internal_error';
}

/** Says in the failure of an action whether it may have had an effect; then a 502 has the message `unknown`. */
function withOutcome(problem: Problem, unknown: string): Problem {
  const { code, cause, reason, headers } = problem;
  if (problems[code].status < 500) return problem;
  const isKnown = isDefinite(problem);
  const message = isKnown || code !== 'provider_error' ? problem.message : unknown;
  const outcome = { 'Action-Outcome': isKnown ? 'not_sent' : 'unknown' };
  return new Problem(code, message, { cause, reason, headers: { ...headers, ...outcome } });
}

function toProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem('internal_error', undefined, { cause: error });
}

/** Creates a mutex for each name, first in, first out. After the maximum wait it throws a {@link ProviderError}. */
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

/** For how long an action matters. No provider reports what it knew longer ago than this. */
const recentMs = 10 * 60_000;
const skewMs = 2000;

/** Creates what knows when the last power action ended. As clocks differ, one of another instance counts longer. */
export function createPowerHistory(options: {
  readonly audit: Store['audit'];
  /** Milliseconds since 1970, as in the audit log, and of a clock that never goes back. */
  readonly now?: () => number;
  readonly monotonic?: () => number;
}) {
  const { audit, now = Date.now, monotonic = () => performance.now() } = options;
  const own = new LRUCache<ServerName, { readonly endedAt: number; readonly date: number }>({
    maxSize: 10_000,
    sizeCalculation: () => 1,
  });
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
      return loggedAt === undefined ? Infinity : Math.max(0, now() - loggedAt - skewMs);
    },
  };
}

/** How long a read is shared: a failed one too, since it uses the upstream's budget as well. */
const shareMs = 3000;

/** Creates a reader of the latest logs as plain text, which shares a read for 3 s. Throws a {@link ProviderError}. */
export function createReadLatestLog(now: () => number = () => performance.now()) {
  type Read = { readonly text?: string | undefined; readonly error?: unknown };
  const reads = new LRUCache<string, Read, () => Promise<string | undefined>>({
    max: 1000,
    // Characters.
    maxSize: 32 * 1024 * 1024,
    sizeCalculation: ({ text = '' }) => 1 + text.length,
    ttl: shareMs,
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
