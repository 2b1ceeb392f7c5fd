import { openListeners, openOperatorPort } from './app.ts';
import { watchInstallation } from './doctor/watch.ts';
import { openDomains } from './domains/service.ts';
import type { Env } from './env.ts';
import { openFeedback } from './feedback/service.ts';
import { openHosting } from './hosting/service.ts';
import { createLifecycle } from './lifecycle.ts';
import { openLimits } from './limits.ts';
import type { Logger } from './log.ts';
import { openMetrics } from './metrics/index.ts';
import { addDemo } from './operators/changes.ts';
import { openReleases } from './releases/service.ts';
import { createRoutes } from './routes.ts';
import type { Environment } from '#common/environment.ts';
import { openStatus } from './status/service.ts';
import { openWatchedStore, reportTo } from './store/health.ts';
import { withTimeout } from './timeout.ts';

interface StartOptions {
  readonly environment?: Environment;
  /** Adds the demo servers, and a key for them. */
  readonly demo?: boolean;
  /** In development: the origin that renders /preview. Requests are not logged. */
  readonly preview?: string | undefined;
  readonly droppedLines?: () => number;
}

/** Opens each part, listens, and starts the parts that poll. Throws if a part cannot open. */
export async function startServer(env: Env, log: Logger, options: StartOptions = {}) {
  const { environment = {}, demo = false, preview, droppedLines = () => 0 } = options;
  // Closes the parts in reverse order, also if the start fails.
  await using opened = new AsyncDisposableStack();
  let url = '';
  const start = { env, environment, demo, preview, log, opened, report: reportTo(log), ownUrl: () => url };
  // First, to count the events of all other parts.
  const metrics = await openMetrics(start);
  const releases = await openReleases(start);
  const { store, answers, watch } = await openWatchedStore(start);
  const lifecycle = createLifecycle(answers);
  opened.defer(() => lifecycle.idle());
  const { limits, keyLimits, createBucket } = openLimits({ ...start, store });
  const base = { ...start, lifecycle, releases, store, limits, createBucket };
  const hosting = openHosting(base);
  const { providers, relay } = hosting;
  const domains = openDomains(base);
  const status = openStatus(base);
  const feedback = openFeedback(base);
  const { DATA_DIR, DIST_DIR, SERVICE_VERSION: version } = env;
  metrics?.observe({ releases, relay, storeAnswers: answers, droppedLines, folders: { DATA_DIR, DIST_DIR } });
  const routes = createRoutes({ version, releases, domains, feedback, status, store, keyLimits, ...hosting.routes });

  const ports = { ...base, relay };
  const listeners = await openListeners(ports, Object.values(routes));
  const operators = await openOperatorPort(ports, [routes.getHealth, routes.getReady]);
  url = listeners.url;
  log.info({ url, release: releases.current().id, version }, 'listening');

  releases.start();
  watch();
  hosting.start();
  domains.start();
  // A monitor that is only a path is below the URL of this server.
  status.start();
  opened.defer(watchInstallation({ ...base, providers, isPreview: preview !== undefined }));
  const demoKey = demo ? await addDemo(store) : undefined;

  const running = opened.move();
  return {
    url,
    operatorsUrl: operators?.url,
    metricsUrl: metrics?.url,
    /** The demo key, with its text if this start created the key. */
    demoKey,
    /** Makes /ready answer `draining`, and closes each connection after its response. */
    drain(): void {
      lifecycle.drain();
      listeners.announce();
      operators?.announce();
    },
    /** Completes running requests and actions, and aborts them after the grace period. */
    async stop(): Promise<void> {
      lifecycle.drain();
      const { SHUTDOWN_GRACE_SECONDS: seconds } = env;
      const end = performance.now() + seconds * 1000;
      await Promise.all([listeners.drain(), operators?.drain(seconds)]);
      // The clients of these actions have left.
      await withTimeout(lifecycle.idle(), Math.max(0, end - performance.now()), () => undefined);
      await running.disposeAsync();
    },
  };
}
