import { Registry } from '@prometheus-io/client';
import { countRefusals } from './limits.ts';
import { measureProcess } from './process.ts';
import { countRequests } from './requests.ts';
import { listenForScrapes } from './scrape.ts';
import type { ScrapeOptions } from './scrape.ts';
import { measureState } from './state.ts';
import type { Sources } from './state.ts';
import { countQueries } from './store.ts';
import { countCalls } from './upstreams.ts';

/** Options of the metrics. */
export interface MetricsOptions extends ScrapeOptions {
  /** The version of the service. */
  readonly version: string;
}

/** Creates all metrics, and opens their port. */
export async function createInstruments({ version, ...where }: MetricsOptions) {
  const registry = new Registry();
  measureProcess(registry, version);
  return {
    onAnswered: countRequests(registry),
    watchCalls: countCalls(registry),
    onQuery: countQueries(registry),
    watchBucket: countRefusals(registry),
    /** Adds what is asked at each scrape. */
    observe: (sources: Sources) => measureState(registry, sources),
    ...(await listenForScrapes(registry, where)),
  };
}
