import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Environment } from '#common/environment.ts';
import { createCheckAccess } from '../keys/authorize.ts';
import type { Base, Lifecycle } from '../lifecycle.ts';
import { Problem } from '../problem.ts';
import { ReadableFile, checkFolder, integer } from '../settings.ts';
import type { SharedSettings } from '../settings.ts';
import type { Store } from '../store/types.ts';
import type { CreateBucket, TokenBucket } from '../token-bucket.ts';
import { createPoller } from '../upstream/poller.ts';
import { createActions } from './actions.ts';
import { createRelay } from './console/relay.ts';
import { createStreamTokens } from './console/stream.ts';
import { createRunOnce } from './idempotency.ts';
import { createProviders, loadProviders } from './providers.ts';
import type { ProviderSettings } from './providers.ts';
import { localSettings } from './providers/local/process.ts';
import { createServers } from './servers.ts';

/** The settings of hosting controls. */
export const HostingSettings = z.object({
  PROVIDERS_FILE: ReadableFile.optional().describe("The file that names the providers of customers' servers."),
  CONSOLE_TOKEN_TTL_SECONDS: integer(5, 86_400)
    .default(600)
    .describe('How long the token of a console stream is valid.'),
  AUDIT_RETENTION_DAYS: integer(1, 36_500)
    .optional()
    .describe('How long to keep entries of the audit log; the default is forever.'),
});
type Settings = z.infer<typeof HostingSettings> &
  Pick<SharedSettings, 'DATA_DIR' | 'PUBLIC_URL' | 'UPSTREAM_TIMEOUT_SECONDS'>;

interface HostingBase extends Base<Settings> {
  /** The variables that PROVIDERS_FILE may refer to. */
  readonly environment: Environment;
  readonly demo: boolean;
  readonly lifecycle: Lifecycle;
  readonly store: Store;
  /** The action limit of each API key, which commands of streams share. */
  readonly limits: { readonly actions: TokenBucket };
  readonly createBucket: CreateBucket;
  /** The URL of this server, once it listens. */
  readonly ownUrl: () => string;
}

/** The maximum wait for the store, on top of the timeout of the action. */
const storeMs = 30_000;
const aheadMessage =
  'the clock is more than 30 days ahead of the last hourly check of the audit log: check the clock; no entries are removed for a day';
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Opens the hosting controls, closed with the server. Throws an OperatorError if PROVIDERS_FILE is invalid. */
export function openHosting(base: HostingBase) {
  const { env, environment, demo, log, opened, lifecycle, store, limits, createBucket, report, ownUrl } = base;
  const auditDays = env.AUDIT_RETENTION_DAYS;
  const timeoutMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000;
  const maxDurationMs = timeoutMs + storeMs;
  const { PROVIDERS_FILE: file, DATA_DIR: dataDir } = env;
  const config = {
    ...(file !== undefined && loadProviders(file, environment)),
    ...(demo && { demo: demoProvider(environment) }),
  };
  if (Object.values(config).some(({ type }) => type === 'local')) checkFolder('DATA_DIR', dataDir, 0o700);
  const providers = createProviders(config, { dataDir, log, timeoutMs, createBucket });
  opened.defer(async () => void (await Promise.all([...providers.values()].map((provider) => provider.close()))));
  const servers = createServers(store.servers, providers);
  const actions = createActions(servers, store, timeoutMs);
  const runOnce = createRunOnce(store.idempotency, maxDurationMs);
  const tokens = createStreamTokens(store.streamTokens, env.CONSOLE_TOKEN_TTL_SECONDS);
  const relay = createRelay({
    tokens,
    openSource: servers.openConsole,
    async sendCommand({ command, parentId, ...caller }) {
      if (!(await limits.actions.consume(parentId ?? caller.keyId)).allowed) throw new Problem('rate_limited');
      await lifecycle.finish(() => actions.command(caller, command));
    },
    checkAccess: createCheckAccess(store),
    report,
  });
  const retention = createPoller({
    async read() {
      await store.idempotency.purge(Date.now() - dayMs);
      await store.childKeys.purge(Date.now());
      // Kept for an hour after expiry: a client gets `token expired`, not an unknown token.
      await store.streamTokens.purge(Date.now() - hourMs);
      const isTrusted = await store.audit.noteLook(Date.now());
      if (auditDays === undefined) return;
      if (!isTrusted) return log.warn(aheadMessage);
      const removed = await store.audit.purge(Date.now() - auditDays * dayMs);
      if (removed > 0) log.info({ removed, days: auditDays }, 'removed old entries of the audit log');
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
      hosting: { ...actions, servers, tokens, relay, publicUrl: (): string => env.PUBLIC_URL ?? ownUrl() },
      audit: store.audit,
      maxDurationMs,
      runOnce,
      lifecycle,
    },
    /** Starts the hourly removal of old records from the store. */
    start: () => void retention.start(),
  };
}

/** Returns the settings of the provider of the demo servers. */
export function demoProvider(environment: Environment): ProviderSettings {
  const command = [process.execPath, fileURLToPath(new URL('demo/server.ts', import.meta.url))];
  const settings = localSettings(import.meta.dirname, environment).parse({
    servers: { 'game-demo': { kind: 'game', command }, 'vps-demo': { kind: 'vps', command } },
  });
  return { type: 'local', ...settings };
}
