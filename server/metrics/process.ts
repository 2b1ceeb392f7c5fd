import { Gauge, collectDefaultMetrics } from '@prometheus-io/client';
import type { Histogram, Registry } from '@prometheus-io/client';

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
