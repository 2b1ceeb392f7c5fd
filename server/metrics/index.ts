import type { Logger } from '../log.ts';
import type { createInstruments } from './instruments.ts';

/** The settings of the metrics. */
export interface MetricsSettings {
  readonly METRICS_PORT?: number | undefined;
  readonly HOST: string;
  readonly SERVICE_VERSION: string;
}

/** What is measured. Its functions are called by those who know what happened; none of them knows Prometheus. */
export type Metrics = Awaited<ReturnType<typeof createInstruments>>;

/** Opens the metrics at their port. Without one, nothing is measured, and their code is not loaded. */
export async function openMetrics(
  { METRICS_PORT: port, HOST: host, SERVICE_VERSION: version }: MetricsSettings,
  log: Logger,
): Promise<Metrics | undefined> {
  if (port === undefined) return undefined;
  const { createInstruments } = await import('./instruments.ts');
  const metrics = await createInstruments({ host, port, version });
  log.info({ url: metrics.url }, 'metrics');
  return metrics;
}
