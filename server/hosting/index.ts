import type { Environment } from '#common/environment.ts';
import { createCheckAccess, createReauthorize } from '../keys/authorize.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { Problem } from '../problem.ts';
import type { Store } from '../store/types.ts';
import type { TokenBucket } from '../token-bucket.ts';
import { createPoller } from '../upstream/poller.ts';
import { createActivity } from './activity.ts';
import { createRelay } from './console/relay.ts';
import { openConsoleSource } from './console/channel.ts';
import { createStreamTokens } from './console/token.ts';
import { createIdempotency } from './idempotency.ts';
import type { ProvidersOptions } from './providers/index.ts';
import type { Provider } from './providers/types.ts';
import { createHosting, createServers } from './service.ts';

/** What the providers are created from. */
export interface OpenProvidersOptions extends ProvidersOptions {
  /** PROVIDERS_FILE. */
  readonly file: string | undefined;
  /** The environment variables that the file may refer to. */
  readonly environment: Environment;
  /** Whether to add the provider of the demo servers. */
  readonly demo: boolean;
  /** Creates the data folder, or throws; called if there are local servers. */
  readonly prepareDataDir: () => void;
}

/**
 * Opens the providers by name; throws a ProvidersError if PROVIDERS_FILE is invalid. Their code is loaded only if there are
 * any, so that a server without them starts faster.
 */
export async function openProviders(options: OpenProvidersOptions): Promise<ReadonlyMap<string, Provider>> {
  const { file, environment, demo, prepareDataDir } = options;
  if (file === undefined && !demo) return new Map();
  const { createProviders, loadProviders } = await import('./providers/index.ts');
  const config = {
    ...(file !== undefined && loadProviders(file, environment)),
    ...(demo && (await import('./demo.ts')).demoProviders(environment)),
  };
  if (Object.values(config).some(({ type }) => type === 'local')) prepareDataDir();
  return createProviders(config, options);
}

/** What the hosting controls are created from. */
export interface OpenHostingOptions {
  readonly store: Store;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly lifecycle: Lifecycle;
  /** The limit on the actions of each API key, for the commands of streams. */
  readonly actions: TokenBucket;
  /** The timeout of an action, including the wait for its turn. */
  readonly timeoutMs: number;
  /** The lifetime of the tokens of console streams. */
  readonly tokenSeconds: number;
  /** How long entries of the audit log are kept; without it, they are never removed. */
  readonly auditDays: number | undefined;
  /** The public URL of this service, for instance https://api.example.com. */
  readonly publicUrl: () => string;
  /** Logs a failure. */
  readonly onFailure: (message: string, error: unknown) => void;
  /** Logs that the outcome of an action is lost. */
  readonly onLoss: (message: string, error: unknown) => void;
}

/** How long a request may wait for the store, in addition to the timeout of its action. */
const storeMs = 30_000;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Opens the hosting controls. Each part depends on the ones before it. */
export function openHosting(options: OpenHostingOptions) {
  const { store, providers, lifecycle, actions, timeoutMs, auditDays, publicUrl, onFailure, onLoss } = options;
  const servers = createServers(store.servers, providers);
  const hosting = createHosting({
    servers,
    audit: store.audit,
    reauthorize: createReauthorize(store.apiKeys),
    timeoutMs,
    onAuditFailure: (error) => onLoss('the end of an action could not be written to the audit log', error),
  });
  const tokens = createStreamTokens({ store: store.streamTokens, ttlSeconds: options.tokenSeconds });
  const relay = createRelay({
    tokens,
    openSource: (...args) => openConsoleSource(servers, ...args),
    async sendCommand({ command, ...caller }) {
      if (!(await actions.consume(caller.keyId)).allowed) throw new Problem('rate_limited');
      await lifecycle.finish(() => hosting.command(caller, command));
    },
    checkAccess: createCheckAccess(store),
    onFailure,
  });
  const maxDurationMs = timeoutMs + storeMs;
  const activity = createActivity({ audit: store.audit, maxDurationMs });
  const idempotency = createIdempotency({
    store: store.idempotency,
    maxDurationMs,
    onStoreFailure: (error) => onLoss('the outcome of a request could not be stored', error),
  });
  const retention = createPoller({
    async read() {
      await store.idempotency.purge(Date.now() - dayMs);
      // An expired token is still recognised for an hour, so that its client learns why it is refused.
      await store.streamTokens.purge(Date.now() - hourMs);
      if (auditDays !== undefined) await store.audit.purge(Date.now() - auditDays * dayMs);
    },
    onFailure: (error) => onFailure('old records of the store could not be removed', error),
    everyMs: () => hourMs,
    retryMs: 60_000,
  });
  return {
    relay,
    /** Dependencies of the routes. */
    routes: { hosting: { ...hosting, servers, tokens, relay, publicUrl }, activity, idempotency, lifecycle },
    /** Starts to remove old records of the store, now and every hour. */
    start: () => void retention.start(),
    async close(): Promise<void> {
      relay.close();
      await retention.stop();
    },
  };
}
