import type { Environment } from '#common/environment.ts';
import { createCheckAccess, createReauthorize } from '../keys/authorize.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { Logger } from '../log.ts';
import { Problem } from '../problem.ts';
import { prepareFolder } from '../settings.ts';
import type { Store } from '../store/types.ts';
import type { CreateBucket, TokenBucket } from '../token-bucket.ts';
import { createPoller } from '../upstream/poller.ts';
import { createActivity } from './activity.ts';
import { createRelay } from './console/relay.ts';
import { openConsoleSource } from './console/channel.ts';
import { createStreamTokens } from './console/token.ts';
import { createIdempotency } from './idempotency.ts';
import type { Provider } from './providers/types.ts';
import { createHosting, createServers } from './service.ts';

/** What the hosting controls need of the server. */
export interface HostingBase {
  readonly env: {
    readonly PROVIDERS_FILE?: string | undefined;
    readonly DATA_DIR: string;
    readonly UPSTREAM_TIMEOUT_SECONDS: number;
    readonly CONSOLE_TOKEN_TTL_SECONDS: number;
    /** How long entries of the audit log are kept; without it, they are never removed. */
    readonly AUDIT_RETENTION_DAYS?: number | undefined;
    readonly PUBLIC_URL?: string | undefined;
  };
  /** The environment variables that PROVIDERS_FILE may refer to. */
  readonly environment: Environment;
  /** Whether to add the demo servers. */
  readonly demo: boolean;
  readonly log: Logger;
  readonly opened: AsyncDisposableStack;
  readonly lifecycle: Lifecycle;
  readonly store: Store;
  readonly limits: {
    /** The limit on the actions of each API key, for the commands of streams. */
    readonly actions: TokenBucket;
  };
  /** Creates the buckets of a panel's budgets. */
  readonly createBucket: CreateBucket;
  /** Create what logs an error, and that the outcome of an action is lost. */
  readonly report: (message: string) => (error: unknown) => void;
  readonly reportLoss: (message: string) => (error: unknown) => void;
  /** The URL of this server, once it listens. */
  readonly ownUrl: () => string;
}

/** Opens the providers; their code is loaded only if there are any, so that a server without them starts faster. */
async function openProviders(base: HostingBase): Promise<ReadonlyMap<string, Provider>> {
  const { env, environment, demo, log, opened, createBucket } = base;
  const { PROVIDERS_FILE: file, DATA_DIR: dataDir } = env;
  if (file === undefined && !demo) return new Map();
  const { createProviders, loadProviders } = await import('./providers/index.ts');
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

/** How long a request may wait for the store, in addition to the timeout of its action. */
const storeMs = 30_000;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * Opens the hosting controls, which are closed with the server; each part depends on the ones before it. Throws a
 * ProvidersError if PROVIDERS_FILE is invalid.
 */
export async function openHosting(base: HostingBase) {
  const { env, opened, lifecycle, store, limits, report, reportLoss, ownUrl } = base;
  const { AUDIT_RETENTION_DAYS: auditDays } = env;
  const timeoutMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000;
  const providers = await openProviders(base);
  const servers = createServers(store.servers, providers);
  const hosting = createHosting({
    servers,
    audit: store.audit,
    reauthorize: createReauthorize(store.apiKeys),
    timeoutMs,
    onAuditFailure: reportLoss('the end of an action could not be written to the audit log'),
  });
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
  const maxDurationMs = timeoutMs + storeMs;
  const activity = createActivity({ audit: store.audit, maxDurationMs });
  const idempotency = createIdempotency({
    store: store.idempotency,
    maxDurationMs,
    onStoreFailure: reportLoss('the outcome of a request could not be stored'),
  });
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
  const publicUrl = (): string => env.PUBLIC_URL ?? ownUrl();
  return {
    providers,
    relay,
    /** Dependencies of the routes. */
    routes: { hosting: { ...hosting, servers, tokens, relay, publicUrl }, activity, idempotency, lifecycle },
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
