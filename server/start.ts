import { openDomains } from './domains/service.ts';
import type { Watched } from './doctor/watch.ts';
import type { Env } from './env.ts';
import { openFeedback } from './feedback/service.ts';
import { openHosting } from './hosting/index.ts';
import { answeredRequests } from './http/request.ts';
import { createLifecycle } from './lifecycle.ts';
import { openLimits } from './limits.ts';
import { openListeners } from './listeners.ts';
import type { Logger } from './log.ts';
import { openMetrics } from './metrics/index.ts';
import { serveReleases } from './releases/service.ts';
import { createRoutes } from './routes.ts';
import type { Environment } from '#common/environment.ts';
import { toWindows } from './status/monitors.ts';
import { openStatus } from './status/service.ts';
import { openWatchedStore, reportLoss, reportTo } from './store/health.ts';

interface StartOptions {
  /** The environment variables that PROVIDERS_FILE may refer to. */
  readonly environment?: Environment;
  /** Whether to add the demo servers, and a key for them. */
  readonly demo?: boolean;
  /** In development: where /preview is rendered. Requests are not logged. */
  readonly preview?: string | undefined;
  /** How many lines of the log were dropped. */
  readonly droppedLines?: () => number;
}

/** Background work begins after the first answer or this time, whichever is first: it would delay that answer. */
const idleMs = 1000;

/** Begins background work; the work returns what ends it. Returns what cancels or ends it. */
function afterFirstAnswer(begin: () => () => void): () => void {
  let end = (): void => {
    clearTimeout(timer);
    unsubscribe();
  };
  const run = (): void => {
    end();
    end = begin();
  };
  const timer = setTimeout(run, idleMs).unref();
  const unsubscribe = answeredRequests.subscribe(run);
  return () => end();
}

/** Watches the installation. If its code cannot be loaded, the unhandled rejection ends the process. */
function openWatch(watched: Watched): () => void {
  const ending = new AbortController();
  const open = async (): Promise<void> => {
    const { watchInstallation } = await import('./doctor/watch.ts');
    if (!ending.signal.aborted) ending.signal.addEventListener('abort', watchInstallation(watched));
  };
  void open();
  return () => ending.abort();
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

  const base = { ...start, lifecycle, releases, store, limits, createBucket };
  const hosting = await openHosting(base);
  const { providers, relay } = hosting;
  metrics?.observe({ releases, relay, storeAnswers: answers, droppedLines });
  const domains = openDomains(base);
  const status = openStatus(base);
  const feedback = openFeedback(base);
  const version = env.SERVICE_VERSION;
  const keys = { apiKeys: store.apiKeys, keyLimits };
  const routes = createRoutes({ version, releases, domains, feedback, status, ...keys, ...hosting.routes });
  const listeners = await openListeners({ ...base, relay }, Object.values(routes));
  ({ url } = listeners);
  log.info({ url, release: releases.current().id, version }, 'listening');

  watch();
  opened.defer(
    afterFirstAnswer(() => {
      domains.start();
      status.start();
      hosting.start();
      return openWatch({ ...base, providers, isPreview: preview !== undefined });
    }),
  );
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
    /** Stops the service: no new connections; running requests finish, or are aborted after the grace period. */
    async stop(): Promise<void> {
      lifecycle.drain();
      hosting.drain();
      await Promise.all([listeners.closeStreams(), running.disposeAsync()]);
    },
  };
}
