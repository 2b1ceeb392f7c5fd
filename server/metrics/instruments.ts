import { Registry } from '@prometheus-io/client';
import { measureProcess } from './process.ts';
import { countRequests } from './requests.ts';
import { listenForScrapes } from './scrape.ts';
import type { ScrapeOptions } from './scrape.ts';

/** Options of the metrics. */
export interface MetricsOptions extends ScrapeOptions {
  /** The version of the service. */
  readonly version: string;
}

/** Creates all metrics, and opens their port. */
export async function createInstruments({ version, ...where }: MetricsOptions) {
  const registry = new Registry();
  measureProcess(registry, version);
  const onAnswered = countRequests(registry);
  return { onAnswered, ...(await listenForScrapes(registry, where)) };
}
