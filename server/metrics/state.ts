import { Counter, Gauge, collectDefaultMetrics } from '@prometheus-io/client';
import type { Histogram, Registry } from '@prometheus-io/client';
import type { Relay } from '../hosting/console/relay.ts';
import type { Releases } from '../releases/service.ts';

/**
 * Default metrics that are left out: handles and requests add series as sockets come and go, and break the naming rules of
 * Prometheus; the utilization of the event loop is computed from samples of its own, all the time.
 */
const leftOut = /^nodejs_(?:active_|eventloop_utilization_)/;

const longestTimeoutMs = 2_147_483_647;

/** Adds the usual metrics of a Node.js process: CPU, memory, garbage collections, the lag of the event loop, the version. */
export function measureProcess(registry: Registry, version: string): void {
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: longestTimeoutMs });
  for (const { name } of registry.getMetricsAsArray()) if (leftOut.test(name)) registry.removeSingleMetric(name);
  const collections = registry.getSingleMetric<'kind'>('nodejs_gc_duration_seconds') as Histogram<'kind'>;
  for (const kind of ['major', 'minor', 'incremental', 'weakcb']) collections.zero({ kind });
  const build = new Gauge({
    name: 'hosting_api_build_info',
    help: 'The version of the service and of Node.js; always 1.',
    labelNames: ['version', 'node_version'],
    registers: [registry],
  });
  build.set({ version, node_version: process.version }, 1);
}

/** What is asked at each scrape. */
export interface Sources {
  readonly releases: Releases;
  readonly relay: Pick<Relay, 'stats'>;
  /** Whether the store answered its last check. */
  readonly storeAnswers: () => boolean;
  /** How many lines of the log were dropped since the start. */
  readonly droppedLines: () => number;
}

/** Measures at each scrape what the parts of the server know of themselves. */
export function measureState(registry: Registry, { releases, relay, storeAnswers, droppedLines }: Sources): void {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void => {
    const metric: Gauge = new Gauge({ name, help, registers, collect: async () => metric.set(await read()) });
  };
  gauge('hosting_api_console_streams', 'Open console streams, also those without a valid token yet.', () => {
    return relay.stats().connections;
  });
  gauge('hosting_api_console_viewers', 'Console streams that show a console.', () => relay.stats().viewers);
  gauge('hosting_api_console_upstreams', 'Consoles that are open at a provider.', () => relay.stats().upstreams);
  gauge('hosting_api_store_answers', 'Whether the store answered its last check: 1 or 0.', () =>
    Number(storeAnswers()),
  );
  gauge(
    'hosting_api_release_timestamp_seconds',
    'When a build last made or confirmed the release that is served.',
    async () => (await releases.confirmedAt()) / 1000,
  );
  measureRelease(registry, releases);
  const dropped = new Counter({
    name: 'hosting_api_log_lines_dropped_total',
    help: 'Lines of the log that were dropped, since the log was not read fast enough.',
    registers,
    collect() {
      dropped.reset();
      dropped.inc(droppedLines());
    },
  });
}

/** The release that is served: each has one series, the one of the release before is gone. */
function measureRelease(registry: Registry, releases: Releases): void {
  const labels = { labelNames: ['release'] as const, registers: [registry] };
  const info = new Gauge({
    name: 'hosting_api_release_info',
    help: 'The release that is served; always 1.',
    ...labels,
    collect() {
      info.reset();
      info.set({ release: releases.current().id }, 1);
    },
  });
  const next = new Gauge({
    name: 'hosting_api_release_next_change_timestamp_seconds',
    help: 'When a build makes the next scheduled article public, if there is one.',
    ...labels,
    collect() {
      next.reset();
      const { id, nextChangeAt } = releases.current();
      if (nextChangeAt !== null) next.set({ release: id }, Date.parse(nextChangeAt) / 1000);
    },
  });
}
