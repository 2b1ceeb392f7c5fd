import { Counter, Gauge, Histogram } from '@prometheus-io/client';
import type { Registry } from '@prometheus-io/client';
import type { WatchCalls } from '../upstream/calls.ts';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];

/** Counts the calls of upstreams, and the credentials that they refuse. */
export function countCalls(registry: Registry): WatchCalls {
  const registers = [registry];
  const calls = new Counter({
    name: 'hosting_api_upstream_calls_total',
    help: 'Calls of other services by their name and outcome: providers by their name in PROVIDERS_FILE, registries by protocol.',
    labelNames: ['upstream', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'hosting_api_upstream_call_duration_seconds',
    help: 'Time of calls of other services, to the last byte of the answer.',
    labelNames: ['upstream'],
    buckets,
    registers,
  });
  const refused = new Gauge({
    name: 'hosting_api_upstream_credentials_refused',
    help: 'Credentials of a service that it refused, and has not accepted since.',
    labelNames: ['upstream'],
    registers,
  });
  return (upstream) => {
    let refusal: 'all' | 'actions' | undefined;
    refused.inc({ upstream }, 0);
    return (outcome, ms, http) => {
      calls.inc({ upstream, outcome });
      durations.observe({ upstream }, ms / 1000);
      const wasRefused = refusal !== undefined;
      // Other outcomes prove nothing: an overloaded service refuses everyone. A read-only token is accepted for reads alone.
      if (outcome === 'credential_refused') {
        refusal = http?.method === 'POST' && http.status === 403 ? 'actions' : 'all';
      } else if (outcome === 'ok' && (refusal === 'all' || http?.method === 'POST')) refusal = undefined;
      const isRefused = refusal !== undefined;
      if (isRefused !== wasRefused) refused.inc({ upstream }, isRefused ? 1 : -1);
    };
  };
}
