import { openListeners } from './app.ts';
import type { Env } from './env.ts';
import { openHosting } from './hosting/service.ts';
import { createLater, createLifecycle } from './lifecycle.ts';
import { openLimits } from './limits.ts';
import type { Logger } from './log.ts';
import { openMetrics } from './metrics/index.ts';
import { serveReleases } from './releases/service.ts';
import { createRoutes } from './routes.ts';
import type { Environment } from '#common/environment.ts';
import { toWindows } from './status/platform.ts';
import { checkStatusFile } from './settings.ts';
import { openWatchedStore, reportLoss, reportTo } from './store/health.ts';

interface StartOptions {
  readonly environment?: Environment;
  /** Whether to add the demo servers, and a key for them. */
  readonly demo?: boolean;
  /** In development: where /preview is rendered. Requests are not logged. */
  readonly preview?: string | undefined;
  readonly droppedLines?: () => number;
}

/** Creates the service and starts listening. Throws if it cannot serve. */
export async function startServer(env: Env, log: Logger, options: StartOptions = {}) {
  const { environment = {}, demo = false, preview, droppedLines = () => 0 } = options;
  // Resources are closed in reverse order, also if the start fails.
  await using opened = new AsyncDisposableStack();
  let url = '';
  const reports = { report: reportTo(log), reportLoss: reportLoss(log) };
  const start = { env, environment, demo, preview, log, opened, ...reports, ownUrl: () => url };
  const metrics = await openMetrics(start);
  const releases = await serveReleases(start, ({ maintenance }) => void toWindows(maintenance));
  const { store, answers, watch } = await openWatchedStore(start);
  const lifecycle = createLifecycle(answers);
  opened.defer(() => lifecycle.idle());
  const { limits, keyLimits, createBucket } = openLimits({ ...start, store });

  const { later, openSoon } = createLater(opened);
  const base = { ...start, lifecycle, releases, store, limits, createBucket, later };
  const hosting = openHosting(base);
  const { providers, relay } = hosting;
  const { DATA_DIR, DIST_DIR } = env;
  metrics?.observe({ releases, relay, storeAnswers: answers, droppedLines, folders: { DATA_DIR, DIST_DIR } });
  checkStatusFile(env.STATUS_FILE);
  const domains = later(async (own) => (await import('./domains/service.ts')).openDomains({ ...base, opened: own }));
  const status = later(async (own) => (await import('./status/service.ts')).openStatus({ ...base, opened: own }));
  const feedback = later(async (own) => (await import('./feedback/service.ts')).openFeedback({ ...base, opened: own }));
  const version = env.SERVICE_VERSION;
  const keys = { apiKeys: store.apiKeys, keyLimits };
  const routes = createRoutes({ version, releases, domains, feedback, status, ...keys, ...hosting.routes });
  const listeners = await openListeners({ ...base, relay }, Object.values(routes));
  url = listeners.url;
  log.info({ url, release: releases.current().id, version }, 'listening');

  watch();
  later(async () => hosting.start());
  later(async (own) => {
    const { watchInstallation } = await import('./doctor/watch.ts');
    own.defer(watchInstallation({ ...base, providers, isPreview: preview !== undefined }));
  });
  openSoon();
  const demoKey = demo ? await hosting.addDemo() : undefined;

  const running = opened.move();
  return {
    url,
    metricsUrl: metrics?.url,
    /** The text of the demo key, at the start that created it. */
    demoKey,
    /** Makes /ready say `draining`; each response closes its connection. */
    drain(): void {
      lifecycle.drain();
      listeners.announce();
    },
    /** Running requests finish, or are aborted after the grace period. */
    async stop(): Promise<void> {
      lifecycle.drain();
      hosting.drain();
      await running.disposeAsync();
    },
  };
}
